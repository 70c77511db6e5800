//! The attribute `#[idempotent]` and the derive `EffectError`, re-exported by `idem_runtime`, where their manual stands.
//!
//! What it is for: one pass from words to tokens. `attribute` and `signature` read what was written, `validate` finds
//! every mistake at once and makes a model that cannot be wrong, `expand` turns the model into one call.
//! What it must not know: how a ledger works. It names nothing but `idem_runtime::__private` and `core`; the derive
//! names the trait that it implements.

mod attribute;
mod duration;
mod effect_error;
mod expand;
mod harness;
mod key;
mod marks;
mod mistakes;
mod model;
mod path;
mod pattern;
mod scope;
mod signature;
#[cfg(test)]
mod tests;
mod text;
mod tool_set;
mod types;
mod validate;
mod words;

use proc_macro2::TokenStream;

use crate::attribute::Attribute;
use crate::mistakes::Mistakes;
use crate::model::Home;
use crate::signature::Reading;
use crate::validate::Kind;

/// Makes an async tool function safe to retry: one intended effect, however often the call is attempted.
///
/// The manual, with every argument and what is refused, is on the page of `idem_runtime::idempotent`.
///
/// `IDEM_MACROS_DEBUG=send_refund cargo build` prints what became of the tool `send_refund`.
#[proc_macro_attribute]
pub fn idempotent(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(arguments.into(), item.into()).into()
}

/// Describes a tool that needs no ledger, because it only reads: `#[tool(effect = "read")]`. With any other effect and a `scope` it
/// is the same as `#[idempotent]`.
///
/// The function stays as it is; beside it stands `…_entry`, which makes it one of a `ToolSet`.
#[proc_macro_attribute]
pub fn tool(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand_tool(arguments.into(), item.into()).into()
}

/// A tool set of these tools: `tools![send_refund(bank), list_orders, Billing::charge(billing)]` is
/// `ToolSet::new([send_refund_entry(bank), list_orders_entry(), Billing::charge_entry(billing)])`, where each entry stands beside
/// a tool that `#[idempotent]` or `#[tool]` described. A function without either has none.
#[proc_macro]
pub fn tools(tools: proc_macro::TokenStream) -> proc_macro::TokenStream {
    tool_set::expand(tools.into()).into()
}

/// `#[idempotent]` for tools of an rmcp server: the same words, and `crate = ::idem_rmcp` where nothing else is said.
///
/// Beside a tool in an inherent impl stands `NAME_spec()`, its description, for `idem_rmcp::Adapter::guard`. The chapter is on
/// the front page of `idem_rmcp`, which exports this under the name `idempotent`.
#[proc_macro_attribute]
pub fn idempotent_for_rmcp(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand_for(Home::Rmcp, arguments.into(), item.into()).into()
}

/// Says of each error of a type what it proves about the effect: nothing happened, or nothing is known.
///
/// | mark | the error proves |
/// | --- | --- |
/// | `#[effect(retryable)]` | that nothing happened; another attempt may succeed |
/// | `#[effect(final)]` | that nothing happened, and no attempt will succeed |
/// | `#[effect(unknown)]`, or none | nothing |
/// | `#[effect(transparent)]` | what the error in its field proves |
///
/// The marks stand on the variants of an enum, or on a struct. `transparent` asks the only field, or the one that is
/// marked `#[effect(source)]`, or else `#[source]` or `#[from]`; its type has to implement `EffectError` too.
/// `#[effect(crate = path)]` on the type says where `idem_runtime` is, if not at `::idem_runtime`.
///
/// A "no effect" is proof only from a client that never sends again by itself: switch a client's own retries off before
/// its errors are called `retryable` or `final`.
#[proc_macro_derive(EffectError, attributes(effect))]
pub fn effect_error(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    effect_error::derive(item.into()).into()
}

/// The module of tests of a tool that has the word `harness`, behind `idem_runtime::harness!`, which says first where the
/// runtime is.
#[doc(hidden)]
#[proc_macro]
pub fn harness_at(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    harness::expand(tokens.into()).into()
}

/// The whole macro on tokens that also exist outside the compiler, so that tests can call it.
fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand_for(Home::Runtime, arguments, item)
}

fn expand_for(home: Home, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::new();
    let attribute = Attribute::read(arguments, &mut mistakes);
    let item = match signature::read(item, &mut mistakes) {
        Reading::Function(item) => item,
        Reading::Other(tokens) => return mistakes.beside(tokens),
    };
    let plain = item.unguarded();
    let name = item.name.clone();
    let expansion = match validate::validate(home, &attribute, *item, &mut mistakes) {
        Some(tool) if mistakes.is_empty() => expand::expand(&tool),
        _ => mistakes.beside(plain),
    };
    print_if_asked(&name, &expansion);
    expansion
}

/// `#[tool]` on tokens.
fn expand_tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::new();
    let attribute = Attribute::read(arguments.clone(), &mut mistakes);
    let read = match signature::read(item.clone(), &mut mistakes) {
        Reading::Function(item) => item,
        Reading::Other(tokens) => return mistakes.beside(tokens),
    };
    let plain = read.unguarded();
    match validate::kind(&attribute, &read, &mut mistakes) {
        Some(Kind::Guarded) => expand(arguments, item),
        Some(Kind::Reader) => match validate::reader(&attribute, *read, &mut mistakes) {
            Some(tool) if mistakes.is_empty() => expand::expand_reader(&tool, &plain),
            _ => mistakes.beside(plain),
        },
        None => mistakes.beside(plain),
    }
}

/// `IDEM_MACROS_DEBUG=name`: shows the expansion of that one tool while it compiles.
fn print_if_asked(name: &str, expansion: &TokenStream) {
    if std::env::var("IDEM_MACROS_DEBUG").is_ok_and(|asked| asked == name) {
        eprintln!("{expansion}");
    }
}
