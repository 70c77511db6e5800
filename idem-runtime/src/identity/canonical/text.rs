//! Texts: escaping as RFC 8785 does, and comparing what was escaped. Must not know objects or values.

use std::cmp::Ordering;
use std::fmt;

use super::writer::Writer;

/// One in every byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of every byte.
const HIGHS: u64 = ONES << 7;

/// Appends `text` in quotes.
#[inline]
pub(super) fn write_quoted(buf: &mut Vec<u8>, text: &str) {
    buf.reserve(text.len() + 2);
    buf.push(b'"');
    write_escaped(buf, text);
    buf.push(b'"');
}

/// Appends `text` without quotes.
#[inline]
pub(super) fn write_escaped(buf: &mut Vec<u8>, text: &str) {
    if write_short(buf, text.as_bytes()).is_none() {
        write_long(buf, text.as_bytes());
    }
}

/// Appends the name of a member without quotes; tells whether bytes order it as UTF-16 does.
#[inline]
pub(super) fn write_name(buf: &mut Vec<u8>, name: &str) -> bool {
    let ascii = match write_short(buf, name.as_bytes()) {
        Some(ascii) => ascii,
        None if write_long(buf, name.as_bytes()) => name.is_ascii(),
        None => return false,
    };
    ascii || name.bytes().all(|byte| byte < 0xee)
}

/// Appends up to sixteen bytes that need no escape, and tells whether they are ASCII; declines anything else.
///
/// Looks at and stores whole words, of a size known to the compiler: no loop and no call, which is what most
/// names and many values cost otherwise.
#[inline]
fn write_short(buf: &mut Vec<u8>, bytes: &[u8]) -> Option<bool> {
    let len = bytes.len();
    if len < 8 {
        let word = short_word(bytes);
        let padding = (ONES * 0x20) << (8 * len);
        if marks(word | padding) != 0 {
            return None;
        }
        buf.extend_from_slice(&word.to_le_bytes());
        buf.truncate(buf.len() - (8 - len));
        return Some(word & HIGHS == 0);
    }
    let (Some(head), Some(tail)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) else {
        return None;
    };
    let (first, last) = (u64::from_le_bytes(*head), u64::from_le_bytes(*tail));
    if len > 16 || (marks(first) | marks(last)) != 0 {
        return None;
    }
    buf.extend_from_slice(head);
    // The words overlap where the text is shorter than both.
    buf.truncate(buf.len() - (16 - len));
    buf.extend_from_slice(tail);
    Some((first | last) & HIGHS == 0)
}

/// Appends a text of any kind; tells whether it went in as it is.
#[inline(never)]
fn write_long(buf: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let (run, rest) = bytes.split_at(clean_run(bytes));
    buf.extend_from_slice(run);
    write_escaped_rest(buf, rest);
    rest.is_empty()
}

/// Appends what follows a clean run, run by run.
fn write_escaped_rest(buf: &mut Vec<u8>, mut rest: &[u8]) {
    while let Some((&byte, after)) = rest.split_first() {
        write_escape(buf, byte);
        let clean = clean_run(after);
        let (run, next) = after.split_at(clean);
        buf.extend_from_slice(run);
        rest = next;
    }
}

/// Appends the escape of one byte that needs it.
fn write_escape(buf: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            buf.extend_from_slice(b"\\u00");
            buf.push(HEX[usize::from(byte >> 4)]);
            buf.push(HEX[usize::from(byte & 0x0f)]);
            return;
        }
    };
    buf.extend_from_slice(&[b'\\', short]);
}

/// Length of the run at the start that needs no escape.
#[inline]
fn clean_run(bytes: &[u8]) -> usize {
    if bytes.len() < 8 {
        return clean_tail(bytes);
    }
    let (words, tail) = bytes.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + clean_tail(tail)
}

/// The same for fewer than eight bytes.
#[inline]
fn clean_tail(bytes: &[u8]) -> usize {
    // Padded with zeros, which the scan takes for control characters: the run ends at the end at the latest.
    let marks = marks(short_word(bytes));
    (marks.trailing_zeros() / 8) as usize
}

/// Marks bytes below 0x20, quotes and backslashes by their high bits. The lowest mark is exact; a subtraction's
/// borrow can set others wrongly only above it.
#[inline]
const fn marks(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20);
    let quote = (word ^ (ONES * 0x22)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * 0x5c)).wrapping_sub(ONES);
    (control | quote | backslash) & !word & HIGHS
}

/// Fewer than eight bytes as a little-endian word, padded with zeros.
#[inline]
pub(super) fn short_word(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let first = u64::from(u32::from_le_bytes(*first));
        let last = u64::from(u32::from_le_bytes(*last));
        // The two halves overlap on equal bytes.
        return first | (last << (8 * (len - 4)));
    }
    match *bytes {
        [] => 0,
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, ..] => u64::from(u32::from_le_bytes([a, b, c, 0])),
    }
}

/// Compares two escaped texts by the UTF-16 code units of what they stand for.
#[cold]
pub(super) fn utf16_order(a: &[u8], b: &[u8]) -> Ordering {
    let (mut left, mut right) = (Vec::with_capacity(a.len()), Vec::with_capacity(b.len()));
    unescape_into(&mut left, a);
    unescape_into(&mut right, b);
    let (left, right) = (String::from_utf8_lossy(&left), String::from_utf8_lossy(&right));
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Appends what an escaped text stands for. Reads only what [`write_escaped`] writes.
pub(super) fn unescape_into(out: &mut Vec<u8>, escaped: &[u8]) {
    let mut bytes = escaped.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next() {
            Some(b'b') => 0x08,
            Some(b't') => 0x09,
            Some(b'n') => 0x0a,
            Some(b'f') => 0x0c,
            Some(b'r') => 0x0d,
            // Always `00` and two digits.
            Some(b'u') => bytes.by_ref().take(4).fold(0, |value: u8, digit| {
                let digit = (digit as char).to_digit(16).and_then(|d| u8::try_from(d).ok());
                (value << 4) | digit.unwrap_or_default()
            }),
            Some(other) => other,
            None => break,
        });
    }
}

/// Takes what a `Display` prints, piece by piece, straight into the buffer.
pub(super) struct Printed<'a> {
    /// Where to.
    pub(super) writer: &'a mut Writer,
    /// Whether it was cut off at the limit.
    pub(super) full: bool,
}

impl fmt::Write for Printed<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        // Checked per piece: a `Display` without end must not fill the memory.
        if !self.writer.has_room(piece.len()) {
            self.full = true;
            return Err(fmt::Error);
        }
        write_escaped(&mut self.writer.buf, piece);
        Ok(())
    }
}
