//! Reads the value of one argument as what it should be: text, number, word, path or expression.
//!
//! It must not know what is done with the value.

use quote::ToTokens;
use syn::{Expr, ExprLit, Lit, Path};

use super::{Argument, Attribute, example};
use crate::mistakes::Mistakes;
use crate::text::Text;
use crate::words::{Choice, instead, near_miss, words_of};

impl Attribute {
    /// `name = "text"`.
    pub(crate) fn text(&self, name: &str, mistakes: &mut Mistakes) -> Option<Text> {
        let argument = self.find(name)?;
        argument.as_text().or_else(|| argument.refuse("text in quotes", mistakes))
    }

    /// `name = "text"` that says something.
    pub(crate) fn wording(&self, name: &str, mistakes: &mut Mistakes) -> Option<String> {
        let text = self.text(name, mistakes)?;
        if text.as_str().trim().is_empty() {
            mistakes.at(text.span(), format!("`{name}` is empty"), format!("write `{}`", example(name)));
            return None;
        }
        Some(text.as_str().to_owned())
    }

    /// `name = "text"` or `name = ["text", "text"]`.
    pub(crate) fn texts(&self, name: &str, mistakes: &mut Mistakes) -> Vec<Text> {
        let Some(argument) = self.find(name) else {
            return Vec::new();
        };
        let wanted = "text in quotes, or a list of it";
        let values: Vec<&Expr> = match &argument.value {
            Some(Expr::Array(array)) => array.elems.iter().collect(),
            Some(value) => vec![value],
            None => return argument.refuse(wanted, mistakes).unwrap_or_default(),
        };
        values
            .into_iter()
            .filter_map(|value| as_text(value).or_else(|| argument.refuse_value(value, wanted, mistakes)))
            .collect()
    }

    /// `name = 3`, from 1.
    pub(crate) fn number(&self, name: &str, mistakes: &mut Mistakes) -> Option<u32> {
        let argument = self.find(name)?;
        let number = match argument.literal() {
            Some(Lit::Int(number)) if number.suffix().is_empty() => number.base10_parse().ok(),
            _ => None,
        };
        number.filter(|number| *number > 0).or_else(|| argument.refuse("a whole number from 1 to 4294967295", mistakes))
    }

    /// `name`, `name = true` or `name = false`.
    pub(crate) fn flag(&self, name: &str, mistakes: &mut Mistakes) -> Option<bool> {
        let argument = self.find(name)?;
        match (&argument.value, argument.literal()) {
            (None, _) => Some(true),
            (_, Some(Lit::Bool(flag))) => Some(flag.value),
            _ => argument.refuse("`true` or `false`", mistakes),
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
        let path = match (&argument.value, argument.literal()) {
            (Some(Expr::Path(path)), _) if path.qself.is_none() && path.attrs.is_empty() => Some(path.path.clone()),
            (_, Some(Lit::Str(text))) => text.parse_with(Path::parse_mod_style).ok(),
            _ => None,
        };
        path.or_else(|| argument.refuse("a path", mistakes))
    }

    /// `name = any.expression()`.
    pub(crate) fn expression(&self, name: &str, mistakes: &mut Mistakes) -> Option<Expr> {
        let argument = self.find(name)?;
        argument.value.clone().or_else(|| argument.refuse("an expression", mistakes))
    }
}

impl Argument {
    fn literal(&self) -> Option<&Lit> {
        match &self.value {
            Some(Expr::Lit(ExprLit { lit, .. })) => Some(lit),
            _ => None,
        }
    }

    fn as_text(&self) -> Option<Text> {
        self.value.as_ref().and_then(as_text)
    }

    /// Tells that the value is of the wrong kind.
    fn refuse<T>(&self, wanted: &str, mistakes: &mut Mistakes) -> Option<T> {
        match &self.value {
            Some(value) => self.refuse_value(value, wanted, mistakes),
            None => self.refuse_value(&self.name, wanted, mistakes),
        }
    }

    fn refuse_value<T>(&self, value: impl ToTokens, wanted: &str, mistakes: &mut Mistakes) -> Option<T> {
        let name = self.name.to_string();
        mistakes.on(value, format!("argument `{name}` takes {wanted}"), format!("write `{}`", example(&name)));
        None
    }
}

fn as_text(value: &Expr) -> Option<Text> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(Text::new(text)),
        _ => None,
    }
}
