//! Objects while they are written: commas, the order of members, double names, the place of an error on its way
//! out. Must not know how single values are written.

use std::cmp::Ordering;

use serde::{Serialize, ser};

use super::error::{CanonicalErrorKind, Fault};
use super::key::{NameSerializer, Sink};
use super::name::{self, Span};
use super::omitted::Visit;
use super::writer::Writer;
use super::{sets, text};

/// What a struct stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// An object.
    Object,
    /// A number, its text in the only field.
    NumberText,
    /// Any value, its JSON text in the only field.
    RawText,
}

/// What a map's entry waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    /// A name.
    Name,
    /// The value of the name just written.
    Value,
    /// The value of a name that is left out.
    Omitted,
}

/// An object being written.
pub(super) struct Members<'a> {
    /// Where to.
    pub(super) writer: &'a mut Writer,
    /// Where the first member starts.
    start: usize,
    /// Where this object's spans start.
    base: usize,
    /// Whether every member so far came after the one before it.
    in_order: bool,
    /// What it stands for.
    mode: Mode,
    /// What the current entry waits for, if it is a map.
    pending: Pending,
    /// The enum's variant that holds it.
    variant: Option<&'static str>,
}

impl<'a> Members<'a> {
    /// Opens an object.
    #[inline]
    pub(super) fn open(writer: &'a mut Writer, variant: Option<&'static str>, mode: Mode) -> Result<Self, Fault> {
        if let Some(variant) = variant {
            writer.open_variant(variant)?;
        }
        if mode == Mode::Object {
            writer.open(b'{')?;
        }
        let (start, base) = (writer.buf.len(), writer.spans.len());
        let pending = Pending::Name;
        Ok(Self { writer, start, base, in_order: true, mode, pending, variant })
    }

    /// Starts the next member: comma, name and colon, unless it is left out.
    pub(super) fn begin(&mut self, name: &str) -> Result<Visit, Fault> {
        let writer = &mut *self.writer;
        if writer.omitted.is_active() && writer.omitted.enter(name) == Visit::Skip {
            return Ok(Visit::Skip);
        }
        if !writer.has_room(name.len()) {
            return Err(writer.too_large());
        }
        let previous = writer.spans.len().checked_sub(1).filter(|&last| last >= self.base);
        if previous.is_some() {
            writer.end_span(self.base);
            writer.buf.push(b',');
        }
        let start = writer.buf.len();
        writer.buf.push(b'"');
        let plain = text::write_name(&mut writer.buf, name);
        let name_end = writer.buf.len();
        writer.buf.extend_from_slice(b"\":");
        let span = Span::member(name, start, name_end, plain);
        if self.in_order
            && let Some(previous) = previous.and_then(|previous| writer.spans.get(previous))
        {
            match name::order(&writer.buf, previous, &span) {
                Ordering::Less => {}
                Ordering::Equal => return Err(Fault::new(CanonicalErrorKind::DuplicateKey)),
                Ordering::Greater => self.in_order = false,
            }
        }
        writer.spans.push(span);
        Ok(Visit::Write)
    }

    /// Ends the value of the member.
    #[inline]
    pub(super) fn end_value(&mut self) {
        if self.writer.omitted.is_active() {
            self.writer.omitted.leave();
        }
    }

    /// Writes a member with a name that the type gives.
    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        if self.mode != Mode::Object {
            return self.stand_in(value);
        }
        match self.begin(name) {
            Ok(Visit::Write) => {}
            Ok(Visit::Skip) => return Ok(()),
            Err(fault) => return Err(self.blame(fault, name)),
        }
        self.writer.sort_next = sets::is_unordered::<T>();
        match value.serialize(&mut *self.writer) {
            Ok(()) => {
                self.end_value();
                Ok(())
            }
            Err(fault) => Err(self.blame(fault, name)),
        }
    }

    /// A field that the type declares and leaves out this time.
    fn declare(&mut self, name: &'static str) {
        if self.writer.omitted.is_active() {
            self.writer.omitted.declare(name);
        }
    }

    /// Writes the value that the struct stands for.
    fn stand_in<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        if self.writer.buf.len() != self.start {
            return Err(Fault::new(CanonicalErrorKind::MalformedJson));
        }
        let sink = match self.mode {
            Mode::NumberText => Sink::NumberText(&mut *self.writer),
            Mode::RawText | Mode::Object => Sink::RawText(&mut *self.writer),
        };
        value.serialize(NameSerializer { sink }).inspect_err(|_| self.writer.broken = true)
    }

    /// The error seen from this object, at a member with a name that the type gives.
    #[cold]
    fn blame(&mut self, fault: Fault, name: &str) -> Fault {
        self.writer.broken = true;
        self.beneath_variant(fault.in_field(name))
    }

    /// The error seen from this object, at a member with a name from data.
    #[cold]
    pub(super) fn blame_entry(&mut self, fault: Fault, name: &[u8]) -> Fault {
        self.writer.broken = true;
        self.beneath_variant(fault.in_entry(name))
    }

    /// The error seen from around this object.
    fn beneath_variant(&self, fault: Fault) -> Fault {
        match self.variant {
            Some(variant) => fault.in_field(variant),
            None => fault,
        }
    }

    /// Closes the object; orders its members if they did not come in order.
    #[inline]
    pub(super) fn close(mut self) -> Result<(), Fault> {
        if self.mode != Mode::Object {
            let written = self.writer.buf.len() > self.start;
            let malformed = || Fault::new(CanonicalErrorKind::MalformedJson);
            return if written { Ok(()) } else { Err(malformed()) };
        }
        if !self.in_order {
            self.sort()?;
        }
        self.writer.spans.truncate(self.base);
        self.writer.close(b'}');
        if self.variant.is_some() {
            self.writer.close_variant();
        }
        Ok(())
    }

    /// Orders the members by their names.
    fn sort(&mut self) -> Result<(), Fault> {
        let (base, start) = (self.base, self.start);
        self.writer.end_span(base);
        let Writer { buf, spans, .. } = &mut *self.writer;
        let members = spans.get_mut(base..).unwrap_or_default();
        members.sort_unstable_by(|a, b| name::order(buf, a, b));
        let twice = members.windows(2).find_map(|pair| match pair {
            [a, b] if a.name(buf) == b.name(buf) => Some(a.name(buf).to_vec()),
            _ => None,
        });
        if let Some(name) = twice {
            return Err(self.blame_entry(Fault::new(CanonicalErrorKind::DuplicateKey), &name));
        }
        self.writer.rearrange(base, start)
    }
}

/// The traits of serde that write one named field after the other.
macro_rules! fields {
    ($($trait:ident),* $(,)?) => {$(
        impl ser::$trait for Members<'_> {
            type Ok = ();
            type Error = Fault;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Fault> {
                self.field(name, value)
            }

            #[inline]
            fn skip_field(&mut self, name: &'static str) -> Result<(), Fault> {
                self.declare(name);
                Ok(())
            }

            #[inline]
            fn end(self) -> Result<(), Fault> {
                self.close()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

/// The error for a `Serialize` that does not pair names and values.
#[cold]
fn unpaired() -> Fault {
    Fault::new(CanonicalErrorKind::Custom("a map entry has no name or no value".to_owned()))
}

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Fault;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        if self.pending != Pending::Name {
            self.writer.broken = true;
            return Err(unpaired());
        }
        let mut visit = Visit::Write;
        let sink = Sink::Name { members: &mut *self, visit: &mut visit };
        let done = key.serialize(NameSerializer { sink });
        self.pending = match visit {
            Visit::Write => Pending::Value,
            Visit::Skip => Pending::Omitted,
        };
        done.inspect_err(|_| self.writer.broken = true)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        match std::mem::replace(&mut self.pending, Pending::Name) {
            Pending::Value => {}
            Pending::Omitted => return Ok(()),
            Pending::Name => {
                self.writer.broken = true;
                return Err(unpaired());
            }
        }
        let own = self.writer.spans.len().saturating_sub(1);
        self.writer.sort_next = sets::is_unordered::<T>();
        match value.serialize(&mut *self.writer) {
            Ok(()) => {
                self.end_value();
                Ok(())
            }
            Err(fault) => {
                let Writer { buf, spans, .. } = &*self.writer;
                let name = spans.get(own).map_or(Vec::new(), |span| span.name(buf).to_vec());
                Err(self.blame_entry(fault, &name))
            }
        }
    }

    #[inline]
    fn end(self) -> Result<(), Fault> {
        if self.pending != Pending::Name {
            return Err(unpaired());
        }
        self.close()
    }
}
