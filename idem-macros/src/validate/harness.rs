//! Whether a tool can have generated tests: they own its arguments, share its state and hand it the call.
//!
//! It must not know how the tests are written.

use proc_macro2::Span;
use syn::{GenericParam, Path};

use crate::attribute::{Attribute, Written};
use crate::mistakes::Mistakes;
use crate::model::{Caller, Descriptor, Harness, Shape, Standing};
use crate::signature::{Item, Parameter};
use crate::types;

use super::function::Function;
use super::parameters::Parameters;

/// Each condition doubles the number of subjects that are written out.
const MOST_CONDITIONS: usize = 3;

/// What the checks have found by then.
pub(super) struct Found<'f> {
    pub(super) item: &'f Item,
    pub(super) parameters: &'f Parameters,
    pub(super) function: Option<&'f Function>,
    pub(super) caller: Option<&'f Caller>,
    pub(super) standing: Standing,
    pub(super) descriptor: Option<&'f Descriptor>,
}

/// The harness, where the attribute has the word.
pub(super) fn read(attribute: &Attribute, found: &Found<'_>, mistakes: &mut Mistakes) -> Option<Harness> {
    let argument = attribute.find("harness")?;
    let fixture = match &argument.written {
        Written::Bare => None,
        Written::Value(_) | Written::List(_) => attribute.path("harness", mistakes),
    };
    let span = argument.name.span();
    if let Some(fixture) = &fixture {
        refuse_module_in_impl(fixture, found, mistakes);
    }
    refuse_generics(found.item, span, mistakes);
    refuse_receiver(found, span, mistakes);
    for parameter in found.parameters.stored() {
        refuse_argument(parameter, mistakes);
    }
    // What the reconciler cannot keep is told for its sake.
    for parameter in found.parameters.state().filter(|_| found.descriptor.is_none()) {
        refuse_state(found.item, parameter, mistakes);
    }
    refuse_context(attribute, found, mistakes);
    refuse_conditions(found.parameters, mistakes);
    Some(Harness { span, fixture })
}

/// A module of tests stands beside a function, not in an impl block.
fn refuse_module_in_impl(fixture: &Path, found: &Found<'_>, mistakes: &mut Mistakes) {
    if found.standing != Standing::Free {
        let name = &found.item.name;
        let message = format!("`harness = …` on method `{name}`: no module of tests can stand in an impl block");
        let path = quote::ToTokens::to_token_stream(fixture).to_string().replace(' ', "");
        let help =
            format!("write `harness` alone, and `idem_runtime::harness!(Type::{name}, {path});` beside the impl block");
        mistakes.on(fixture, message, help);
    }
}

fn refuse_generics(item: &Item, span: Span, mistakes: &mut Mistakes) {
    let open = |param: &&GenericParam| !matches!(param, GenericParam::Lifetime(_));
    let generic = item.sig.generics.params.iter().any(|param| open(&param))
        || item.parameters.iter().any(|parameter| types::impl_trait(&parameter.ty).is_some());
    if generic {
        let message = format!("`harness` on tool function `{}`, which is generic: which types are tested?", item.name);
        mistakes.at(span, message, "put `#[idempotent(…)]` on a function of those types, which calls the generic one");
    }
}

fn refuse_receiver(found: &Found<'_>, span: Span, mistakes: &mut Mistakes) {
    let Some(receiver) = &found.item.receiver else {
        return;
    };
    let name = &found.item.name;
    if matches!(found.function, Some(Function { shape: Shape::Boxed { .. }, .. })) {
        let message = format!(
            "`harness` on method `{name}`, which another attribute has boxed: nothing may stand beside the method of a trait"
        );
        mistakes.at(
            span,
            message,
            "put `#[idempotent(…)]` on a method of the type's own, which the trait's method calls",
        );
    } else if !receiver.plain && !receiver.shared {
        let message = format!("`harness` on method `{name}`, whose `self` the tests cannot lend");
        mistakes.on(&receiver.written, message, "write `&self`, or `self: ::std::sync::Arc<Self>`");
    }
}

fn refuse_argument(parameter: &Parameter, mistakes: &mut Mistakes) {
    if let Some(written) = types::borrow(&parameter.ty) {
        let message =
            format!("parameter `{}` is borrowed, so the fixture of `harness` has nothing to own", parameter.name);
        mistakes.on(written, message, format!("write {}", types::owned(&parameter.ty)));
    }
}

fn refuse_state(item: &Item, parameter: &Parameter, mistakes: &mut Mistakes) {
    let inner = types::shared(&parameter.ty).unwrap_or(&parameter.ty);
    if types::borrow(inner).is_some() || types::borrows_for_change(&parameter.ty) {
        let name = &parameter.name;
        let message =
            format!("state `{name}` borrows, so the fixture of `harness` cannot make one for `{}`", item.name);
        mistakes.on(&parameter.ty, message, "write `&T` or an owned type");
    }
}

/// A call reaches a tool in a parameter, in the task, or in a context that can be made of it.
fn refuse_context(attribute: &Attribute, found: &Found<'_>, mistakes: &mut Mistakes) {
    let expression = matches!(found.caller, Some(Caller::Expression(_)));
    if let Some(context) = attribute.find("ctx").filter(|_| expression && !found.parameters.has_context()) {
        let message = "`harness` beside a `ctx` that is not one parameter: the tests cannot put their call into it";
        let help = "write `ctx = context`, with a parameter of that name whose type is `From<ToolCall>`";
        mistakes.on(context.place(), message, help);
    }
}

fn refuse_conditions<'p>(parameters: &'p Parameters, mistakes: &mut Mistakes) {
    let cfg = |parameter: &'p Parameter| parameter.cfgs.first().map(|cfg| (parameter, cfg));
    if let Some((parameter, cfg)) = parameters.arguments().filter_map(cfg).nth(MOST_CONDITIONS) {
        let message = format!(
            "`harness` beside parameter `{}`: more than {MOST_CONDITIONS} exist under a condition only",
            parameter.name
        );
        mistakes.on(cfg, message, "put the `#[cfg]` on two tool functions");
    }
}
