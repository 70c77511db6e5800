//! The glossary's forbidden words: in public names, in doc comments and in the documents at the root and in `docs/`.
//!
//! A word is found in any spelling (`job_id`, `JobId`, "a job id") and a phrase across the end of a line. Which words
//! to use instead is the glossary's to say; here stands a hint.

use syn::visit::{self, Visit};
use syn::{Fields, Ident, Item, TraitItem, Visibility};

use super::rule::{Breach, Rule};
use super::source::Source;

/// What is never said, and what is said instead.
const NOWHERE: [(&[&str], &str); 7] = [
    (&["exactly", "once"], "say what is true: one intended effect, replay, unknown"),
    (&["cache", "hit"], "say replay"),
    (&["job"], "say operation"),
    (&["jobs"], "say operations"),
    (&["ttl"], "say retention, window or lease"),
    (&["expired"], "say ended"),
    (&["expires"], "say ends"),
];

/// `std` has locks and prose may speak of them; we have none.
const IN_NO_NAME: [(&[&str], &str); 1] = [(&["lock"], "say lease or reserve")];

/// The crates whose names and documentation users read.
const CRATES: [&str; 4] = ["idem-macros/src/", "idem-rig/src/", "idem-rmcp/src/", "idem-runtime/src/"];

const DOCS: Rule = Rule {
    name: "words",
    cure: "use the glossary's word; a text that must name the forbidden one is an exception with a reason",
    exceptions: &[],
    find: |source| {
        let document =
            source.path.strip_suffix(".md").is_some_and(|name| !name.contains('/') || name.starts_with("docs/"));
        if document {
            forbidden(&source.text, &NOWHERE)
        } else if source.is_rust_in(&CRATES) {
            forbidden(&doc_comments(&source.text), &NOWHERE)
        } else {
            Vec::new()
        }
    },
};

const NAMES: Rule = Rule {
    name: "names",
    cure: "rename it to the glossary's word",
    exceptions: &[],
    find: |source| {
        let names = if source.is_rust_in(&CRATES) { public_names(source) } else { Vec::new() };
        let said = |name: &Ident| {
            let text = name.to_string();
            let breaches = forbidden(&text, &NOWHERE).into_iter().chain(forbidden(&text, &IN_NO_NAME));
            let line = name.span().start().line;
            breaches.map(|breach| Breach::new(line, format!("`{text}`: {}", breach.what))).collect::<Vec<_>>()
        };
        names.iter().flat_map(said).collect()
    },
};

/// The doc comments of a Rust file, each on its own line.
fn doc_comments(text: &str) -> String {
    let is_doc = |line: &str| ["///", "//!"].iter().any(|mark| line.trim_start().starts_with(mark));
    text.lines().map(|line| if is_doc(line) { line } else { "" }).collect::<Vec<_>>().join("\n")
}

fn forbidden(text: &str, phrases: &[(&[&str], &str)]) -> Vec<Breach> {
    let words = words(text);
    let mut breaches = Vec::new();
    for start in 0..words.len() {
        let said = |phrase: &[&str]| words[start..].iter().map(|(_, word)| word).take(phrase.len()).eq(phrase);
        let hits = phrases.iter().filter(|(phrase, _)| said(phrase));
        breaches.extend(
            hits.map(|(phrase, hint)| Breach::new(words[start].0, format!("\"{}\": {hint}", phrase.join(" ")))),
        );
    }
    breaches
}

/// All words in lower case with their lines; `two_words` and `TwoWords` are two.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut word = String::new();
        let mut before = ' ';
        for sign in line.chars().chain([' ']) {
            let ends = !sign.is_alphanumeric() || (before.is_lowercase() && sign.is_uppercase());
            if ends && !word.is_empty() {
                words.push((at + 1, std::mem::take(&mut word).to_lowercase()));
            }
            if sign.is_alphanumeric() {
                word.push(sign);
            }
            before = sign;
        }
    }
    words
}

fn public_names(source: &Source) -> Vec<Ident> {
    let mut reader = Reader::default();
    reader.visit_file(&source.syntax());
    reader.names
}

#[derive(Default)]
struct Reader {
    names: Vec<Ident>,
}

impl Reader {
    fn name(&mut self, visibility: &Visibility, name: &Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.names.push(name.clone());
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Const(item) => self.name(&item.vis, &item.ident),
            Item::Enum(item) => {
                self.name(&item.vis, &item.ident);
                for variant in &item.variants {
                    self.name(&item.vis, &variant.ident);
                    if let Fields::Named(fields) = &variant.fields {
                        fields.named.iter().flat_map(|field| &field.ident).for_each(|name| self.name(&item.vis, name));
                    }
                }
            }
            Item::Fn(item) => self.name(&item.vis, &item.sig.ident),
            Item::Mod(item) => self.name(&item.vis, &item.ident),
            Item::Static(item) => self.name(&item.vis, &item.ident),
            Item::Struct(item) => self.name(&item.vis, &item.ident),
            Item::Trait(item) => {
                self.name(&item.vis, &item.ident);
                for inner in &item.items {
                    match inner {
                        TraitItem::Const(inner) => self.name(&item.vis, &inner.ident),
                        TraitItem::Fn(inner) => self.name(&item.vis, &inner.sig.ident),
                        TraitItem::Type(inner) => self.name(&item.vis, &inner.ident),
                        _ => {}
                    }
                }
            }
            Item::Type(item) => self.name(&item.vis, &item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.name(&item.vis, &item.ident);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.name(&item.vis, &item.sig.ident);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.name(&field.vis, name);
        }
    }
}

#[test]
fn documentation_speaks_the_glossary() {
    DOCS.check();
}

#[test]
fn public_names_speak_the_glossary() {
    NAMES.check();
}

#[test]
fn a_forbidden_word_in_documentation_is_found() {
    assert_eq!(DOCS.lines("README.md", "It runs\nExactly\nonce."), [2]);
    assert_eq!(DOCS.lines("docs/decisions/lease.md", "the lease expired; its TTL"), [1, 1]);
    assert_eq!(DOCS.lines("idem-runtime/src/id.rs", "\n/// A `JobId` of jobs.\nstruct A;"), [2, 2]);
    assert!(DOCS.lines("idem-runtime/src/id.rs", "// exactly once\nlet job = 1;").is_empty());
    assert!(DOCS.lines("README.md", "exactly the one; a jobber's Cargo.lock").is_empty());
    assert!(DOCS.lines("benches/notes.md", "job").is_empty());
}

#[test]
fn a_forbidden_word_in_a_public_name_is_found() {
    let lines = |text: &str| NAMES.lines("idem-runtime/src/ledger/mod.rs", text);
    assert_eq!(lines("pub fn cache_hit() {}\npub struct Lock { pub ttl: u8 }"), [1, 2, 2]);
    assert_eq!(lines("pub enum State {\n    Expired,\n    Open { job: u8 },\n}"), [2, 3]);
    assert_eq!(lines("pub trait Store {\n    fn lock(&self);\n}"), [2]);
    assert_eq!(lines("impl A {\n    pub fn expires(&self) {}\n    fn job(&self) {}\n}"), [2]);
    assert!(lines("pub(crate) fn lock() {}\nfn job() { mutex.lock(); }\npub fn block() {}").is_empty());
}
