//! The arguments of one call, in canonical form, in a buffer that calls share.
//!
//! Must not know the tool: it takes values in the order the attribute hands them over (effect parameters
//! sorted by name, then content, then parts of keys) and remembers where each one lies.

use std::{borrow::Cow, cell::Cell, fmt, sync::Arc};

use serde::Serialize;

use super::{
    canonical::{Canonical, CanonicalError, Presence},
    frame::{Digest, Frame, domain},
};
use crate::secret::IdentityKey;

/// What may stand as an argument of an idempotent tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of an idempotent tool: it does not implement `serde::Serialize`",
    label = "cannot take part in the operation's identity",
    note = "derive `serde::Serialize` for it, or mark an injected dependency with `#[idem(state)]`"
)]
pub trait Argument: Serialize {}

impl<T: Serialize + ?Sized> Argument for T {}

/// Where one value lies in the buffer.
#[derive(Debug, Clone, Copy)]
struct Entry {
    name: &'static str,
    role: Role,
    from: usize,
    to: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Effect,
    Content,
    Part,
}

struct Buffers {
    canonical: Canonical,
    entries: Vec<Entry>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { canonical: Canonical::new(BUFFER_BYTES_MAX), entries: Vec::new() }
    }
}

/// No call's arguments may take more memory than this while they are written, whatever the runtime allows.
const BUFFER_BYTES_MAX: usize = 64 * 1024 * 1024;

thread_local! {
    /// One set of buffers a thread, lent to the call that is being identified.
    static SPARE: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
}

/// The canonical arguments of one call. Filled by generated code.
pub struct Arguments {
    buffers: Option<Box<Buffers>>,
    effects_end: Option<usize>,
    wrong: Option<InvalidArgument>,
}

/// An argument that has no canonical form. Names the parameter, never its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidArgument {
    /// The parameter.
    pub name: &'static str,
    /// What is wrong with it, and where below it.
    pub error: CanonicalError,
}

impl fmt::Display for InvalidArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the argument `{}` cannot be identified: {}", self.name, self.error)
    }
}

impl std::error::Error for InvalidArgument {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self::new()
    }
}

/// What generated code calls.
impl Arguments {
    /// No arguments yet.
    pub fn new() -> Self {
        let mut buffers = SPARE.take().unwrap_or_default();
        buffers.canonical.clear();
        buffers.canonical.push(b"{");
        buffers.entries.clear();
        Self { buffers: Some(buffers), effects_end: None, wrong: None }
    }

    /// Adds a parameter that is part of the effect. Called in the order of names.
    pub fn effect<T: Argument + ?Sized>(&mut self, name: &'static str, value: &T) {
        self.effect_with(name, |canonical| canonical.write(value));
    }

    /// Adds a parameter that is part of the effect, without the fields at these paths below it.
    pub fn effect_without<T: Argument + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
        omit: &'static [&'static str],
    ) {
        self.effect_with(name, |canonical| canonical.write_without(value, omit));
    }

    /// Adds text written by the model.
    pub fn content<T: Argument + ?Sized>(&mut self, name: &'static str, value: &T) {
        self.beside(Role::Content, name, value);
    }

    /// Adds a value that a key, a template or a scope names.
    pub fn part<T: Argument + ?Sized>(&mut self, path: &'static str, value: &T) {
        self.beside(Role::Part, path, value);
    }

    fn effect_with(
        &mut self,
        name: &'static str,
        write: impl FnOnce(&mut Canonical) -> Result<Presence, CanonicalError>,
    ) {
        let Some(Buffers { canonical, entries }) = self.buffers.as_deref_mut() else {
            return;
        };
        let start = canonical.len();
        if start > 1 {
            canonical.push(b",");
        }
        canonical.push(b"\"");
        canonical.push(name.as_bytes());
        canonical.push(b"\":");
        let from = canonical.len();
        match write(canonical) {
            Ok(Presence::Given) => entries.push(Entry { name, role: Role::Effect, from, to: canonical.len() }),
            // `None` and absence are one intent, so that a new optional parameter changes no old key.
            Ok(Presence::Absent) => {
                canonical.truncate(start);
                entries.push(Entry { name, role: Role::Effect, from: start, to: start });
            }
            Err(error) => self.fail(name, error),
        }
    }

    fn beside<T: Argument + ?Sized>(&mut self, role: Role, name: &'static str, value: &T) {
        self.close();
        let Some(Buffers { canonical, entries }) = self.buffers.as_deref_mut() else {
            return;
        };
        let from = canonical.len();
        match canonical.write(value) {
            Ok(Presence::Given) => entries.push(Entry { name, role, from, to: canonical.len() }),
            Ok(Presence::Absent) => {
                canonical.truncate(from);
                entries.push(Entry { name, role, from, to: from });
            }
            Err(error) => self.fail(name, error),
        }
    }

    fn fail(&mut self, name: &'static str, error: CanonicalError) {
        self.wrong.get_or_insert(InvalidArgument { name, error: error.within(name) });
    }

    /// Ends the object of effect parameters, once.
    fn close(&mut self) {
        if self.effects_end.is_none()
            && let Some(buffers) = self.buffers.as_deref_mut()
        {
            buffers.canonical.push(b"}");
            self.effects_end = Some(buffers.canonical.len());
        }
    }
}

/// What identities are derived from.
impl Arguments {
    /// All values are in.
    ///
    /// # Errors
    /// [`InvalidArgument`], the first one that has no canonical form.
    pub fn finish(mut self) -> Result<Self, InvalidArgument> {
        self.close();
        match self.wrong.take() {
            None => Ok(self),
            Some(wrong) => Err(wrong),
        }
    }

    /// The digest of all effect parameters, in canonical form. Call [`finish`](Self::finish) first.
    pub fn fingerprint(&self, key: Option<&IdentityKey>) -> Digest {
        let mut frame = Frame::new(key, domain::ARGUMENTS);
        frame.part(self.object());
        frame.digest()
    }

    /// The canonical object of all effect parameters.
    fn object(&self) -> &[u8] {
        self.bytes().get(..self.effects_end.unwrap_or(0)).unwrap_or_default()
    }

    /// Everything that was handed over, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes().len()
    }

    /// The canonical value named `path`; `None` when it is absent, null, or empty text.
    pub(crate) fn value(&self, path: &str) -> Option<&[u8]> {
        let named = |entry: &&Entry| entry.name == path && entry.role != Role::Content;
        let entry = self.entries().iter().find(named)?;
        let bytes = self.bytes().get(entry.from..entry.to)?;
        match bytes {
            [] | b"null" => None,
            [b'"', ..] if is_blank(bytes) => None,
            _ => Some(bytes),
        }
    }

    /// The arguments as they may be stored: a JSON object of the effect and content parameters, without whatever is
    /// marked volatile or secret.
    pub(crate) fn to_store(&self) -> Arc<[u8]> {
        let mut json = self.object().to_vec();
        json.pop();
        for entry in self.entries().iter().filter(|entry| entry.role == Role::Content && entry.from < entry.to) {
            if json.len() > 1 {
                json.push(b',');
            }
            json.push(b'"');
            json.extend_from_slice(entry.name.as_bytes());
            json.extend_from_slice(b"\":");
            json.extend_from_slice(self.bytes().get(entry.from..entry.to).unwrap_or_default());
        }
        json.push(b'}');
        json.into()
    }

    /// Eight bytes for each effect parameter, in order: enough to say which one differs, not what it was.
    pub(crate) fn effect_parts(&self, key: Option<&IdentityKey>) -> Arc<[u8]> {
        self.parts(Role::Effect, key)
    }

    /// Eight bytes for each content parameter.
    pub(crate) fn content_parts(&self, key: Option<&IdentityKey>) -> Arc<[u8]> {
        self.parts(Role::Content, key)
    }

    fn parts(&self, role: Role, key: Option<&IdentityKey>) -> Arc<[u8]> {
        let mut parts = Vec::new();
        for entry in self.entries().iter().filter(|entry| entry.role == role) {
            let mut frame = Frame::new(key, domain::PARAMETER);
            frame.part(entry.name.as_bytes());
            frame.part(self.bytes().get(entry.from..entry.to).unwrap_or_default());
            let digest: Digest = frame.digest();
            parts.extend_from_slice(&digest[..PART_BYTES]);
        }
        if parts.is_empty() { Arc::default() } else { parts.into() }
    }

    fn bytes(&self) -> &[u8] {
        self.buffers.as_deref().map_or(&[], |buffers| buffers.canonical.bytes())
    }

    fn entries(&self) -> &[Entry] {
        self.buffers.as_deref().map_or(&[], |buffers| &buffers.entries)
    }
}

/// Whether a canonical text is empty or all white space, which may be written as escapes.
fn is_blank(text: &[u8]) -> bool {
    serde_json::from_slice::<Cow<'_, str>>(text).is_ok_and(|text| text.trim().is_empty())
}

/// How many bytes of a parameter's digest are kept.
pub(crate) const PART_BYTES: usize = 8;

impl fmt::Debug for Arguments {
    /// Names, never values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries().iter().map(|entry| entry.name)).finish()
    }
}

impl Drop for Arguments {
    fn drop(&mut self) {
        if let Some(buffers) = self.buffers.take() {
            SPARE.set(Some(buffers));
        }
    }
}
