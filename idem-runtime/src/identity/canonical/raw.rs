//! JSON text to canonical text, for values that hold their JSON unread. Streams: no tree between.
//!
//! A parser of its own, since `serde_json`'s rounds integers beyond 64 bits unless a feature of another crate
//! says otherwise, and keeps the last of two equal names. Must not know where the text comes from.

use std::borrow::Cow;

use super::elements::Elements;
use super::error::{CanonicalErrorKind, Fault};
use super::members::{Members, Mode};
use super::number;
use super::omitted::Visit;
use super::writer::Writer;

/// Appends the canonical form of one JSON text.
pub(super) fn transcode(writer: &mut Writer, text: &str) -> Result<(), Fault> {
    let mut source = Source { text, at: 0 };
    source.value(writer)?;
    source.skip_space();
    if source.at == text.len() { Ok(()) } else { Err(malformed()) }
}

/// The error for text that is not JSON.
#[cold]
fn malformed() -> Fault {
    Fault::new(CanonicalErrorKind::MalformedJson)
}

/// JSON text being read.
struct Source<'t> {
    /// All of it.
    text: &'t str,
    /// Where the next byte is.
    at: usize,
}

impl<'t> Source<'t> {
    /// What is left.
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.rest().first().copied()
    }

    /// Passes white space.
    fn skip_space(&mut self) {
        let is_space = |b: &&u8| matches!(**b, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.rest().iter().take_while(is_space).count();
    }

    /// Passes the byte if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    /// Passes the byte, which has to come next.
    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.take(byte) { Ok(()) } else { Err(malformed()) }
    }

    /// One value. Recursion ends at the writer's depth limit.
    fn value(&mut self, writer: &mut Writer) -> Result<(), Fault> {
        match self.peek() {
            Some(b'{') => self.object(writer),
            Some(b'[') => self.array(writer),
            Some(b'"') => {
                let text = self.string()?;
                writer.text(&text)
            }
            Some(b'-' | b'0'..=b'9') => self.number(writer),
            _ => self.word(writer),
        }
    }

    /// `null`, `true` or `false`.
    fn word(&mut self, writer: &mut Writer) -> Result<(), Fault> {
        let words = ["null", "true", "false"];
        let word = words.iter().find(|word| self.rest().starts_with(word.as_bytes()));
        let word = word.ok_or_else(malformed)?;
        self.at += word.len();
        if *word == "null" {
            writer.null();
        } else {
            writer.buf.extend_from_slice(word.as_bytes());
        }
        Ok(())
    }

    /// A number.
    fn number(&mut self, writer: &mut Writer) -> Result<(), Fault> {
        let len = number::measure(self.rest()).ok_or_else(malformed)?.len;
        let text = self.text.get(self.at..self.at + len).ok_or_else(malformed)?;
        if !writer.has_room(0) {
            return Err(writer.too_large());
        }
        self.at += len;
        number::write_text(&mut writer.buf, text)
    }

    /// An array.
    fn array(&mut self, writer: &mut Writer) -> Result<(), Fault> {
        self.expect(b'[')?;
        let mut elements = Elements::open(writer, None, false)?;
        if !self.take(b']') {
            loop {
                elements.begin()?;
                self.value(&mut *elements.writer).map_err(|fault| elements.blame(fault))?;
                if !self.take(b',') {
                    break;
                }
            }
            self.expect(b']')?;
        }
        elements.close()
    }

    /// An object.
    fn object(&mut self, writer: &mut Writer) -> Result<(), Fault> {
        self.expect(b'{')?;
        let mut members = Members::open(writer, None, Mode::Object)?;
        if !self.take(b'}') {
            loop {
                self.member(&mut members)?;
                if !self.take(b',') {
                    break;
                }
            }
            self.expect(b'}')?;
        }
        members.close()
    }

    /// One member of an object.
    fn member(&mut self, members: &mut Members<'_>) -> Result<(), Fault> {
        if self.peek() != Some(b'"') {
            return Err(malformed());
        }
        let name = self.string()?;
        self.expect(b':')?;
        let done = match members.begin(&name) {
            Ok(Visit::Write) => self.value(&mut *members.writer),
            // Read past it, into a writer of its own.
            Ok(Visit::Skip) => return self.value(&mut Writer::new(usize::MAX)),
            Err(fault) => Err(fault),
        };
        match done {
            Ok(()) => {
                members.end_value();
                Ok(())
            }
            Err(fault) => Err(members.blame_entry(fault, name.as_bytes())),
        }
    }

    /// A text, its escapes resolved.
    fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.expect(b'"')?;
        let mut text = Cow::Borrowed("");
        loop {
            let is_plain = |b: &&u8| !matches!(**b, b'"' | b'\\' | 0..=0x1f);
            let run = self.rest().iter().take_while(is_plain).count();
            let run = self.text.get(self.at..self.at + run).ok_or_else(malformed)?;
            self.at += run.len();
            // The common text is one run, borrowed.
            if text.is_empty() {
                text = Cow::Borrowed(run);
            } else {
                text.to_mut().push_str(run);
            }
            match self.rest() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(text);
                }
                [b'\\', escape, ..] => {
                    self.at += 2;
                    let resolved = self.escape(*escape)?;
                    text.to_mut().push(resolved);
                }
                _ => return Err(malformed()),
            }
        }
    }

    /// The character that an escape stands for, its backslash and letter passed.
    fn escape(&mut self, letter: u8) -> Result<char, Fault> {
        Ok(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                let second = match first {
                    0xd800..=0xdbff if self.rest().starts_with(b"\\u") => {
                        self.at += 2;
                        Some(self.unit()?)
                    }
                    _ => None,
                };
                let units = std::iter::once(first).chain(second);
                let mut chars = char::decode_utf16(units);
                // A lone surrogate is no text, and has no UTF-8.
                match (chars.next(), chars.next()) {
                    (Some(Ok(resolved)), None) => resolved,
                    _ => return Err(malformed()),
                }
            }
            _ => return Err(malformed()),
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u16, Fault> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(malformed)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(malformed());
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| malformed())
    }
}
