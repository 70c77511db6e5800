//! Values that stand for a text: names of map entries, and the text inside `serde_json`'s wrapper structs. Takes
//! what has one obvious text and refuses the rest. Must not know how objects are ordered.

use serde::ser::Impossible;
use serde::{Serialize, Serializer};

use super::error::{CanonicalErrorKind, Fault};
use super::members::Members;
use super::omitted::Visit;
use super::writer::Writer;
use super::{number, raw};

/// Where the text goes.
pub(super) enum Sink<'s, 'w> {
    /// It names the next member of an object.
    Name {
        /// The object.
        members: &'s mut Members<'w>,
        /// Set to whether the member is written.
        visit: &'s mut Visit,
    },
    /// It is a number as JSON writes it.
    NumberText(&'s mut Writer),
    /// It is a value as JSON writes it.
    RawText(&'s mut Writer),
}

/// Finds the text that a value stands for.
pub(super) struct NameSerializer<'s, 'w> {
    /// Where the text goes.
    pub(super) sink: Sink<'s, 'w>,
}

/// The error for a value that stands for no text.
#[cold]
fn refused<T>() -> Result<T, Fault> {
    Err(Fault::new(CanonicalErrorKind::KeyNotText))
}

/// Refuses values of these kinds.
macro_rules! refuse {
    ($($method:ident($($type:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<$ok, Fault> {
            refused()
        }
    )*};
}

/// Takes an integer by its digits.
macro_rules! integers {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<(), Fault> {
            self.serialize_str(itoa::Buffer::new().format(value))
        }
    )*};
}

/// A compound that a name cannot be.
type Never = Impossible<(), Fault>;

impl Serializer for NameSerializer<'_, '_> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    #[inline]
    fn serialize_str(self, text: &str) -> Result<(), Fault> {
        match self.sink {
            Sink::Name { members, visit } => match members.begin(text) {
                Ok(begun) => {
                    *visit = begun;
                    Ok(())
                }
                Err(fault) => Err(members.blame_entry(fault, text.as_bytes())),
            },
            Sink::NumberText(writer) => number::write_text(&mut writer.buf, text),
            Sink::RawText(writer) => raw::transcode(writer, text),
        }
    }

    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        self.serialize_str(if value { "true" } else { "false" })
    }

    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Result<(), Fault> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    // `Some(1)` and `None` would need texts of their own; `None` has none that no string has.
    fn serialize_some<T: Serialize + ?Sized>(self, _value: &T) -> Result<(), Fault> {
        refused()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), Fault> {
        refused()
    }

    refuse! {
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never;
        serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }
}
