//! The static description of a tool.
//!
//! Input: the model's `Spec`. Output: `static __IDEM_TOOL: ToolSpec = ToolSpec::new("refund", …).scope(…).key(…);`
//! It must not know the call that uses it.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{kept, private};
use crate::duration::Length;
use crate::model::{
    Described, KeptArguments, KeySource, Naming, Param, Recovery, RecoveryStep, Reference, Retry, Scope, Shown,
    Standing, TemplatePart, Tool,
};
use crate::scope::ScopeKind;
use crate::words::Choice;

/// How the tool names its description.
pub(super) fn used(tool: &Tool) -> TokenStream {
    if !is_lent(tool) {
        return quote!(&__IDEM_TOOL);
    }
    let function = function(tool);
    match tool.standing {
        Standing::Free => quote!(#function()),
        Standing::Method | Standing::Associated => quote!(Self::#function()),
    }
}

/// Whether several functions share the description: then it has a function of its own.
pub(super) fn is_lent(tool: &Tool) -> bool {
    tool.descriptor.is_some() || tool.harness.is_some() || tool.shown == Shown::Everybody
}

/// The name of the function that lends the description.
pub(super) fn function(tool: &Tool) -> Ident {
    format_ident!("__idem_{}_spec", tool.sig.ident)
}

/// `fn __idem_…_spec`.
pub(super) fn lending(tool: &Tool) -> TokenStream {
    let private = private(tool);
    let kept = kept(tool);
    let (name, item) = (function(tool), tokens(tool));
    let shown = (tool.shown == Shown::Everybody).then(|| showing(tool));
    quote! {
        #shown
        #[doc(hidden)]
        #(#kept)*
        #[allow(clippy::all, clippy::pedantic, clippy::nursery, reason = "written by `#[idempotent]`")]
        fn #name() -> &'static #private::ToolSpec {
            #item
            &__IDEM_TOOL
        }
    }
}

/// `fn …_spec`, for everybody.
fn showing(tool: &Tool) -> TokenStream {
    let (private, kept, vis, used) = (private(tool), kept(tool), &tool.vis, used(tool));
    let name = format_ident!("{}_spec", tool.sig.ident);
    let doc = format!(" The description of the tool `{}`.", tool.spec.function);
    quote! {
        #[doc = #doc]
        #(#kept)*
        #[allow(dead_code, deprecated, clippy::all, clippy::pedantic, clippy::nursery, reason = "written by `#[idempotent]`")]
        #vis fn #name() -> &'static #private::ToolSpec {
            #used
        }
    }
}

/// `.of(…)`: the type, for a method.
pub(super) fn of(tool: &Tool) -> Option<TokenStream> {
    matches!(tool.spec.naming, Naming::Method).then(|| quote!(.of(::core::any::type_name::<Self>())))
}

/// The static item.
pub(super) fn tokens(tool: &Tool) -> TokenStream {
    let private = private(tool);
    let spec = &tool.spec;
    let function = &spec.function;
    let named = match &spec.naming {
        Naming::Given(name) => Some(quote!(.named(#name))),
        Naming::Function | Naming::Method => None,
    };
    let describe = spec.description.as_ref().map(|text| quote!(.describe(#text)));
    let version = spec.version.map(|version| quote!(.version(#version)));
    let effect = spec.effect.map(|word| setting("effect", &quote!(#private::Effect), word));
    let counts = spec.counts.as_ref().map(|text| quote!(.counts(#text)));
    let scope = scope(&private, &spec.scope);
    let key = spec.key.iter().map(|source| key(&private, source));
    let params = (!spec.params.is_empty()).then(|| {
        let params = spec.params.iter().map(|param| described(&private, param));
        quote!(.params(&[#(#params),*]))
    });
    let window = length("window", spec.window);
    let retain = length("retain", spec.retain);
    let lease = length("lease", spec.lease);
    let after = spec.after_retention.map(|word| setting("after_retention", &quote!(#private::AfterRetention), word));
    let busy = spec.on_busy.map(|word| setting("on_busy", &quote!(#private::OnBusy), word));
    let resources = resources(&private, &spec.resources);
    let recovery = recovery(&private, &spec.recovery);
    quote! {
        static __IDEM_TOOL: #private::ToolSpec = #private::ToolSpec::new(#function, ::core::module_path!())
            #named #describe #version #effect #counts
            .scope(#scope)
            .key(&[#(#key),*])
            #params #window #retain #lease #after #busy #resources #recovery;
    }
}

fn setting(method: &str, of: &TokenStream, choice: Choice) -> TokenStream {
    let method = format_ident!("{method}");
    let variant = format_ident!("{}", choice.variant);
    quote!(.#method(#of::#variant))
}

fn length(method: &str, length: Option<Length>) -> Option<TokenStream> {
    let method = format_ident!("{method}");
    length.map(|Length { seconds, nanoseconds }| quote!(.#method(#seconds, #nanoseconds)))
}

fn scope(private: &TokenStream, scope: &Scope) -> TokenStream {
    let kind = match &scope.kind {
        ScopeKind::Word(choice) => {
            let variant = format_ident!("{}", choice.variant);
            quote!(#private::ScopeKind::#variant)
        }
        ScopeKind::Named(name) => quote!(#private::ScopeKind::Named(#name)),
    };
    let paths = &scope.paths;
    let with = (!paths.is_empty()).then(|| quote!(.with(&[#(#paths),*])));
    quote!(#private::ScopeSpec::new(#kind) #with)
}

fn key(private: &TokenStream, source: &KeySource) -> TokenStream {
    let source = match source {
        KeySource::ToolCallId => quote!(ToolCallId),
        KeySource::OperationId => quote!(OperationId),
        KeySource::Args => quote!(Args),
        KeySource::ArgsOf(paths) => quote!(ArgsOf(&[#(#paths),*])),
        KeySource::Template(parts) => {
            let parts = template(private, parts);
            quote!(Template(#parts))
        }
        KeySource::All(sources) => {
            let sources = sources.iter().map(|source| key(private, source));
            quote!(All(&[#(#sources),*]))
        }
    };
    quote!(#private::KeySource::#source)
}

fn template(private: &TokenStream, parts: &[TemplatePart]) -> TokenStream {
    let parts = parts.iter().map(|part| match part {
        TemplatePart::Text(text) => quote!(#private::TemplatePart::Text(#text)),
        TemplatePart::Value(path) => quote!(#private::TemplatePart::Value(#path)),
        TemplatePart::Result(path) => quote!(#private::TemplatePart::Result(#path)),
    });
    quote!(&[#(#parts),*])
}

fn resources(private: &TokenStream, resources: &[Vec<TemplatePart>]) -> Option<TokenStream> {
    let templates = resources.iter().map(|parts| template(private, parts));
    (!resources.is_empty()).then(|| quote!(.resources(&[#(#templates),*])))
}

fn recovery(private: &TokenStream, recovery: &Recovery) -> TokenStream {
    let pair = |Length { seconds, nanoseconds }| quote!((#seconds, #nanoseconds));
    let retry = recovery.retry.map(|Retry { max, base, cap, deadline }| {
        let (base, cap, deadline) = (pair(base), pair(cap), pair(deadline));
        quote!(.retry(#max, #base, #cap, #deadline))
    });
    let steps = recovery.steps.iter().map(|step| match step {
        RecoveryStep::ProviderKey(Length { seconds, nanoseconds }) => {
            quote!(#private::RecoveryStep::ProviderKey(#seconds, #nanoseconds))
        }
        RecoveryStep::Lookup(_) => quote!(#private::RecoveryStep::Lookup),
        RecoveryStep::Search(_) => quote!(#private::RecoveryStep::Search),
    });
    let recover = (!recovery.steps.is_empty()).then(|| quote!(.recover(&[#(#steps),*])));
    let settles = length("settles_in", recovery.settles_in);
    let reference = (recovery.reference == Reference::Required).then(|| quote!(.reference_required()));
    let unknown = recovery.on_unknown.map(|word| setting("on_unknown", &quote!(#private::OnUnknown), word));
    let stored = (recovery.arguments == KeptArguments::Stored).then(|| quote!(.store_arguments()));
    quote!(#retry #recover #settles #reference #unknown #stored)
}

fn described(private: &TokenStream, param: &Param) -> TokenStream {
    let Param { name, mark, cfgs } = param;
    let mark = match mark {
        Described::Effect => quote!(Effect),
        Described::Content => quote!(Content),
        Described::Volatile => quote!(Volatile),
        Described::Secret => quote!(Secret),
    };
    quote!(#(#cfgs)* #private::ParamSpec::new(#name, #private::Mark::#mark))
}
