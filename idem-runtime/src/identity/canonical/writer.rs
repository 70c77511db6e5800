//! The state that lives across nested values: the buffer, its limits, and the places of open objects' members.
//! Must not know serde types; the serialiser feeds it.

use super::error::{CanonicalError, CanonicalErrorKind, Fault};
use super::name::Span;
use super::omitted::Omitted;
use super::{MAX_DEPTH, Presence, text};

/// Longest buffer whose places fit the 32 bits of a [`Span`]; a value that ends beyond is too large.
const BUFFER_MAX: usize = u32::MAX as usize - 1;

/// Where values go, one after the other.
#[derive(Debug)]
pub(super) struct Writer {
    /// The canonical text, each value written once.
    pub(super) buf: Vec<u8>,
    /// Members of all open objects and elements of all open sets, a stack: inner ones above outer ones.
    pub(super) spans: Vec<Span>,
    /// Where members that came unordered are put in order.
    scratch: Vec<u8>,
    /// What the current call leaves out.
    pub(super) omitted: Omitted,
    /// Longest text of one value.
    limit: usize,
    /// Length of the buffer that this value must not pass.
    pub(super) max_len: usize,
    /// Open objects and arrays.
    depth: u16,
    /// The next value, if a sequence, is a set. Everything that opens takes it back.
    pub(super) sort_next: bool,
    /// An error passed through a compound, so the buffer holds a torn value. A hand-written `Serialize` may
    /// swallow the error and go on; its value is then refused at the end.
    pub(super) broken: bool,
}

impl Writer {
    /// Empty, for values of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            buf: Vec::new(),
            spans: Vec::new(),
            scratch: Vec::new(),
            omitted: Omitted::default(),
            limit,
            max_len: limit,
            depth: 0,
            sort_next: false,
            broken: false,
        }
    }

    /// Gives back memory beyond `capacity`.
    #[cold]
    pub(super) fn shrink_to(&mut self, capacity: usize) {
        self.buf.shrink_to(capacity);
        self.scratch = Vec::new();
        self.spans = Vec::new();
    }

    /// Starts a value, whatever the last call left behind; returns where it starts.
    #[inline]
    pub(super) fn start(&mut self) -> usize {
        self.spans.clear();
        if self.omitted.is_active() {
            self.omitted.clear();
        }
        self.depth = 0;
        self.broken = false;
        self.max_len = self.buf.len().saturating_add(self.limit).min(BUFFER_MAX);
        self.buf.len()
    }

    /// Ends the value that started at `start`; takes it back if it failed.
    #[inline]
    pub(super) fn finish(&mut self, start: usize, done: Result<(), Fault>) -> Result<Presence, CanonicalError> {
        let fault = match done {
            Err(fault) => fault,
            Ok(()) if self.broken => {
                Fault::new(CanonicalErrorKind::Custom("an error in one of its parts was passed over".to_owned()))
            }
            Ok(()) if self.buf.len() > self.max_len => self.too_large(),
            Ok(()) => {
                let absent = self.buf.get(start..) == Some(b"null");
                return Ok(if absent { Presence::Absent } else { Presence::Given });
            }
        };
        self.buf.truncate(start);
        Err(fault.into_error())
    }

    /// Whether `more` bytes fit under the limit.
    #[inline]
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.buf.len().saturating_add(more) <= self.max_len
    }

    /// The error for a value over the limit.
    #[cold]
    pub(super) fn too_large(&self) -> Fault {
        Fault::new(CanonicalErrorKind::TooLarge { limit: self.limit })
    }

    /// Writes a text.
    #[inline]
    pub(super) fn text(&mut self, value: &str) -> Result<(), Fault> {
        // Before it is copied, so that a value never takes more than its limit.
        if !self.has_room(value.len()) {
            return Err(self.too_large());
        }
        text::write_quoted(&mut self.buf, value);
        Ok(())
    }

    /// Writes null.
    #[inline]
    pub(super) fn null(&mut self) {
        self.buf.extend_from_slice(b"null");
        if self.omitted.is_active() {
            self.omitted.excuse();
        }
    }

    /// Opens an object or array with its bracket.
    #[inline]
    pub(super) fn open(&mut self, bracket: u8) -> Result<(), Fault> {
        self.sort_next = false;
        if self.depth >= MAX_DEPTH {
            return Err(Fault::new(CanonicalErrorKind::TooDeep { limit: MAX_DEPTH }));
        }
        self.depth += 1;
        self.buf.push(bracket);
        Ok(())
    }

    /// Closes what [`open`](Self::open) opened.
    #[inline]
    pub(super) fn close(&mut self, bracket: u8) {
        self.depth -= 1;
        self.buf.push(bracket);
    }

    /// Opens the object around an enum's variant.
    pub(super) fn open_variant(&mut self, variant: &str) -> Result<(), Fault> {
        self.open(b'{')?;
        self.text(variant)?;
        self.buf.push(b':');
        if self.omitted.is_active() {
            self.omitted.enter_variant(variant);
        }
        Ok(())
    }

    /// Closes what [`open_variant`](Self::open_variant) opened.
    pub(super) fn close_variant(&mut self) {
        if self.omitted.is_active() {
            self.omitted.leave();
        }
        self.close(b'}');
    }

    /// Notes that the last member from `base` on ends here.
    #[inline]
    pub(super) fn end_span(&mut self, base: usize) {
        let end = self.buf.len();
        if let Some(last) = self.spans.get_mut(base..).and_then(<[Span]>::last_mut) {
            last.end_at(end);
        }
    }

    /// Puts the members from `base` on, which fill the buffer from `start` on, into the order of their spans.
    pub(super) fn rearrange(&mut self, base: usize, start: usize) -> Result<(), Fault> {
        // Checked here too: beyond the limit places are not exact, and a shorter text must not come of it.
        if !self.has_room(0) {
            return Err(self.too_large());
        }
        self.scratch.clear();
        let mut spans = self.spans.get(base..).unwrap_or_default().iter().peekable();
        while let Some(&(mut run)) = spans.next() {
            // Neighbours that stay neighbours are copied at once.
            while let Some(longer) = spans.peek().and_then(|next| run.joined(next)) {
                run = longer;
                spans.next();
            }
            if !self.scratch.is_empty() {
                self.scratch.push(b',');
            }
            self.scratch.extend_from_slice(run.bytes(&self.buf));
        }
        self.buf.truncate(start);
        self.buf.extend_from_slice(&self.scratch);
        Ok(())
    }
}
