//! Finds every mistake at once and makes the model.
//!
//! It must not write tokens for the compiler; that is `expand`'s.

mod descriptor;
mod entry;
mod function;
mod harness;
mod hooks;
mod identity;
mod parameters;
mod paths;
mod reader;
mod recovery;
mod resources;
mod settings;
mod steps;

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Expr, Path, Visibility};

use crate::attribute::Attribute;
use crate::mistakes::Mistakes;
use crate::model::{Caller, Home, Place, Receiver, Shown, Sibling, Standing, Tool};
use crate::signature::{Item, Me, TakesSelf};
use crate::types::{self, TakesCall};

use self::parameters::Parameters;

/// The model, or `None` after mistakes were told. Each check runs whatever the others find.
pub(crate) fn validate(home: Home, attribute: &Attribute, item: Item, mistakes: &mut Mistakes) -> Option<Tool> {
    let function = function::check(&item, mistakes);
    let context = attribute.expression("ctx", mistakes);
    let parameters = Parameters::read(attribute, &item, context.as_ref(), mistakes);
    let caller = caller(context, &parameters, attribute, mistakes);
    let identity = identity::read(attribute, &item, &parameters, mistakes);
    let settings = settings::read(attribute, mistakes);
    let place = place(attribute, &item, &parameters, mistakes);
    let check = attribute.path("validate", mistakes);
    let recovery = recovery::read(attribute, mistakes);
    hooks::check(attribute, &item, &parameters, mistakes);
    let classify = attribute.path("classify", mistakes);
    let refuse = attribute.path("refuse", mistakes);
    let runtime = runtime(home, attribute, mistakes);
    let wanted = attribute.flag("outcome", mistakes).unwrap_or(true);

    let recovery = recovery?;
    let paths = [&check, &classify, &refuse].into_iter().flatten().chain(recovery.paths());
    let standing = standing(&item, paths);
    let sibling = sibling(wanted, attribute, &item, standing);
    let shown = shown(home, &item, standing);
    let descriptor = descriptor::read(&item, &parameters, &recovery, sibling, caller.as_ref(), mistakes);
    let found = harness::Found {
        item: &item,
        parameters: &parameters,
        function: function.as_ref(),
        caller: caller.as_ref(),
        standing,
        descriptor: descriptor.as_ref(),
    };
    let harness = harness::read(attribute, &found, mistakes);

    let entry = entry::read(attribute, &item, &parameters, sibling, caller.as_ref(), mistakes);
    // A router is a set of tools already, and its tools take what only a request has.
    let entry = entry.filter(|_| home == Home::Runtime);
    let (function, mut identity, settings) = (function?, identity?, settings?);
    let sig = item.named_signature();
    let mut steps = parameters.steps();
    steps.append(&mut identity.parts);
    Some(Tool {
        runtime,
        spec: settings.into_spec(&item, identity, parameters.described(), recovery),
        receiver: item.receiver.as_ref().map(Receiver::from),
        attrs: item.attrs,
        vis: item.vis,
        sig,
        shape: function.shape,
        result: function.result,
        caller: caller?,
        inputs: parameters.into_inputs(),
        steps,
        place,
        validate: check,
        classify,
        refuse,
        standing,
        shown,
        sibling,
        descriptor,
        harness,
        entry,
    })
}

pub(crate) use reader::{Kind, kind, reader};

impl From<&Me> for Receiver {
    fn from(me: &Me) -> Self {
        Self { token: me.token, plain: me.plain, span: me.written.span() }
    }
}

fn runtime(home: Home, attribute: &Attribute, mistakes: &mut Mistakes) -> TokenStream {
    let usual = match home {
        Home::Runtime => quote!(::idem_runtime),
        Home::Rmcp => quote!(::idem_rmcp),
    };
    attribute.path("crate", mistakes).map_or(usual, |path| quote!(#path))
}

/// A tool of an rmcp server stands in an inherent impl, or is free. A method without visibility could also be a trait's, where
/// a second function would be an error: rmcp's attribute beside it, or its boxed future, says that it is none.
fn shown(home: Home, item: &Item, standing: Standing) -> Shown {
    let of_trait = item.sig.generics.lifetimes().any(|life| life.lifetime.ident == "async_trait");
    let beside_tool =
        item.attrs.iter().any(|attr| attr.path().segments.last().is_some_and(|segment| segment.ident == "tool"));
    let inherent = standing == Standing::Free
        || !matches!(item.vis, Visibility::Inherited)
        || beside_tool
        || item.sig.asyncness.is_none();
    if home == Home::Rmcp && inherent && !of_trait { Shown::Everybody } else { Shown::Nobody }
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
            let place = parameters.before_call();
            Some(Caller::Parameter { parameter: Box::new(parameter.clone()), takes, place })
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

fn standing<'p>(item: &Item, mut paths: impl Iterator<Item = &'p Path>) -> Standing {
    // Only an impl block knows `Self`.
    let names_self = paths.any(|path| path.segments.first().is_some_and(|first| first.ident == "Self"));
    let mentions_self = || {
        let signature = quote::ToTokens::to_token_stream(&item.sig).to_string();
        names_self
            || signature.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == "Self")
    };
    match item.receiver {
        Some(_) => Standing::Method,
        None if mentions_self() => Standing::Associated,
        None => Standing::Free,
    }
}

/// A method without visibility may stand in a trait's impl, where a second function would be an error; with `harness` on
/// it, it does not.
fn sibling(wanted: bool, attribute: &Attribute, item: &Item, standing: Standing) -> Sibling {
    let may_stand = !matches!(item.vis, Visibility::Inherited) || attribute.mentions("harness");
    if wanted && (standing == Standing::Free || may_stand) { Sibling::Beside } else { Sibling::None }
}
