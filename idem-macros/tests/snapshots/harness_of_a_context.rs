//! What `#[idempotent]` makes of the case `harness_of_a_context` in src/tests/harness.rs; `IDEM_BLESS=1` writes it anew.

async fn act(context: &Context, a: u8) -> Result<u8, E> {
    ::idem_runtime::__private::Guard::new(
            __idem_act_spec(),
            ::idem_runtime::__private::source(&context),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("a", &a);
                __idem_args
            },
        )
        .in_place(
            ::idem_runtime::__private::policy!(Result < u8, E >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<u8, E> = loop {};
                    return __idem_never;
                }
                { go(context, a).await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `act`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
async fn act_outcome(
    context: &Context,
    a: u8,
) -> ::idem_runtime::__private::Outcome<
    <Result<u8, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(act(context, a)).await
}
#[doc(hidden)]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn __idem_act_spec() -> &'static ::idem_runtime::__private::ToolSpec {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "act",
            ::core::module_path!(),
        )
        .scope(
            ::idem_runtime::__private::ScopeSpec::new(
                ::idem_runtime::__private::ScopeKind::Tenant,
            ),
        )
        .key(
            &[
                ::idem_runtime::__private::KeySource::ToolCallId,
                ::idem_runtime::__private::KeySource::Args,
            ],
        )
        .params(
            &[
                ::idem_runtime::__private::ParamSpec::new(
                    "a",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    &__IDEM_TOOL
}
#[cfg(test)]
::idem_runtime::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] fn __idem_act_subject() ->
    ::idem_runtime::__private::Subject < (), u8 > { ::idem_runtime::__private::Subject::
    < (), u8 > ::new(__idem_act_spec(), | __idem_call, (), a |
    ::idem_runtime::__private::Box::pin(::idem_runtime::__private::asked(async move { let
    context = < Context as ::core::convert::From < _ >>
    ::from(::core::clone::Clone::clone(& __idem_call)); act(& context, a). await }))) }
    ::idem_runtime::__private::suite!(act_harness, super::__idem_act_subject,
    super::act_fixture);
}
