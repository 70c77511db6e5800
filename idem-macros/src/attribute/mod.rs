//! Reads `#[idempotent(…)]` into words and spans; what a value means is asked by `validate`.
//!
//! It must not know the function it stands on.

mod value;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, Token, parenthesized, token};

use crate::mistakes::Mistakes;
use crate::words::{ARGUMENTS, Table, Takes, instead, near_miss};

/// An attribute as it was written, or the list behind one of its arguments: known arguments, none too often.
#[derive(Debug)]
pub(crate) struct Attribute {
    arguments: Vec<Argument>,
    /// Names whose value could not be read: that was told, so they do not count as missing.
    broken: Vec<String>,
    /// Whether there was not a token to read.
    empty: bool,
    span: Span,
    table: &'static Table,
}

/// One argument.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) written: Written,
}

/// What stands behind an argument's name.
#[derive(Debug)]
pub(crate) enum Written {
    /// Nothing: a bare word.
    Bare,
    /// `= value`.
    Value(Expr),
    /// `(…)`.
    List(Attribute),
}

impl Attribute {
    /// Reads all of `#[idempotent(…)]`; an argument with a mistake is told and left out.
    pub(crate) fn read(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        Self::read_as(&ARGUMENTS, tokens, Span::call_site(), mistakes)
    }

    /// Reads what may hold the arguments of that table.
    pub(crate) fn read_as(table: &'static Table, tokens: TokenStream, span: Span, mistakes: &mut Mistakes) -> Self {
        let empty = tokens.is_empty();
        let mut written = Vec::new();
        let mut broken = Vec::new();
        let parser = |input: ParseStream<'_>| -> syn::Result<()> {
            while !input.is_empty() {
                let name = input.fork().call(Ident::parse_any).map(|name| name.to_string()).unwrap_or_default();
                match argument(input, table, mistakes) {
                    Ok(argument) => written.push(argument),
                    Err(error) => {
                        mistakes.at(error.span(), table.shape, format!("write `{}`", table.example(&name)));
                        broken.push(name);
                        skip_to_comma(input)?;
                    }
                }
                take_comma(input, mistakes)?;
            }
            Ok(())
        };
        if let Err(error) = parser.parse2(tokens) {
            mistakes.syntax(error);
        }
        Self { arguments: sift(written, table, mistakes), broken, empty, span, table }
    }

    /// Whether the argument was written, in whatever way.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.find(name).is_some() || self.broken.iter().any(|broken| broken == name)
    }

    /// Whether nothing was written.
    pub(crate) fn says_nothing(&self) -> bool {
        self.empty
    }

    /// All arguments, in the order they were written.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter()
    }

    /// The argument of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&Argument> {
        self.all(name).next()
    }

    /// The arguments of that name, where it may be written more than once.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(move |argument| argument.name == name)
    }

    /// The attribute itself, or the name that its list stands behind.
    pub(crate) fn span(&self) -> Span {
        self.span
    }
}

fn argument(input: ParseStream<'_>, table: &'static Table, mistakes: &mut Mistakes) -> syn::Result<Argument> {
    let name = input.call(Ident::parse_any)?;
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(Argument { name, written: Written::Bare });
    }
    let known = table.find(&name.to_string());
    if let Some(Takes::List(inner)) = known.map(|known| &known.takes)
        && input.peek(token::Paren)
    {
        let list;
        parenthesized!(list in input);
        let list = Attribute::read_as(inner, list.parse()?, name.span(), mistakes);
        return Ok(Argument { name, written: Written::List(list) });
    }
    input.parse::<Token![=]>()?;
    let value = ungrouped(input.parse()?);
    Ok(Argument { name, written: Written::Value(value) })
}

/// The comma between two arguments; without one the next argument is read all the same.
fn take_comma(input: ParseStream<'_>, mistakes: &mut Mistakes) -> syn::Result<()> {
    if input.peek(Token![,]) {
        input.parse::<Token![,]>()?;
    } else if let Ok(next) = input.fork().parse::<TokenTree>() {
        mistakes.at(next.span(), format!("a comma is missing before `{next}`"), format!("write `, {next}`"));
        if !matches!(next, TokenTree::Ident(_)) {
            skip_to_comma(input)?;
        }
    }
    Ok(())
}

/// A value that came through `macro_rules!` is wrapped in a group without delimiters.
fn ungrouped(value: Expr) -> Expr {
    match value {
        Expr::Group(group) => ungrouped(*group.expr),
        other => other,
    }
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

/// Known words, none too often: the one place where both are checked.
fn sift(written: Vec<Argument>, table: &Table, mistakes: &mut Mistakes) -> Vec<Argument> {
    let names = table.names();
    let Table { one, of, .. } = table;
    let mut kept: Vec<Argument> = Vec::new();
    for argument in written {
        let name = argument.name.to_string();
        let span = argument.name.span();
        let Some(known) = table.find(&name) else {
            let example = || table.example(near_miss(&name, &names).unwrap_or_default()).to_owned();
            let message = format!("unknown {one} `{name}`{of}{}", instead(&name, &format!("{one}s"), &names));
            mistakes.at(span, message, format!("write `{}`", inside(table, &name).unwrap_or_else(example)));
            continue;
        };
        let again = kept.iter().any(|earlier| earlier.name == name);
        if again && !matches!(known.takes, Takes::Several) {
            mistakes.at(span, format!("{one} `{name}`{of} is given twice"), format!("remove the second `{name}`"));
        } else {
            kept.push(argument);
        }
    }
    kept
}

/// An example of the list that knows the name.
fn inside(table: &Table, name: &str) -> Option<String> {
    table.known.iter().find_map(|known| match &known.takes {
        Takes::List(list) => Some(format!("{}({})", known.name, list.find(name)?.example)),
        Takes::One | Takes::Several => None,
    })
}

/// How an argument of `#[idempotent(…)]` is typed.
pub(crate) fn example(name: &str) -> &'static str {
    ARGUMENTS.find(name).map_or("", |known| known.example)
}
