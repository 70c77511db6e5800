//! What the function itself must be: async, owned, giving a `Result`.
//!
//! It must not know the attribute's arguments.

use syn::{ReturnType, Safety, Type};

use crate::mistakes::Mistakes;
use crate::model::Shape;
use crate::signature::{Item, TakesSelf, boxed_block};
use crate::types;

/// The function's form and what it gives.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) shape: Shape,
    pub(super) result: Type,
}

/// Checks all of it.
pub(super) fn check(item: &Item, mistakes: &mut Mistakes) -> Option<Function> {
    let before = mistakes.count();
    refuse_qualifiers(item, mistakes);
    refuse_receiver(item, mistakes);
    let function = shape(item, mistakes);
    if let Some(function) = &function {
        check_result(item, &function.result, mistakes);
    }
    function.filter(|_| mistakes.count() == before)
}

fn refuse_qualifiers(item: &Item, mistakes: &mut Mistakes) {
    let (sig, name) = (&item.sig, &item.name);
    let plain = format!("write `async fn {name}`");
    if let Some(token) = &sig.constness {
        mistakes.on(token, format!("tool function `{name}` must not be const"), &plain);
    }
    if let Safety::Unsafe(token) = &sig.safety {
        mistakes.on(token, format!("tool function `{name}` must not be unsafe"), &plain);
    }
    if let Some(abi) = &sig.abi {
        mistakes.on(abi, format!("tool function `{name}` must not be extern"), &plain);
    }
    if let Some(variadic) = &sig.variadic {
        let message = format!("tool function `{name}` must not be variadic: what it is called with must be known");
        mistakes.on(variadic, message, "write a `Vec` of the arguments");
    }
}

fn refuse_receiver(item: &Item, mistakes: &mut Mistakes) {
    let Some(receiver) = &item.receiver else {
        return;
    };
    let name = &item.name;
    match receiver.takes {
        TakesSelf::ForChange => mistakes.on(
            &receiver.written,
            format!("tool function `{name}` takes `&mut self`: a repeat would find another self"),
            "write `&self`",
        ),
        TakesSelf::MutableBinding => mistakes.on(
            &receiver.written,
            format!("tool function `{name}` takes `mut self`"),
            "write `self`, and `let mut this = self;` in the body",
        ),
        TakesSelf::ByReference | TakesSelf::ByValue => {}
    }
}

fn shape(item: &Item, mistakes: &mut Mistakes) -> Option<Function> {
    let (sig, name) = (&item.sig, &item.name);
    let written = match &sig.output {
        ReturnType::Type(_, ty) => Some(&**ty),
        ReturnType::Default => None,
    };
    let promised = written.and_then(|ty| types::boxed_output(ty).or_else(|| types::future_output(ty)));
    if sig.asyncness.is_none() {
        if let Some(output) = written.and_then(types::boxed_output)
            && let Some((pin, body)) = boxed_block(&item.body)
        {
            return Some(Function { shape: Shape::Boxed { pin, body }, result: output.clone() });
        }
        if sig.constness.is_none() {
            let result = promised.map(|output| format!(" and `-> {}`", types::text(output))).unwrap_or_default();
            let message = format!("tool function `{name}` must be async");
            mistakes.on(sig.fn_token, message, format!("write `async fn {name}`{result}"));
        }
    }
    let Some(result) = promised.filter(|_| sig.asyncness.is_none()).or(written) else {
        let message =
            format!("tool function `{name}` gives no result: a repeat must be told what came of the first call");
        mistakes.on(&sig.ident, message, "write `-> Result<(), E>`, with your error type for `E`");
        return None;
    };
    Some(Function { shape: Shape::Async { body: item.body.clone() }, result: result.clone() })
}

fn check_result(item: &Item, result: &Type, mistakes: &mut Mistakes) {
    let name = &item.name;
    if let Some(written) = types::impl_trait(result) {
        let message =
            format!("tool function `{name}` gives `impl Trait`: a result that is kept needs a type with a name");
        mistakes.on(written, message, "write the type itself, as in `-> Result<Receipt, E>`");
    } else if let Some(written) = types::borrow(result) {
        let message = format!("tool function `{name}` gives a borrowed result: a repeat has nothing to borrow from");
        mistakes.on(written, message, "write an owned type, such as `String` for `&str`");
    } else if !types::may_be_result(result) {
        let message = format!("tool function `{name}` gives no `Result`: a refused call needs an error to be told by");
        mistakes.on(result, message, "write `-> Result<T, E>`, with your types for `T` and `E`");
    }
}
