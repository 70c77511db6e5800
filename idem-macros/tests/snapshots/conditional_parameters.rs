//! What `#[idempotent]` makes of the case `conditional_parameters` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

#[cfg(feature = "billing")]
#[tracing::instrument]
pub async fn act(
    #[cfg(unix)]
    a: A,
    #[cfg(not(unix))]
    a: B,
    #[allow(unused)]
    c: u8,
    #[cfg(unix)]
    __idem_arg3: (u8, u8),
) -> Result<u8, E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "act",
            ::core::module_path!(),
        )
        .scope(
            ::idem_runtime::__private::ScopeSpec::new(
                    ::idem_runtime::__private::ScopeKind::Tenant,
                )
                .with(&["a.region"]),
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
                #[cfg(not(unix))]
                ::idem_runtime::__private::ParamSpec::new(
                    "a",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                #[cfg(unix)]
                ::idem_runtime::__private::ParamSpec::new(
                    "arg3",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "c",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                #[cfg(unix)] __idem_args.effect("a", &a);
                #[cfg(not(unix))] __idem_args.effect("a", &a);
                #[cfg(unix)] __idem_args.effect("arg3", &__idem_arg3);
                __idem_args.effect("c", &c);
                #[cfg(unix)] __idem_args.part("a.region", &a.region);
                #[cfg(not(unix))] __idem_args.part("a.region", &a.region);
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
                #[cfg(unix)]
                let (d, e) = __idem_arg3;
                { Ok(c) }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `act`.
#[cfg(feature = "billing")]
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
pub async fn act_outcome(
    #[cfg(unix)]
    a: A,
    #[cfg(not(unix))]
    a: B,
    #[allow(unused)]
    c: u8,
    #[cfg(unix)]
    __idem_arg3: (u8, u8),
) -> ::idem_runtime::__private::Outcome<
    <Result<u8, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(
            act(#[cfg(unix)] a, #[cfg(not(unix))] a, c, #[cfg(unix)] __idem_arg3),
        )
        .await
}
