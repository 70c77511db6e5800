//! The canonical form: one argument value in, one run of bytes out, the same bytes for equal values in every
//! process, build and release. Keys and fingerprints are digests of these bytes.
//!
//! It must not know what an operation, a parameter or a key is, and hashes nothing. Who assembles arguments
//! decides what to write, in which order, and what to leave out when a value turns out absent.
//!
//! # Version 1
//!
//! The text of RFC 8785 (JCS), UTF-8, no white space, with these rules on top. Changing any of them means a new
//! [`VERSION`].
//!
//! | value | text |
//! |---|---|
//! | integers, `i8` to `u128` | every digit, also beyond 2^53 where JCS would round |
//! | `f64` | ECMAScript's shortest form; `1.0` is `1`, `-0.0` is `0`, `1e20` has 21 digits, `1e21` is `1e+21` |
//! | `f32` | as the `f64` of the same value: `1.1f32` is `1.100000023841858`, never `1.1` |
//! | NaN, infinity | refused, also inside an `Option` |
//! | text | as it is, escaped as JCS escapes; never normalised, so NFC and NFD spellings differ |
//! | `char` | a text of one character |
//! | bytes | an array of integers, so that no byte string equals a text |
//! | `None`, `()`, unit structs | `null`; at the top [`Presence::Absent`] tells so |
//! | maps and structs | members ordered by the UTF-16 code units of their names; the same name twice is refused |
//! | names that are not text | the text of integers, `bool`, `char` and unit variants; anything else is refused |
//! | enums | tagged from outside, as `serde_json` does: `"V"`, `{"V":…}` |
//! | newtypes, `Some` | what they hold |
//! | sequences, tuples | in their order, except sets (below) |
//! | `serde_json`'s own types | the value they stand for, whichever of its features are on |
//!
//! Two consequences. A float and an integer are equal exactly when their texts are: the float 2^53 equals the
//! integer, the float 2^68 equals the integer 295147905179352830000, which are its ECMAScript digits. And with
//! `arbitrary_precision` a `Value` holds integers beyond 64 bits exactly and so they are written exactly; without
//! it `serde_json` has rounded them to a float before they get here.
//!
//! # Sets
//!
//! To serde a `HashSet` is a sequence like a `Vec`, in an order that changes with every process. Its elements are
//! sorted by their canonical bytes, at any depth, for a type whose name says so ([`sets`]). What that does not see,
//! such as a set inside a type with a hand-written `Serialize`, keeps the order it comes in.

mod elements;
mod error;
mod key;
mod members;
mod name;
mod number;
mod omitted;
mod raw;
mod serializer;
mod sets;
mod text;
mod writer;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use self::error::{CanonicalError, CanonicalErrorKind};
use self::writer::Writer;

/// The version of the rules above; part of every identity.
pub(crate) const VERSION: u8 = 1;

/// How many objects and arrays may lie in each other; `serde_json` reads 127. Recursion must end before the stack.
pub(crate) const MAX_DEPTH: u16 = 128;

/// Capacity that [`Canonical::clear`] keeps; one huge value must not pin its memory for good.
const KEPT_CAPACITY: usize = 1 << 20;

/// Whether a written value was there at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an absent argument is left out by whoever assembles them"]
pub(crate) enum Presence {
    /// It has a text other than `null`.
    Given,
    /// It serialised as `null`: `None`, `()` or JSON's null. The text `null` was written.
    Absent,
}

/// Writes values in canonical form into one buffer that it keeps between calls.
///
/// Every call appends. A call that fails leaves the buffer as it found it.
#[derive(Debug)]
pub(crate) struct Canonical {
    /// Everything that has to live across nested values.
    writer: Writer,
}

impl Canonical {
    /// An empty buffer; no single value may take more than `limit` bytes in it.
    pub(crate) fn new(limit: usize) -> Self {
        Self { writer: Writer::new(limit) }
    }

    /// Empties the buffer for the next use.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.writer.buf.clear();
        if self.writer.buf.capacity() > KEPT_CAPACITY {
            self.writer.shrink_to(KEPT_CAPACITY);
        }
    }

    /// What has been written since the last [`clear`](Self::clear).
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.writer.buf
    }

    /// Number of bytes written since the last [`clear`](Self::clear), a mark for [`truncate`](Self::truncate).
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.writer.buf.len()
    }

    /// Takes back everything written after the mark.
    #[inline]
    pub(crate) fn truncate(&mut self, mark: usize) {
        self.writer.buf.truncate(mark);
    }

    /// Appends bytes as they are: the frame around values, such as braces and names.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.writer.buf.extend_from_slice(bytes);
    }

    /// Appends the canonical form of `value`.
    ///
    /// # Errors
    ///
    /// Any kind but [`UnknownField`](CanonicalErrorKind::UnknownField). Nothing is appended then.
    #[inline]
    pub(crate) fn write<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<Presence, CanonicalError> {
        let start = self.writer.start();
        let sorted = sets::is_unordered::<T>();
        self.writer.sort_next = sorted;
        let done = value.serialize(&mut self.writer);
        self.writer.finish(start, done)
    }

    /// Appends the canonical form of `value` without the named fields; what they hold is never looked at.
    ///
    /// A path is the names that serde gives the fields, joined by dots, below `value`: `reason`, `meta.ts`.
    /// Sequences on the way are passed through, so `lines.note` names the note of every line. A path that never
    /// comes by is a mistake, or a renamed field would enter the key unseen. It is excused where a value on the
    /// way is null, an empty sequence or another variant of its enum.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), and [`UnknownField`](CanonicalErrorKind::UnknownField).
    pub(crate) fn write_without<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        omit: &[&str],
    ) -> Result<Presence, CanonicalError> {
        let start = self.writer.start();
        self.writer.omitted.begin(omit);
        self.writer.sort_next = sets::is_unordered::<T>();
        let done = value.serialize(&mut self.writer);
        let done = done.and_then(|()| self.writer.omitted.check());
        self.writer.omitted.clear();
        self.writer.finish(start, done)
    }
}
