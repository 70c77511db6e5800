//! Reads `#[idempotent(…)]` into words and spans; what a value means is asked by `validate`.
//!
//! It must not know the function it stands on.

mod value;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, Token};

use crate::mistakes::Mistakes;
use crate::words::{ARGUMENTS, instead, near_miss};

/// The attribute as it was written: known arguments, none twice.
#[derive(Debug)]
pub(crate) struct Attribute {
    arguments: Vec<Argument>,
    /// Names whose value could not be read: that was told, so they do not count as missing.
    broken: Vec<String>,
    span: Span,
}

/// One argument.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// `None` for a bare word.
    pub(crate) value: Option<Expr>,
}

impl Attribute {
    /// Reads all of it; an argument with a mistake is told and left out.
    pub(crate) fn read(tokens: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut written = Vec::new();
        let mut broken = Vec::new();
        let parser = |input: ParseStream<'_>| -> syn::Result<()> {
            while !input.is_empty() {
                let name = input.fork().call(Ident::parse_any).map(|name| name.to_string()).unwrap_or_default();
                match argument(input) {
                    Ok(argument) => written.push(argument),
                    Err(error) => {
                        let cure = Some(example(&name)).filter(|cure| !cure.is_empty()).unwrap_or(ARGUMENTS[0].example);
                        mistakes.at(error.span(), "an argument is a word, `=` and a value", format!("write `{cure}`"));
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
        Self { arguments: sift(written, mistakes), broken, span: Span::call_site() }
    }

    /// Whether the argument was written, in whatever way.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.find(name).is_some() || self.broken.iter().any(|broken| broken == name)
    }

    /// The argument of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// The attribute itself.
    pub(crate) fn span(&self) -> Span {
        self.span
    }
}

fn argument(input: ParseStream<'_>) -> syn::Result<Argument> {
    let name = input.call(Ident::parse_any)?;
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(Argument { name, value: None });
    }
    input.parse::<Token![=]>()?;
    let value = ungrouped(input.parse()?);
    Ok(Argument { name, value: Some(value) })
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

/// Known words, each once: the one place where both are checked.
fn sift(written: Vec<Argument>, mistakes: &mut Mistakes) -> Vec<Argument> {
    let names: Vec<&str> = ARGUMENTS.iter().map(|known| known.name).collect();
    let mut kept: Vec<Argument> = Vec::new();
    for argument in written {
        let name = argument.name.to_string();
        let span = argument.name.span();
        if !names.contains(&name.as_str()) {
            let example = near_miss(&name, &names).map_or(ARGUMENTS[0].example, example);
            mistakes.at(
                span,
                format!("unknown argument `{name}`{}", instead(&name, "arguments", &names)),
                format!("write `{example}`"),
            );
        } else if kept.iter().any(|earlier| earlier.name == name) {
            mistakes.at(span, format!("argument `{name}` is given twice"), format!("remove the second `{name}`"));
        } else {
            kept.push(argument);
        }
    }
    kept
}

/// How an argument is typed.
pub(crate) fn example(name: &str) -> &'static str {
    ARGUMENTS.iter().find(|known| known.name == name).map_or("", |known| known.example)
}
