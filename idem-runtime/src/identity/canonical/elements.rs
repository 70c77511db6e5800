//! Arrays while they are written: commas, the order of sets, the place of an error on its way out. Must not know how
//! single values are written.

use serde::{Serialize, ser};

use super::error::Fault;
use super::name::Span;
use super::sets;
use super::writer::Writer;

/// An array being written.
pub(super) struct Elements<'a> {
    /// Where to.
    pub(super) writer: &'a mut Writer,
    /// Where the first element starts.
    start: usize,
    /// Where this array's spans start, if it is a set.
    base: usize,
    /// Elements begun.
    count: usize,
    /// Whether it is a set, to be ordered at the end.
    sorted: bool,
    /// The enum's variant that holds it.
    variant: Option<&'static str>,
}

impl<'a> Elements<'a> {
    /// Opens an array.
    #[inline]
    pub(super) fn open(writer: &'a mut Writer, variant: Option<&'static str>, sorted: bool) -> Result<Self, Fault> {
        if let Some(variant) = variant {
            writer.open_variant(variant)?;
        }
        writer.open(b'[')?;
        let (start, base) = (writer.buf.len(), writer.spans.len());
        Ok(Self { writer, start, base, count: 0, sorted, variant })
    }

    /// Starts the next element.
    #[inline]
    pub(super) fn begin(&mut self) -> Result<(), Fault> {
        self.count += 1;
        if !self.writer.has_room(0) {
            return Err(self.writer.too_large());
        }
        if self.sorted {
            self.writer.end_span(self.base);
        }
        if self.count > 1 {
            self.writer.buf.push(b',');
        }
        if self.sorted {
            let start = self.writer.buf.len();
            self.writer.spans.push(Span::element(start));
        }
        Ok(())
    }

    /// Writes the next element.
    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.begin().map_err(|fault| self.blame(fault))?;
        self.writer.sort_next = sets::is_unordered::<T>();
        value.serialize(&mut *self.writer).map_err(|fault| self.blame(fault))
    }

    /// The error seen from this array.
    #[cold]
    pub(super) fn blame(&mut self, fault: Fault) -> Fault {
        self.writer.broken = true;
        let fault = fault.in_element(self.count.saturating_sub(1));
        match self.variant {
            Some(variant) => fault.in_field(variant),
            None => fault,
        }
    }

    /// Closes the array.
    #[inline]
    pub(super) fn close(self) -> Result<(), Fault> {
        let writer = self.writer;
        if self.sorted {
            sort_elements(writer, self.base, self.start)?;
        }
        if self.count == 0 && writer.omitted.is_active() {
            writer.omitted.excuse();
        }
        writer.close(b']');
        if self.variant.is_some() {
            writer.close_variant();
        }
        Ok(())
    }
}

/// Orders the elements of a set by their canonical bytes.
fn sort_elements(writer: &mut Writer, base: usize, start: usize) -> Result<(), Fault> {
    writer.end_span(base);
    let (buf, spans) = (&writer.buf, &mut writer.spans);
    if let Some(elements) = spans.get_mut(base..) {
        elements.sort_unstable_by(|a, b| a.bytes(buf).cmp(b.bytes(buf)));
    }
    writer.rearrange(base, start)?;
    writer.spans.truncate(base);
    Ok(())
}

/// The traits of serde that write one element after the other.
macro_rules! elements {
    ($($trait:ident::$method:ident),* $(,)?) => {$(
        impl ser::$trait for Elements<'_> {
            type Ok = ();
            type Error = Fault;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                self.element(value)
            }

            #[inline]
            fn end(self) -> Result<(), Fault> {
                self.close()
            }
        }
    )*};
}

elements! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}
