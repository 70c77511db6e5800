//! What `#[idempotent]` makes of the case `recover_where_nothing_may_stand_beside` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

async fn act(&self, bank: Bank<'_>, order: Order) -> Result<u8, Self::Error> {
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
                    "order",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .retry(2u32, (0u64, 200000000u32), (5u64, 0u32), (30u64, 0u32))
        .recover(&[::idem_runtime::__private::RecoveryStep::Lookup]);
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("order", &order);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .full_in_place(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < u8, Self::Error >),
                    (self, bank, order),
                )
                .lookup(|(__idem_self, bank, _), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<
                            u8,
                            Self::Error,
                        > as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(Self::find(*__idem_self, bank, __idem_operation)),
                ))
                .again(|(__idem_self, bank, order)| (
                    ::idem_runtime::__private::again(__idem_self),
                    ::idem_runtime::__private::again(bank),
                    ::idem_runtime::__private::again(order),
                )),
            move |__idem_call, (_, bank, order)| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<u8, Self::Error> = loop {};
                    return __idem_never;
                }
                { go().await }
            },
        )
        .await
}
