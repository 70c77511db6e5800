//! The language of keys: `tool_call_id|args`, `args(order.id, cents)`, `operation_id|template:refund-{order_id}`.
//!
//! `A|B` are alternatives, `A+B` both together. A template runs up to the next single `|` or the end; in it `{path}` is
//! a value, `{{`, `}}` and `||` are the letters themselves, and `+` is text like any other. A resource is a template
//! and nothing else: `reservation:{reservation_id}`.
//! It must not know which parameters there are.

use proc_macro2::Span;

use crate::mistakes::Mistakes;
use crate::path::ValuePath;
use crate::text::{Piece, Text};
use crate::words::{SOURCES, instead, near_miss};

/// Where a template stands, and how a message speaks of it.
struct Site {
    argument: &'static str,
    /// What the template is.
    noun: &'static str,
    /// What it would mean if it named no value.
    meaning: &'static str,
    help: &'static str,
}

const KEY: Site = Site {
    argument: "key",
    noun: "a template",
    meaning: "every call of the scope would be the same operation",
    help: "write `template:refund-{order_id}`",
};

const RESOURCE: Site = Site {
    argument: "resource",
    noun: "a resource",
    meaning: "every call would change the same thing",
    help: "write `resource = \"reservation:{reservation_id}\"`",
};

const TEMPLATE: &str = "template:";
const EXAMPLE: &str = "write `key = \"tool_call_id|args\"`";

/// One source of a key, as it was written.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    ToolCallId,
    OperationId,
    Args,
    ArgsOf(Vec<ValuePath>),
    Template(Vec<Part>),
}

/// A part of a template.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Text(String),
    Value(ValuePath),
}

/// A source and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) source: Source,
    pub(crate) span: Span,
    /// As written; two sources are the same when their text is.
    pub(crate) text: String,
}

/// A key as it was written: alternatives of sources that go together. No list is empty unless a mistake was told.
pub(crate) type KeyWords = Vec<Vec<Placed>>;

/// Reads a key: what could be read, after the mistakes were told.
pub(crate) fn read(text: &Text, mistakes: &mut Mistakes) -> KeyWords {
    if text.as_str().trim().is_empty() {
        mistakes.at(text.span(), "a key is empty", EXAMPLE);
        return Vec::new();
    }
    let mut reader = Reader { piece: text.whole(), site: &KEY, at: 0, after_template: false, mistakes };
    let mut key = Vec::new();
    loop {
        key.push(reader.alternative());
        if !reader.take('|') {
            break;
        }
    }
    key
}

/// Reads a resource: its parts, or `None` after a mistake was told.
pub(crate) fn read_resource(text: &Text, mistakes: &mut Mistakes) -> Option<Vec<Part>> {
    let mut reader = Reader { piece: text.whole(), site: &RESOURCE, at: 0, after_template: false, mistakes };
    let parts = reader.parts(0);
    if reader.rest().is_empty() {
        return parts;
    }
    let bar = reader.piece.part(reader.at..reader.at + 1).span();
    reader.mistakes.at(bar, "`|` in a resource, which has no alternatives", "write `||` for the letter `|`");
    None
}

struct Reader<'t, 'm> {
    piece: Piece<'t>,
    site: &'static Site,
    at: usize,
    /// The alternative before this one was a template: a stray `|` in its text is then the likely cause of a mistake.
    after_template: bool,
    mistakes: &'m mut Mistakes,
}

impl<'t> Reader<'t, '_> {
    fn rest(&self) -> &'t str {
        &self.piece.as_str()[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, letter: char) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(letter);
        self.at += if found { letter.len_utf8() } else { 0 };
        found
    }

    fn alternative(&mut self) -> Vec<Placed> {
        let mut together = Vec::new();
        let mut template = false;
        loop {
            self.skip_blanks();
            let start = self.at;
            let source = if self.rest().starts_with(TEMPLATE) {
                template = true;
                self.at += TEMPLATE.len();
                self.parts(start).map(Source::Template)
            } else {
                self.word()
            };
            let piece = self.piece.part(start..self.at).trim();
            let text = piece.as_str().chars().filter(|letter| !letter.is_whitespace()).collect();
            together.extend(source.map(|source| Placed { source, span: piece.span(), text }));
            if !self.take('+') {
                break;
            }
        }
        self.after_template = template;
        together
    }

    /// A source other than a template.
    fn word(&mut self) -> Option<Source> {
        let start = self.at;
        let length = self.rest().find(['|', '+', '(']).unwrap_or(self.rest().len());
        self.at += length;
        let name = self.piece.part(start..self.at).trim();
        if self.rest().starts_with('(') {
            return self.list(name);
        }
        match name.as_str() {
            "tool_call_id" => Some(Source::ToolCallId),
            "operation_id" => Some(Source::OperationId),
            "args" => Some(Source::Args),
            "" => {
                let span = self.piece.span();
                self.mistakes.at(span, format!("an empty source in key `{}`", self.piece.as_str()), EXAMPLE);
                None
            }
            written if written.starts_with("args.") => self.dotted(name),
            _ => self.unknown(name),
        }
    }

    /// `args.order.id`, read as what it means so that the path is checked too.
    fn dotted(&mut self, name: Piece<'_>) -> Option<Source> {
        let piece = name.part("args.".len()..name.as_str().len());
        self.mistakes.at(
            name.span(),
            format!("`{}` in a key: arguments stand in parentheses", name.as_str()),
            format!("write `key = \"args({})\"`", piece.as_str()),
        );
        let path = ValuePath::read(piece).ok()?;
        Some(Source::ArgsOf(vec![path]))
    }

    fn unknown(&mut self, name: Piece<'_>) -> Option<Source> {
        let written = name.as_str();
        let help = match near_miss(written, SOURCES) {
            Some(near) => format!("write `key = \"{near}\"`"),
            None if self.after_template => "write `||` for the letter `|` in a template".to_owned(),
            None => format!("write `key = \"args({written})\"` for an argument of that name"),
        };
        let message = format!("unknown source `{written}` in a key{}", instead(written, "sources", SOURCES));
        self.mistakes.at(name.span(), message, help);
        None
    }

    /// `args(a, b.c)`; the reader stands at the parenthesis.
    fn list(&mut self, name: Piece<'_>) -> Option<Source> {
        let open = self.at;
        let Some(length) = self.rest().find(')') else {
            return self.unclosed("parenthesis", ')');
        };
        let inner = self.piece.part(open + 1..open + length);
        self.at = open + length + 1;
        let tail = self.rest().find(['|', '+']).unwrap_or(self.rest().len());
        let stray = self.piece.part(self.at..self.at + tail).trim();
        self.at += tail;
        if name.as_str() != "args" {
            let (written, inner) = (name.as_str(), inner.as_str());
            let message = format!("unknown source `{written}(…)` in a key{}", instead(written, "sources", SOURCES));
            self.mistakes.at(name.span(), message, format!("write `key = \"args({inner})\"`"));
            return None;
        }
        if !stray.as_str().is_empty() {
            let message = format!("`{}` after `)` in a key: sources are joined by `|` or `+`", stray.as_str());
            self.mistakes.at(stray.span(), message, EXAMPLE);
            return None;
        }
        let mut paths = Vec::new();
        for piece in inner.split(',') {
            match ValuePath::read(piece) {
                Ok(path) => paths.push(path),
                Err(message) => self.mistakes.at(
                    piece.span(),
                    format!("{message} in `args(…)`"),
                    "write `key = \"args(order_id)\"`",
                ),
            }
        }
        Some(Source::ArgsOf(paths))
    }

    /// What the reader stands at is not closed before the end; it goes on after the alternative.
    fn unclosed<T>(&mut self, what: &str, closing: char) -> Option<T> {
        let end = self.rest().find('|').map_or(self.piece.as_str().len(), |bar| self.at + bar);
        let open = self.piece.part(self.at..end).trim();
        let (before, after) = self.piece.as_str().split_at(end);
        self.mistakes.at(
            open.span(),
            format!("unclosed {what} in {} `{before}{after}`", self.site.argument),
            format!("write `{} = \"{}{closing}{after}\"`", self.site.argument, before.trim_end()),
        );
        self.at = end;
        None
    }

    /// `TEXT{path}TEXT`, up to a single `|`; what is read began at `start`.
    fn parts(&mut self, start: usize) -> Option<Vec<Part>> {
        let Site { noun, meaning, help, .. } = self.site;
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut sound = true;
        while let Some(letter) = self.rest().chars().next() {
            let doubled = self.rest()[letter.len_utf8()..].starts_with(letter);
            match letter {
                '{' | '}' | '|' if doubled => {
                    text.push(letter);
                    self.at += 2;
                }
                '|' => break,
                '{' => {
                    push_text(&mut parts, &mut text);
                    match self.value() {
                        Some(path) => parts.push(Part::Value(path)),
                        None => sound = false,
                    }
                }
                '}' => {
                    let span = self.piece.part(self.at..self.at + 1).span();
                    self.mistakes.at(span, format!("a closing brace without an opening one in {noun}"), "write `}}`");
                    self.at += 1;
                    sound = false;
                }
                _ => {
                    text.push(letter);
                    self.at += letter.len_utf8();
                }
            }
        }
        text.truncate(text.trim_end().len());
        push_text(&mut parts, &mut text);
        if sound && !parts.iter().any(|part| matches!(part, Part::Value(_))) {
            self.mistakes.at(self.piece.part(start..self.at).span(), format!("{noun} names no value: {meaning}"), help);
            return None;
        }
        trim_start(&mut parts);
        sound.then_some(parts)
    }

    /// `{path}` in a template.
    fn value(&mut self) -> Option<ValuePath> {
        let open = self.at;
        let Some(length) = self.rest().find('}') else {
            return self.unclosed("brace", '}');
        };
        self.at = open + length + 1;
        let piece = self.piece.part(open + 1..open + length);
        let whole = self.piece.part(open..self.at);
        ValuePath::read(piece)
            .map_err(|message| {
                self.mistakes.at(whole.span(), format!("{message} in {}", self.site.noun), self.site.help);
            })
            .ok()
    }
}

fn push_text(parts: &mut Vec<Part>, text: &mut String) {
    if !text.is_empty() {
        parts.push(Part::Text(std::mem::take(text)));
    }
}

/// Blanks around a template are no part of it.
fn trim_start(parts: &mut Vec<Part>) {
    if let Some(Part::Text(text)) = parts.first_mut() {
        *text = text.trim_start().to_owned();
        if text.is_empty() {
            parts.remove(0);
        }
    }
}
