//! Serde's view of the writer: one value of serde's data model to canonical text. Must not know how members are
//! ordered; [`members`](super::members) does.

use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};

use super::elements::Elements;
use super::error::{CanonicalErrorKind, Fault};
use super::members::{Members, Mode};
use super::writer::Writer;
use super::{number, sets, text};

/// The struct that `serde_json` wraps a number's text in under `arbitrary_precision`.
const JSON_NUMBER: &str = "$serde_json::private::Number";

/// The struct that `serde_json` wraps a raw value's text in.
const JSON_RAW: &str = "$serde_json::private::RawValue";

/// Writes an integer, whatever its width.
macro_rules! integers {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<(), Fault> {
            number::write_integer(&mut self.buf, value);
            Ok(())
        }
    )*};
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Elements<'a>;
    type SerializeTuple = Elements<'a>;
    type SerializeTupleStruct = Elements<'a>;
    type SerializeTupleVariant = Elements<'a>;
    type SerializeMap = Members<'a>;
    type SerializeStruct = Members<'a>;
    type SerializeStructVariant = Members<'a>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        self.buf.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result<(), Fault> {
        number::write_float(&mut self.buf, f64::from(value))
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<(), Fault> {
        number::write_float(&mut self.buf, value)
    }

    #[inline]
    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Fault> {
        // Every byte takes at least itself and a comma.
        if !self.has_room(value.len().saturating_mul(2)) {
            return Err(self.too_large());
        }
        self.open(b'[')?;
        for (index, &byte) in value.iter().enumerate() {
            if index > 0 {
                self.buf.push(b',');
            }
            number::write_integer(&mut self.buf, byte);
        }
        self.close(b']');
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Fault> {
        self.null();
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        self.sort_next |= sets::is_unordered::<T>();
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), Fault> {
        self.null();
        Ok(())
    }

    #[inline]
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Fault> {
        self.null();
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Fault> {
        if self.omitted.is_active() {
            self.omitted.excuse();
        }
        self.text(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Fault> {
        self.sort_next |= sets::is_unordered::<T>();
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.open_variant(variant)?;
        self.sort_next = sets::is_unordered::<T>();
        value.serialize(&mut *self).map_err(|fault| fault.in_field(variant))?;
        self.close_variant();
        Ok(())
    }

    #[inline]
    fn serialize_seq(self, _len: Option<usize>) -> Result<Elements<'a>, Fault> {
        let sorted = self.sort_next;
        Elements::open(self, None, sorted)
    }

    #[inline]
    fn serialize_tuple(self, _len: usize) -> Result<Elements<'a>, Fault> {
        Elements::open(self, None, false)
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Elements<'a>, Fault> {
        Elements::open(self, None, false)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Elements<'a>, Fault> {
        Elements::open(self, Some(variant), false)
    }

    #[inline]
    fn serialize_map(self, _len: Option<usize>) -> Result<Members<'a>, Fault> {
        Members::open(self, None, Mode::Object)
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Members<'a>, Fault> {
        let mode = match name {
            JSON_NUMBER => Mode::NumberText,
            JSON_RAW => Mode::RawText,
            _ => Mode::Object,
        };
        Members::open(self, None, mode)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Members<'a>, Fault> {
        Members::open(self, Some(variant), Mode::Object)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), Fault> {
        self.buf.push(b'"');
        let mut out = text::Printed { writer: self, full: false };
        let printed = write!(out, "{value}");
        let text::Printed { writer, full } = out;
        if full {
            return Err(writer.too_large());
        }
        printed.map_err(|_| Fault::new(CanonicalErrorKind::Custom("its `Display` failed".to_owned())))?;
        writer.buf.push(b'"');
        Ok(())
    }
}
