//! What `#[idempotent]` makes of the case `every_setting` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn refund(a: u8) -> Result<(), E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "refund",
            ::core::module_path!(),
        )
        .named("billing.refund")
        .version(3u32)
        .effect(::idem_runtime::__private::Effect::Reversible)
        .counts("one refund per return")
        .scope(
            ::idem_runtime::__private::ScopeSpec::new(
                ::idem_runtime::__private::ScopeKind::Workflow,
            ),
        )
        .key(
            &[
                ::idem_runtime::__private::KeySource::OperationId,
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
        )
        .window(600u64, 0u32)
        .retain(2592000u64, 0u32)
        .lease(60u64, 500000000u32)
        .after_retention(::idem_runtime::__private::AfterRetention::Run)
        .on_busy(::idem_runtime::__private::OnBusy::Tell);
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("a", &a);
                __idem_args
            },
        )
        .detached(
            ::idem_runtime::__private::policy!(Result < (), E >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<(), E> = loop {};
                    return __idem_never;
                }
                { send(a).await }
            },
        )
        .await
}
