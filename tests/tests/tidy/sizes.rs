//! A file has about 400 lines, a function about 70; tests apart.
//!
//! Lines are counted as an editor shows them. Whether a short function does too much is a reader's business.

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Item, Signature};

use super::rule::{Breach, Rule};
use super::source::Source;

const FILE: usize = 400;
const FUNCTION: usize = 70;

/// Places where the usual limit would make the code worse.
const LIMITS: &[Limit] = &[];

const SIZES: Rule = Rule {
    name: "size",
    cure: "give a part of it a name and a place of its own, or a limit with a reason in tests/tests/tidy/sizes.rs",
    exceptions: &[],
    find: |source| breaches(source, LIMITS),
};

/// A limit of its own for a file (`item` is `file`) or for a function in it.
struct Limit {
    file: &'static str,
    item: &'static str,
    lines: usize,
    reason: &'static str,
}

/// How large something is, and what it may usually be.
struct Size {
    item: String,
    line: usize,
    lines: usize,
    usual: usize,
}

fn breaches(source: &Source, limits: &[Limit]) -> Vec<Breach> {
    let sizes = sizes(source).into_iter().filter_map(|size| {
        let own = limits.iter().find(|limit| limit.file == source.path && limit.item == size.item);
        let limit = own.map_or(size.usual, |limit| limit.lines);
        let Size { item, line, lines, .. } = size;
        (lines > limit).then(|| Breach::new(line, format!("`{item}` has {lines} lines; {limit} are the limit")))
    });
    sizes.collect()
}

/// The limits of their own that nothing in these files needs.
fn idle<'a>(sources: &[Source], limits: &'a [Limit]) -> Vec<&'a Limit> {
    let large = |limit: &Limit| {
        let mut files = sources.iter().filter(|source| source.path == limit.file);
        files.any(|source| sizes(source).iter().any(|size| size.item == limit.item && size.lines > size.usual))
    };
    limits.iter().filter(|limit| !large(limit)).collect()
}

/// The file and every function in it; none for a file of tests.
fn sizes(source: &Source) -> Vec<Size> {
    let is_test = source.path.split('/').any(|name| ["tests", "tests.rs"].contains(&name));
    if !source.is_rust() || is_test {
        return Vec::new();
    }
    let mut reader = Reader::default();
    reader.visit_file(&source.syntax());
    let lines = source.text.lines().count() - reader.tests;
    let file = Size { item: "file".to_owned(), line: 1, lines, usual: FILE };
    reader.functions.into_iter().chain([file]).collect()
}

#[derive(Default)]
struct Reader {
    functions: Vec<Size>,
    /// Lines of items that only tests compile.
    tests: usize,
}

impl Reader {
    fn function(&mut self, signature: &Signature, block: &Block) {
        let start = signature.span();
        let lines = lines(start.start().line, block.brace_token.span.close());
        let item = signature.ident.to_string();
        self.functions.push(Size { item, line: start.start().line, lines, usual: FUNCTION });
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(module) => &module.attrs,
            Item::Fn(function) => &function.attrs,
            Item::Impl(block) => &block.attrs,
            _ => &[],
        };
        if attributes.iter().any(only_tests) {
            self.tests += lines(item.span().start().line, item.span());
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn lines(start: usize, end: Span) -> usize {
    end.end().line - start + 1
}

/// `cfg(test)`, or `cfg(all(test, …))`.
fn only_tests(attribute: &Attribute) -> bool {
    let condition = attribute.parse_args().unwrap_or_else(|_| TokenStream::new()).to_string();
    attribute.path().is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
}

#[test]
fn files_and_functions_are_small() {
    SIZES.check();
}

#[test]
fn every_limit_of_its_own_is_needed() {
    let idle = idle(&Source::tree(), LIMITS).into_iter();
    let told: Vec<_> = idle.map(|limit| format!("{}: {} ({})", limit.file, limit.item, limit.reason)).collect();
    assert!(told.is_empty(), "limits that nothing needs, take them out: {told:#?}");
}

/// A file whose function `long` has this many lines.
fn with_function(lines: usize) -> String {
    format!("//! Long.\n/// Words.\nfn long() {{{}}}\n", "\n".repeat(lines - 1))
}

#[test]
fn what_is_too_large_is_found() {
    let path = "idem-macros/src/lib.rs";
    assert_eq!(SIZES.lines(path, &with_function(FUNCTION + 1)), [3]);
    assert!(SIZES.lines(path, &with_function(FUNCTION)).is_empty());
    let method = format!("impl A {{ {} }}", with_function(FUNCTION + 1).replace("//! Long.", ""));
    assert_eq!(SIZES.lines(path, &method), [3]);
    assert_eq!(SIZES.lines(path, &"\n".repeat(FILE + 1)), [1]);
}

#[test]
fn tests_are_not_counted() {
    let body = with_function(FILE).replace("//! Long.", "");
    let under = |condition: &str| {
        let module = format!("#[cfg({condition})]\nmod tests {{ {body} }}");
        SIZES.lines("idem-macros/src/lib.rs", &module)
    };
    assert_eq!(under("unix"), [4, 1]);
    assert!(under("test").is_empty());
    assert!(under("all(test, feature = \"sqlite\")").is_empty());
    let file = with_function(FILE + 1);
    assert!(SIZES.lines("idem-runtime/src/ledger/tests.rs", &file).is_empty());
}

#[test]
fn a_limit_of_its_own_holds_and_must_be_needed() {
    let limit = Limit { file: "a/src/lib.rs", item: "long", lines: 80, reason: "a table" };
    let source = |lines| Source::new("a/src/lib.rs", &with_function(lines));
    let limits = [limit];
    assert!(breaches(&source(80), &limits).is_empty());
    assert_eq!(breaches(&source(81), &limits).len(), 1);
    assert!(idle(&[source(80)], &limits).is_empty());
    assert_eq!(idle(&[source(FUNCTION)], &limits).len(), 1);
}
