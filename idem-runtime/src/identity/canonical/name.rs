//! The order of member names, and which of them an error may show. Must not know values.

use std::cmp::Ordering;

use super::text;

/// What an error shows for a map entry whose name may be data.
const HIDDEN: &str = "[_]";

/// The longest name of a map entry that an error shows; longer ones are data or tokens.
const SHOWN_LEN: usize = 40;

/// A place in the buffer. The writer keeps buffers below 4 GiB, so that spans are small; sorting moves them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place(u32);

impl Place {
    /// The place at this distance from the buffer's start. Beyond 4 GiB the value is refused at its end.
    #[inline]
    pub(super) fn new(at: usize) -> Self {
        Self(u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// Its distance from the buffer's start.
    #[inline]
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// A member of an object, or an element of a set, as places in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The first eight bytes of the name, most significant first, padded with zeros. Written names hold no zero
    /// byte, so comparing these numbers compares names.
    prefix: u64,
    /// Where the member starts: the opening quote of its name.
    start: Place,
    /// Where the name's text ends: its closing quote.
    name_end: Place,
    /// Where the value ends; known when the next member starts.
    end: Place,
    /// Whether bytes order the name as UTF-16 does: nothing escaped, nothing from U+E000 on. Only there the orders
    /// part, since UTF-16 writes U+10000 and beyond with surrogates, below U+E000.
    plain: bool,
}

impl Span {
    /// A member whose name lies in the buffer between these places, its opening quote included.
    #[inline]
    pub(super) fn member(name: &str, start: usize, name_end: usize, plain: bool) -> Self {
        let (start, name_end) = (Place::new(start), Place::new(name_end));
        Self { prefix: prefix(name.as_bytes()), start, name_end, end: name_end, plain }
    }

    /// An element of a set, which has no name.
    pub(super) fn element(start: usize) -> Self {
        let start = Place::new(start);
        Self { prefix: 0, start, name_end: start, end: start, plain: false }
    }

    /// Notes where the value ends.
    #[inline]
    pub(super) fn end_at(&mut self, end: usize) {
        self.end = Place::new(end);
    }

    /// The name as written, without quotes.
    #[inline]
    pub(super) fn name<'b>(&self, buf: &'b [u8]) -> &'b [u8] {
        buf.get(self.start.at() + 1..self.name_end.at()).unwrap_or_default()
    }

    /// The member as written.
    #[inline]
    pub(super) fn bytes<'b>(&self, buf: &'b [u8]) -> &'b [u8] {
        buf.get(self.start.at()..self.end.at()).unwrap_or_default()
    }

    /// This member and the next in one, if the next also follows in the buffer, a comma between.
    #[inline]
    pub(super) fn joined(self, next: &Self) -> Option<Self> {
        (self.end.at() + 1 == next.start.at()).then_some(Self { end: next.end, ..self })
    }
}

/// RFC 8785's order of two members of one object.
#[inline]
pub(super) fn order(buf: &[u8], a: &Span, b: &Span) -> Ordering {
    if a.plain && b.plain {
        match a.prefix.cmp(&b.prefix) {
            Ordering::Equal => a.name(buf).cmp(b.name(buf)),
            decided => decided,
        }
    } else {
        text::utf16_order(a.name(buf), b.name(buf))
    }
}

/// The first eight bytes as a number that orders as they do.
#[inline]
fn prefix(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => text::short_word(bytes).swap_bytes(),
    }
}

/// A map entry's name for an error: itself if it reads as the name of a field, else a stand-in.
pub(super) fn shown(name: &[u8]) -> &str {
    let head = |b: &u8| b.is_ascii_alphabetic() || *b == b'_';
    let tail = |b: &u8| b.is_ascii_alphanumeric() || matches!(*b, b'_' | b'-');
    let reads_as_name = name.len() <= SHOWN_LEN && name.first().is_some_and(head) && name.iter().all(tail);
    match std::str::from_utf8(name) {
        Ok(name) if reads_as_name => name,
        _ => HIDDEN,
    }
}
