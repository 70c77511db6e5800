//! What `#[idempotent]` makes of the case `harness_of_conditional_parameters` in src/tests/harness.rs; `IDEM_BLESS=1` writes it anew.

async fn act(
    #[cfg(unix)]
    a: u8,
    __idem_arg1: (u8, u8),
    call: &ToolCall,
    #[cfg(x)]
    #[cfg(y)]
    c: u8,
) -> Result<u8, E> {
    ::idem_runtime::__private::Guard::new(
            __idem_act_spec(),
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                #[cfg(unix)] __idem_args.effect("a", &a);
                __idem_args.effect("arg1", &__idem_arg1);
                #[cfg(x)] #[cfg(y)] __idem_args.effect("c", &c);
                __idem_args
            },
        )
        .detached(
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
                #[allow(
                    unused_variables,
                    clippy::no_effect_underscore_binding,
                    clippy::shadow_unrelated,
                    reason = "the guard uses it, the body need not"
                )]
                let call = &__idem_call;
                let (b, _) = __idem_arg1;
                #[cfg(x)]
                #[cfg(y)]
                let mut c = c;
                { go(b).await }
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
    #[cfg(unix)]
    a: u8,
    __idem_arg1: (u8, u8),
    call: &ToolCall,
    #[cfg(x)]
    #[cfg(y)]
    c: u8,
) -> ::idem_runtime::__private::Outcome<
    <Result<u8, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(
            act(#[cfg(unix)] a, __idem_arg1, call, #[cfg(x)] #[cfg(y)] c),
        )
        .await
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
                #[cfg(unix)]
                ::idem_runtime::__private::ParamSpec::new(
                    "a",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "arg1",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                #[cfg(x)]
                #[cfg(y)]
                ::idem_runtime::__private::ParamSpec::new(
                    "c",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    &__IDEM_TOOL
}
#[cfg(all(test, all(unix), all(x, y)))]
::idem_runtime::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] fn __idem_act_subject() ->
    ::idem_runtime::__private::Subject < (), (u8, (u8, u8), u8) > {
    ::idem_runtime::__private::Subject:: < (), (u8, (u8, u8), u8) >
    ::new(__idem_act_spec(), | __idem_call, (), (a, __idem_arg1, c) |
    ::idem_runtime::__private::Box::pin(::idem_runtime::__private::asked(async move {
    act(a, __idem_arg1, & __idem_call, c). await }))) }
    ::idem_runtime::__private::suite!(act_harness, super::__idem_act_subject,
    super::super::fixtures::act);
}
#[cfg(all(test, not(all(unix)), all(x, y)))]
::idem_runtime::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] fn __idem_act_subject() ->
    ::idem_runtime::__private::Subject < (), ((u8, u8), u8) > {
    ::idem_runtime::__private::Subject:: < (), ((u8, u8), u8) > ::new(__idem_act_spec(),
    | __idem_call, (), (__idem_arg1, c) |
    ::idem_runtime::__private::Box::pin(::idem_runtime::__private::asked(async move {
    act(__idem_arg1, & __idem_call, c). await }))) }
    ::idem_runtime::__private::suite!(act_harness, super::__idem_act_subject,
    super::super::fixtures::act);
}
#[cfg(all(test, all(unix), not(all(x, y))))]
::idem_runtime::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] fn __idem_act_subject() ->
    ::idem_runtime::__private::Subject < (), (u8, (u8, u8)) > {
    ::idem_runtime::__private::Subject:: < (), (u8, (u8, u8)) > ::new(__idem_act_spec(),
    | __idem_call, (), (a, __idem_arg1) |
    ::idem_runtime::__private::Box::pin(::idem_runtime::__private::asked(async move {
    act(a, __idem_arg1, & __idem_call). await }))) }
    ::idem_runtime::__private::suite!(act_harness, super::__idem_act_subject,
    super::super::fixtures::act);
}
#[cfg(all(test, not(all(unix)), not(all(x, y))))]
::idem_runtime::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] fn __idem_act_subject() ->
    ::idem_runtime::__private::Subject < (), (u8, u8) > {
    ::idem_runtime::__private::Subject:: < (), (u8, u8) > ::new(__idem_act_spec(), |
    __idem_call, (), __idem_arg1 |
    ::idem_runtime::__private::Box::pin(::idem_runtime::__private::asked(async move {
    act(__idem_arg1, & __idem_call). await }))) }
    ::idem_runtime::__private::suite!(act_harness, super::__idem_act_subject,
    super::super::fixtures::act);
}
