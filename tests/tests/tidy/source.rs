//! The source tree as the rules see it: paths relative to the root, text and tokens.
//!
//! It must not know any rule.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, LexError, Span, TokenStream, TokenTree};

/// One text file of the tree.
pub(super) struct Source {
    /// Relative to the root, with `/` on every system.
    pub(super) path: String,
    pub(super) text: String,
}

/// One token; a literal's text is left out, since what a program says is not what it does.
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

impl Token {
    fn new(text: &str, line: usize) -> Self {
        Self { text: text.to_owned(), line }
    }
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// All text files of the tree, in order, without what `.gitignore` names.
    pub(super) fn tree() -> Vec<Self> {
        let root = root();
        let mut paths = Vec::new();
        walk(&root, &ignored(&root), &mut paths);
        paths.sort();
        let sources = paths.iter().filter_map(|path| {
            let names: Vec<_> = path.strip_prefix(&root).ok()?.iter().filter_map(|name| name.to_str()).collect();
            Some(Self { path: names.join("/"), text: fs::read_to_string(path).ok()? })
        });
        sources.collect()
    }

    pub(super) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// Whether the file is Rust source below one of the folders.
    pub(super) fn is_rust_in(&self, folders: &[&str]) -> bool {
        self.is_rust() && folders.iter().any(|folder| self.path.starts_with(folder))
    }

    pub(super) fn stream(&self) -> TokenStream {
        self.text.parse().unwrap_or_else(|error: LexError| self.unreadable(error.span(), &error))
    }

    pub(super) fn syntax(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|error| self.unreadable(error.span(), &error))
    }

    fn unreadable(&self, at: Span, error: &dyn Error) -> ! {
        panic!("failed to read {}:{}: {error}", self.path, at.start().line)
    }

    /// All tokens in order, delimiters among them.
    pub(super) fn tokens(&self) -> Vec<Token> {
        let mut tokens = Vec::new();
        flatten(self.stream(), &mut tokens);
        tokens
    }
}

fn root() -> PathBuf {
    let member = Path::new(env!("CARGO_MANIFEST_DIR"));
    member.parent().expect("the tests are a folder of the workspace").to_owned()
}

fn ignored(root: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let names = text.lines().map(|line| line.trim().trim_matches('/').to_owned());
    names.chain([".git".to_owned()]).collect()
}

fn walk(folder: &Path, ignored: &BTreeSet<String>, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("failed to list {}: {error}", folder.display()));
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| ignored.contains(name)) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), ignored, found),
            _ => found.push(entry.path()),
        }
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        let text = match tree {
            TokenTree::Ident(word) => word.to_string(),
            TokenTree::Punct(sign) => sign.to_string(),
            TokenTree::Literal(_) => String::new(),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(Token::new(open, line));
                flatten(group.stream(), tokens);
                tokens.push(Token::new(close, group.span_close().start().line));
                continue;
            }
        };
        tokens.push(Token { text, line });
    }
}
