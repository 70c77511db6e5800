//! Finds every mistake at once and makes the model.
//!
//! It must not write tokens for the compiler; that is `expand`'s.

mod function;
mod identity;
mod parameters;
mod paths;
mod settings;
mod steps;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, Visibility};

use crate::attribute::Attribute;
use crate::mistakes::Mistakes;
use crate::model::{Caller, Place, Sibling, Tool};
use crate::signature::{Item, TakesSelf};
use crate::types::{self, TakesCall};

use self::parameters::Parameters;

/// The model, or `None` after mistakes were told. Each check runs whatever the others find.
pub(crate) fn validate(attribute: &Attribute, item: Item, mistakes: &mut Mistakes) -> Option<Tool> {
    let function = function::check(&item, mistakes);
    let context = attribute.expression("ctx", mistakes);
    let parameters = Parameters::read(attribute, &item, context.as_ref(), mistakes);
    let caller = caller(context, &parameters, attribute, mistakes);
    let identity = identity::read(attribute, &item, &parameters, mistakes);
    let settings = settings::read(attribute, mistakes);
    let place = place(attribute, &item, &parameters, mistakes);
    let check = attribute.path("validate", mistakes);
    if check.is_some() {
        refuse_validate(attribute, &item, &parameters, mistakes);
    }
    let classify = attribute.path("classify", mistakes);
    let refuse = attribute.path("refuse", mistakes);
    let runtime = runtime(attribute, mistakes);
    let sibling = sibling(attribute.flag("outcome", mistakes).unwrap_or(true), &item);

    let (function, identity, settings) = (function?, identity?, settings?);
    let sig = item.named_signature();
    let receiver = item.receiver.as_ref().map(|receiver| receiver.token);
    let mut steps = parameters.steps();
    steps.extend(identity.parts);
    Some(Tool {
        runtime,
        spec: settings.into_spec(&item, identity.scope, identity.key, parameters.described()),
        attrs: item.attrs,
        vis: item.vis,
        sig,
        shape: function.shape,
        result: function.result,
        caller: caller?,
        parameters: parameters.into_arguments(),
        steps,
        place,
        receiver,
        validate: check,
        classify,
        refuse,
        sibling,
    })
}

fn runtime(attribute: &Attribute, mistakes: &mut Mistakes) -> TokenStream {
    attribute.path("crate", mistakes).map_or_else(|| quote!(::idem_runtime), |path| quote!(#path))
}

fn caller(
    context: Option<Expr>,
    parameters: &Parameters,
    attribute: &Attribute,
    mistakes: &mut Mistakes,
) -> Option<Caller> {
    let mut calls = parameters.calls();
    let first = calls.next();
    for second in calls {
        mistakes.at(
            second.span,
            format!("parameter `{}` is a second tool call", second.name),
            format!("remove `{}`", second.name),
        );
    }
    match (context, first) {
        (Some(_), Some(call)) => {
            let place = attribute.find("ctx").map_or_else(|| attribute.span(), |argument| argument.name.span());
            let message = format!("`ctx` beside parameter `{}`, which is the tool call already", call.name);
            mistakes.at(place, message, "remove `ctx`");
            None
        }
        (Some(expression), None) => Some(Caller::Expression(Box::new(expression))),
        (None, Some(parameter)) => {
            let takes = types::takes_call(&parameter.ty).unwrap_or(TakesCall::ByValue);
            Some(Caller::Parameter { parameter: Box::new(parameter.clone()), takes })
        }
        (None, None) => Some(Caller::Current),
    }
}

/// Whether the body owns what it needs, so that the caller may go away.
fn place(attribute: &Attribute, item: &Item, parameters: &Parameters, mistakes: &mut Mistakes) -> Place {
    let demanded = attribute.flag("detach", mistakes);
    let receiver = item.receiver.as_ref().filter(|receiver| receiver.takes == TakesSelf::ByReference);
    let borrowed: Vec<_> = parameters
        .arguments()
        .filter_map(|parameter| types::borrow(&parameter.ty).map(|written| (parameter, written)))
        .collect();
    if demanded == Some(true) {
        let name = &item.name;
        if let Some(receiver) = receiver {
            let message = format!("`self` is borrowed, so tool function `{name}` cannot be detached from its caller");
            mistakes.on(&receiver.written, message, "write `self: ::std::sync::Arc<Self>`");
        }
        for (parameter, written) in &borrowed {
            let message = format!(
                "parameter `{}` is borrowed, so tool function `{name}` cannot be detached from its caller",
                parameter.name
            );
            mistakes.on(written, message, format!("write {}", types::owned(&parameter.ty)));
        }
        return Place::Detached;
    }
    let generic = !item.sig.generics.params.is_empty()
        || parameters.arguments().any(|parameter| types::impl_trait(&parameter.ty).is_some());
    if demanded == Some(false) || receiver.is_some() || !borrowed.is_empty() || generic {
        Place::InPlace
    } else {
        Place::Detached
    }
}

fn refuse_validate(attribute: &Attribute, item: &Item, parameters: &Parameters, mistakes: &mut Mistakes) {
    for parameter in parameters.arguments() {
        if let Some(cfg) = parameter.cfgs.first() {
            mistakes.on(
                cfg,
                format!("`validate` beside parameter `{}`, which exists under a condition only", parameter.name),
                "put the `#[cfg]` on two tool functions",
            );
        }
    }
    if let Some(receiver) = item.receiver.as_ref().filter(|receiver| receiver.takes == TakesSelf::ByValue) {
        let place = attribute.find("validate").map_or(receiver.token.span, |argument| argument.name.span());
        mistakes.at(place, "`validate` beside `self` by value, which the body takes", "write `&self`");
    }
}

/// A method without visibility may stand in a trait's impl, where a second function would be an error.
fn sibling(wanted: bool, item: &Item) -> Sibling {
    let mentions_self = || {
        let signature = quote::ToTokens::to_token_stream(&item.sig).to_string();
        signature.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == "Self")
    };
    match (&item.receiver, &item.vis) {
        _ if !wanted => Sibling::None,
        (Some(_), Visibility::Inherited) => Sibling::None,
        (Some(_), _) => Sibling::Method,
        (None, Visibility::Inherited) if mentions_self() => Sibling::None,
        (None, _) if mentions_self() => Sibling::Associated,
        (None, _) => Sibling::Free,
    }
}
