//! Reads the value of one argument as what it should be: text, number, word, path or expression.
//!
//! It must not know what is done with the value.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Expr, ExprLit, Lit, Path};

use super::{Argument, Attribute, Written};
use crate::duration::{self, Length};
use crate::mistakes::Mistakes;
use crate::text::Text;
use crate::words::{Choice, instead, list, near_miss, words_of};

impl Attribute {
    /// `name = "text"`.
    pub(crate) fn text(&self, name: &str, mistakes: &mut Mistakes) -> Option<Text> {
        let argument = self.find(name)?;
        argument.as_text().or_else(|| self.refuse(argument, "text in quotes", mistakes))
    }

    /// `name = "text"` that says something.
    pub(crate) fn wording(&self, name: &str, mistakes: &mut Mistakes) -> Option<String> {
        let text = self.text(name, mistakes)?;
        if text.as_str().trim().is_empty() {
            mistakes.at(text.span(), format!("`{name}` is empty"), format!("write `{}`", self.table.example(name)));
            return None;
        }
        Some(text.as_str().to_owned())
    }

    /// `name = "text"` or `name = ["text", "text"]`.
    pub(crate) fn texts(&self, name: &str, mistakes: &mut Mistakes) -> Vec<Text> {
        let wanted = "text in quotes, or a list of it";
        let mut texts = Vec::new();
        for argument in self.all(name) {
            let values: Vec<&Expr> = match &argument.written {
                Written::Value(Expr::Array(array)) => array.elems.iter().collect(),
                Written::Value(value) => vec![value],
                Written::Bare | Written::List(_) => {
                    texts.extend(self.refuse::<Text>(argument, wanted, mistakes));
                    continue;
                }
            };
            for value in values {
                texts.extend(as_text(value).or_else(|| self.refuse_value(argument, value, wanted, mistakes)));
            }
        }
        texts
    }

    /// `name = 3`, from `least`.
    pub(crate) fn number(&self, name: &str, least: u32, mistakes: &mut Mistakes) -> Option<u32> {
        let argument = self.find(name)?;
        let number = match argument.literal() {
            Some(Lit::Int(number)) if number.suffix().is_empty() => number.base10_parse().ok(),
            _ => None,
        };
        let wanted = || format!("a whole number from {least} to 4294967295");
        number.filter(|number| *number >= least).or_else(|| self.refuse(argument, &wanted(), mistakes))
    }

    /// `name = "10m"`.
    pub(crate) fn length(&self, name: &str, mistakes: &mut Mistakes) -> Option<Length> {
        let text = self.text(name, mistakes)?;
        let help = || format!("write `{}`", self.table.example(name));
        duration::read(&text).map_err(|message| mistakes.at(text.span(), message, help())).ok()
    }

    /// `name(…)`.
    pub(crate) fn list(&self, name: &str, mistakes: &mut Mistakes) -> Option<&Attribute> {
        let argument = self.find(name)?;
        match &argument.written {
            Written::List(list) => Some(list),
            Written::Bare | Written::Value(_) => self.refuse(argument, "its own arguments in parentheses", mistakes),
        }
    }

    /// `name = word`, one of these.
    pub(crate) fn word(&self, name: &str, words: &[&'static str], mistakes: &mut Mistakes) -> Option<&'static str> {
        let argument = self.find(name)?;
        let Written::Value(Expr::Path(path)) = &argument.written else {
            return self.refuse(argument, &format!("one of the words {}", list(words)), mistakes);
        };
        let written = path.path.get_ident().map(Ident::to_string).unwrap_or_default();
        let found = words.iter().find(|word| **word == written).copied();
        if found.is_none() {
            let message = format!("unknown word `{}` for `{name}`{}", text_of(path), instead(&written, "words", words));
            let cure = near_miss(&written, words).unwrap_or(words[0]);
            mistakes.on(path, message, format!("write `{name} = {cure}`"));
        }
        found
    }

    /// `name`, `name = true` or `name = false`.
    pub(crate) fn flag(&self, name: &str, mistakes: &mut Mistakes) -> Option<bool> {
        let argument = self.find(name)?;
        match (&argument.written, argument.literal()) {
            (Written::Bare, _) => Some(true),
            (_, Some(Lit::Bool(flag))) => Some(flag.value),
            _ => self.refuse(argument, "`true` or `false`", mistakes),
        }
    }

    /// `name = "word"`, one of the table's.
    pub(crate) fn choice(&self, name: &str, choices: &'static [Choice], mistakes: &mut Mistakes) -> Option<Choice> {
        let text = self.text(name, mistakes)?;
        let written = text.as_str();
        let words = words_of(choices);
        let found = choices.iter().find(|choice| choice.word == written).copied();
        if found.is_none() {
            let cure = near_miss(written, &words).unwrap_or(words[0]);
            mistakes.at(
                text.span(),
                format!("unknown word `{written}` for `{name}`{}", instead(written, "words", &words)),
                format!("write `{name} = \"{cure}\"`"),
            );
        }
        found
    }

    /// `name = some::path`; `"some::path"` too, which is how other macros' `crate` argument is written.
    pub(crate) fn path(&self, name: &str, mistakes: &mut Mistakes) -> Option<Path> {
        let argument = self.find(name)?;
        let path = match (&argument.written, argument.literal()) {
            (Written::Value(Expr::Path(path)), _) if path.qself.is_none() && path.attrs.is_empty() => {
                Some(path.path.clone())
            }
            (_, Some(Lit::Str(text))) => text.parse_with(Path::parse_mod_style).ok(),
            _ => None,
        };
        path.or_else(|| self.refuse(argument, "a path", mistakes))
    }

    /// `name = any.expression()`.
    pub(crate) fn expression(&self, name: &str, mistakes: &mut Mistakes) -> Option<Expr> {
        let argument = self.find(name)?;
        match &argument.written {
            Written::Value(value) => Some(value.clone()),
            Written::Bare | Written::List(_) => self.refuse(argument, "an expression", mistakes),
        }
    }

    /// Tells that the value is of the wrong kind.
    fn refuse<T>(&self, argument: &Argument, wanted: &str, mistakes: &mut Mistakes) -> Option<T> {
        match &argument.written {
            Written::Value(value) => self.refuse_value(argument, value, wanted, mistakes),
            Written::Bare | Written::List(_) => self.refuse_value(argument, &argument.name, wanted, mistakes),
        }
    }

    fn refuse_value<T>(
        &self,
        argument: &Argument,
        value: impl ToTokens,
        wanted: &str,
        mistakes: &mut Mistakes,
    ) -> Option<T> {
        let name = argument.name.to_string();
        let message = format!("{} `{name}` takes {wanted}", self.table.one);
        mistakes.on(value, message, format!("write `{}`", self.table.example(&name)));
        None
    }
}

impl Argument {
    /// Where a mistake of the value stands; under the name, if there is none.
    pub(crate) fn place(&self) -> TokenStream {
        match &self.written {
            Written::Value(value) => value.to_token_stream(),
            Written::Bare | Written::List(_) => self.name.to_token_stream(),
        }
    }

    /// The value as text, if it is text.
    pub(crate) fn as_text(&self) -> Option<Text> {
        match &self.written {
            Written::Value(value) => as_text(value),
            Written::Bare | Written::List(_) => None,
        }
    }

    /// The arguments of its own, if it has them.
    pub(crate) fn as_list(&self) -> Option<&Attribute> {
        match &self.written {
            Written::List(list) => Some(list),
            Written::Bare | Written::Value(_) => None,
        }
    }

    fn literal(&self) -> Option<&Lit> {
        match &self.written {
            Written::Value(Expr::Lit(ExprLit { lit, .. })) => Some(lit),
            _ => None,
        }
    }
}

fn as_text(value: &Expr) -> Option<Text> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(Text::new(text)),
        _ => None,
    }
}

/// A path as it was written, without the blanks between its tokens.
fn text_of(path: impl ToTokens) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}
