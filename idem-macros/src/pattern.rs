//! The names that a parameter's pattern binds, as paths below the parameter: `a` of `Parameters(a)` is its field `0`.
//!
//! It must not know what the names are used for. A name whose place cannot be told (behind `..`) is left out.

use quote::ToTokens;
use syn::Pat;

/// A name and where it is found.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// One step down.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The only field of a tuple struct, which serde writes as if it were not there.
    pub(crate) transparent: bool,
}

/// All of them, in the order of the pattern. A bare name is the parameter itself and does not count.
pub(crate) fn bindings(pattern: &Pat) -> Vec<Binding> {
    let mut found = Vec::new();
    collect(pattern, &mut Vec::new(), &mut found);
    found
}

fn collect(pattern: &Pat, above: &mut Vec<Field>, found: &mut Vec<Binding>) {
    match pattern {
        Pat::Ident(_) if above.is_empty() => {}
        Pat::Ident(pat) => {
            let name = syn::ext::IdentExt::unraw(&pat.ident).to_string();
            found.push(Binding { name, fields: above.clone() });
        }
        Pat::Paren(pat) => collect(&pat.pat, above, found),
        Pat::Reference(pat) => collect(&pat.pat, above, found),
        Pat::Type(pat) => collect(&pat.pat, above, found),
        Pat::Tuple(pat) => numbered(pat.elems.iter(), false, above, found),
        Pat::TupleStruct(pat) => numbered(pat.elems.iter(), pat.elems.len() == 1, above, found),
        Pat::Struct(pat) => {
            for field in &pat.fields {
                let name = field.member.to_token_stream().to_string();
                above.push(Field { name: name.trim_start_matches("r#").to_owned(), transparent: false });
                collect(&field.pat, above, found);
                above.pop();
            }
        }
        _ => {}
    }
}

fn numbered<'p>(
    patterns: impl Iterator<Item = &'p Pat>,
    transparent: bool,
    above: &mut Vec<Field>,
    found: &mut Vec<Binding>,
) {
    for (index, pattern) in patterns.take_while(|pattern| !matches!(pattern, Pat::Rest(_))).enumerate() {
        above.push(Field { name: index.to_string(), transparent });
        collect(pattern, above, found);
        above.pop();
    }
}
