//! The floors of `idem-runtime`: an import goes to a lower floor or stays in its own module.
//!
//! The table is this file's; ARCHITECTURE.md tells it in words. Paths are read from tokens, so those inside of macros
//! count too. What the library's features are is not known here: every file counts, switched on or not.

use std::iter::Peekable;

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{TokenStream, TokenTree};

use super::rule::{Breach, Rule};
use super::source::{Source, Token};

/// From the ground up. `lib` names everything, so nothing imports from it.
const FLOORS: [&[&str]; 12] = [
    &["clock", "config", "retry", "secret"],
    &["id", "tool"],
    &["call"],
    &["outcome", "identity"],
    &["ledger"],
    &["store", "report"],
    &["effect", "reconcile"],
    &["engine"],
    &["operator", "reconciler"],
    &["idem"],
    &["toolset"],
    &["__private", "lib"],
];

/// Beside the house: it uses what users can use, and nothing imports it.
const GUEST: &str = "testing";

/// Modules that users can name, and so the guest too.
const OPEN: [&str; 1] = ["ledger"];

/// What speaks to a database.
const DRIVERS: [&str; 3] = ["libsqlite3_sys", "rusqlite", "sqlx"];

/// How the names of generated code's macros begin.
const MACROS: &str = "__idem_";

const SRC: &str = "idem-runtime/src/";

const IMPORTS: Rule = Rule {
    name: "floors",
    cure: "move the item down to who needs it, or hand it in as an argument; floors are in tests/tests/tidy/floors.rs",
    exceptions: &[],
    find: breaches,
};

const STORAGE: Rule = Rule {
    name: "storage",
    cure: "only `store/` names a database driver; give the ledger a command instead",
    exceptions: &[],
    find: |source| {
        let file = source.path.strip_prefix(SRC).unwrap_or("store.rs");
        if !source.is_rust() || file == "store.rs" || file.starts_with("store/") {
            return Vec::new();
        }
        let mut tokens = source.tokens();
        tokens.retain(|token| DRIVERS.contains(&token.text.as_str()));
        let breach = |token: Token| Breach::new(token.line, format!("`{}`", token.text));
        tokens.into_iter().map(breach).collect()
    },
};

/// A path that begins at the crate's root.
struct Import {
    line: usize,
    path: Vec<String>,
}

fn breaches(source: &Source) -> Vec<Breach> {
    let Some(file) = source.path.strip_prefix(SRC).and_then(|file| file.strip_suffix(".rs")) else {
        return Vec::new();
    };
    let here: Vec<_> = file.split('/').filter(|name| !["lib", "mod"].contains(name)).map(str::to_owned).collect();
    let from = here.first().map_or("lib", String::as_str);
    if floor(from).is_none() && from != GUEST {
        return vec![Breach::new(1, format!("`{from}` has no floor"))];
    }
    let mut imports = Vec::new();
    read(source.stream(), &here, &mut imports);
    imports.iter().filter_map(|import| Some(Breach::new(import.line, judge(from, import)?))).collect()
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|modules| modules.contains(&module))
}

/// What is wrong with an import, if anything.
fn judge(from: &str, import: &Import) -> Option<String> {
    // What is no module comes from the root, where all is exported again; a macro of generated code stands there because
    // the language puts it there.
    let to = match import.path.first().map(String::as_str) {
        Some(name) if name == GUEST || floor(name).is_some() => name,
        Some(name) if name.starts_with(MACROS) => "__private",
        _ => "lib",
    };
    let allowed = match (from, to) {
        _ if from == to => true,
        // What is generated for tests is named where all generated code's names stand.
        ("__private", GUEST) => true,
        (_, GUEST) => false,
        ("lib", _) => true,
        // Its own macros stand there, and what they expand to is generated code.
        (GUEST, to) => to == "lib" || to == "__private" || OPEN.contains(&to),
        (from, to) => floor(from) > floor(to),
    };
    let place = |module| floor(module).map_or("beside the house".to_owned(), |floor| format!("floor {floor}"));
    let what = || format!("`{from}` ({}) imports `crate::{}` ({})", place(from), import.path.join("::"), place(to));
    (!allowed).then(what)
}

/// Collects the paths of a module that begin with `crate`, `self` or `super`, in `use` and anywhere else.
fn read(stream: TokenStream, here: &[String], found: &mut Vec<Import>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => read(group.stream(), here, found),
            TokenTree::Ident(word) if word == "mod" => {
                let name = trees.next().map(|name| name.to_string());
                if let Some(TokenTree::Group(body)) = trees.next_if(|tree| matches!(tree, TokenTree::Group(_))) {
                    let inner: Vec<_> = here.iter().cloned().chain(name).collect();
                    read(body.stream(), &inner, found);
                }
            }
            TokenTree::Ident(word) => {
                let start = match word.to_string().as_str() {
                    "crate" => &[],
                    "self" => here,
                    "super" => here.split_last().map_or(here, |(_, outer)| outer),
                    _ => continue,
                };
                let line = word.span().start().line;
                if colons(&mut trees) {
                    follow(Import { line, path: start.to_vec() }, &mut trees, found);
                }
            }
            _ => {}
        }
    }
}

/// Follows a path behind its `::`, into every branch of a `use` group.
fn follow(mut import: Import, trees: &mut Peekable<IntoIter>, found: &mut Vec<Import>) {
    loop {
        match trees.peek() {
            Some(TokenTree::Ident(word)) => {
                import.line = word.span().start().line;
                match word.to_string().as_str() {
                    "super" => drop(import.path.pop()),
                    "self" => {}
                    name => import.path.push(name.to_owned()),
                }
                trees.next();
            }
            Some(TokenTree::Group(group)) => {
                let mut branches = group.stream().into_iter().peekable();
                trees.next();
                while branches.peek().is_some() {
                    let Import { line, ref path } = import;
                    follow(Import { line, path: path.clone() }, &mut branches, found);
                    branches.by_ref().find(|tree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ','));
                }
                return;
            }
            // `*`, or the `<` of generic arguments.
            _ => return found.push(import),
        }
        if !colons(trees) {
            return found.push(import);
        }
    }
}

/// Steps over `::`, if it comes next.
fn colons(trees: &mut Peekable<IntoIter>) -> bool {
    let mut colon = || trees.next_if(|tree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ':')).is_some();
    colon() && colon()
}

#[test]
fn imports_go_down() {
    IMPORTS.check();
}

#[test]
fn only_the_store_names_a_driver() {
    STORAGE.check();
}

#[test]
fn an_import_that_goes_up_or_across_is_found() {
    let lines = |file: &str, text: &str| IMPORTS.lines(&format!("{SRC}{file}"), text);
    assert_eq!(lines("id.rs", "use crate::engine::Engine;"), [1]);
    assert_eq!(lines("store/sqlite.rs", "use crate::{\n    id::Id,\n    report::{self, Report},\n};"), [3, 3]);
    assert_eq!(lines("ledger/mod.rs", "use super::store::Store;"), [1]);
    assert_eq!(lines("ledger/record.rs", "use super::super::store::Store;"), [1]);
    assert_eq!(lines("ledger.rs", "mod tests {\n    use super::super::engine;\n}"), [2]);
    assert_eq!(lines("call.rs", "fn f() {\n    matches!(x, crate::outcome::Outcome::Fresh)\n}"), [2]);
    assert_eq!(lines("engine.rs", "use crate::Idem;\nuse crate::*;\nuse super::*;"), [1, 2, 3]);
    assert_eq!(lines("store.rs", "use crate::testing::Clock;"), [1]);
    assert_eq!(lines("testing/suite.rs", "use crate::store::Memory;"), [1]);
    assert_eq!(lines("nowhere.rs", ""), [1]);
}

#[test]
fn an_import_that_goes_down_or_stays_is_not() {
    let lines = |file: &str, text: &str| IMPORTS.lines(&format!("{SRC}{file}"), text);
    let none: [usize; 0] = [];
    assert_eq!(lines("engine.rs", "use crate::{id::Id, ledger::{self, Record}};"), none);
    assert_eq!(lines("ledger/record.rs", "use super::Command;\nuse crate::ledger::lease;\nuse self::x::Y;"), none);
    assert_eq!(lines("ledger.rs", "pub(crate) mod a;\nmod tests {\n    use super::*;\n}"), none);
    assert_eq!(
        lines("lib.rs", "pub use crate::engine::Engine;\nmod __private {\n    pub use crate::idem::Idem;\n}"),
        none
    );
    assert_eq!(lines("testing/suite.rs", "use super::Clock;\nuse crate::{Idem, ledger::Store};"), none);
    assert_eq!(lines("id.rs", "impl Id { fn f(self) -> Self { self } }\npub(crate) struct A;"), none);
}

#[test]
fn a_driver_outside_of_the_store_is_found() {
    assert_eq!(STORAGE.lines("idem-runtime/src/engine.rs", "\nuse rusqlite::Connection;"), [2]);
    assert_eq!(STORAGE.lines("idem-runtime/src/ledger/front.rs", "type Pool = sqlx::PgPool;"), [1]);
    assert!(STORAGE.lines("idem-runtime/src/store/sqlite.rs", "use rusqlite::Connection;").is_empty());
}
