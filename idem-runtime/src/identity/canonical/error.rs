//! Why a value has no canonical form, and where in it. Must not hold any part of the value: an error is logged,
//! a value may be secret.

use std::fmt;

use serde::ser;

use super::name;

/// A value could not be put into canonical form. Nothing was written.
#[derive(Clone, PartialEq, Eq)]
pub struct CanonicalError {
    /// What is wrong.
    kind: CanonicalErrorKind,
    /// Where, from the value written: `lines[3].price`; empty for the value itself.
    path: String,
}

/// What is wrong with a value that has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CanonicalErrorKind {
    /// A float is NaN or infinite. As JSON it would be null and so equal an absent value.
    NotFinite,
    /// An object has one name twice.
    DuplicateKey,
    /// The name of a map entry is neither text nor an integer, boolean, character or unit variant.
    KeyNotText,
    /// Values nest deeper than `limit` objects and arrays.
    TooDeep {
        /// The deepest nesting accepted.
        limit: u16,
    },
    /// The canonical form is longer than `limit` bytes.
    TooLarge {
        /// The longest form accepted.
        limit: usize,
    },
    /// A field to be left out was never met; holds its path as it was named.
    UnknownField(String),
    /// A number or raw value of `serde_json` holds text that is not JSON.
    MalformedJson,
    /// The value's own `Serialize` refused it, in these words. They are the type's, may quote the value, and
    /// therefore are shown neither by `Display` nor by the error's `Debug`.
    Custom(String),
}

impl CanonicalError {
    /// What is wrong.
    pub fn kind(&self) -> &CanonicalErrorKind {
        &self.kind
    }

    /// Where: names joined by dots, places in sequences in brackets, as in `lines[3].price`. A name of a map that
    /// does not read as one (a phone number, an address) is data, and shown as `[_]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same error seen from the object that holds the value under `name`.
    pub(crate) fn within(mut self, name: &str) -> Self {
        self.prefix(name);
        self
    }

    /// Puts a segment before the path.
    fn prefix(&mut self, segment: &str) {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{joint}{}", self.path);
    }
}

impl fmt::Display for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str("put the value into canonical form: ")?,
            path => write!(f, "put `{path}` into canonical form: ")?,
        }
        match &self.kind {
            CanonicalErrorKind::NotFinite => f.write_str("the number is NaN or infinite"),
            CanonicalErrorKind::DuplicateKey => f.write_str("its name occurs twice"),
            CanonicalErrorKind::KeyNotText => f.write_str("a name in the map is not text"),
            CanonicalErrorKind::TooDeep { limit } => {
                write!(f, "it is nested deeper than {limit} levels")
            }
            CanonicalErrorKind::TooLarge { limit } => write!(f, "it is longer than {limit} bytes"),
            CanonicalErrorKind::UnknownField(path) => {
                write!(f, "there is no field `{path}` to leave out; its name in serde may differ from its name in Rust")
            }
            CanonicalErrorKind::MalformedJson => f.write_str("its text is not JSON"),
            CanonicalErrorKind::Custom(_) => f.write_str("its type refused to be serialised"),
        }
    }
}

impl fmt::Debug for CanonicalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CanonicalError");
        match &self.kind {
            // Its words may quote the value.
            CanonicalErrorKind::Custom(_) => shown.field("kind", &format_args!("Custom(..)")),
            kind => shown.field("kind", kind),
        };
        shown.field("path", &self.path).finish()
    }
}

impl std::error::Error for CanonicalError {}

/// The error while it travels up through the value. Boxed so that every `Result` on the way fits a register.
pub(super) struct Fault(Box<CanonicalError>);

impl Fault {
    /// An error at the value being written.
    #[cold]
    pub(super) fn new(kind: CanonicalErrorKind) -> Self {
        Self(Box::new(CanonicalError { kind, path: String::new() }))
    }

    /// The error seen from the struct that has the value in this field.
    #[cold]
    pub(super) fn in_field(mut self, field: &str) -> Self {
        self.0.prefix(field);
        self
    }

    /// The error seen from the map that has the value under this name, given as canonical text without quotes.
    #[cold]
    pub(super) fn in_entry(mut self, key: &[u8]) -> Self {
        self.0.prefix(name::shown(key));
        self
    }

    /// The error seen from the sequence that has the value at this place.
    #[cold]
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.0.prefix(&format!("[{index}]"));
        self
    }

    /// The finished error.
    pub(super) fn into_error(self) -> CanonicalError {
        *self.0
    }
}

impl ser::Error for Fault {
    #[cold]
    fn custom<T: fmt::Display>(words: T) -> Self {
        Self::new(CanonicalErrorKind::Custom(words.to_string()))
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Fault {}
