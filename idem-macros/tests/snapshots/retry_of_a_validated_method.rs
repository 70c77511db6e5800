//! What `#[idempotent]` makes of the case `retry_of_a_validated_method` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

async fn send(self: &Self, to: &str, mail: &Mail) -> Result<u8, E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "send",
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
                    "to",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .retry(3u32, (0u64, 200000000u32), (5u64, 0u32), (30u64, 0u32));
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("to", &to);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .full_in_place(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < u8, E >),
                    (self, to, mail),
                )
                .validate(|(__idem_self, to, mail)| ::idem_runtime::__private::Box::pin(
                    Self::check(__idem_self, to, mail),
                ))
                .again(|(__idem_self, to, mail)| (
                    ::idem_runtime::__private::again(__idem_self),
                    ::idem_runtime::__private::again(to),
                    ::idem_runtime::__private::again(mail),
                )),
            move |__idem_call, (_, to, mail)| async move {
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
                { self.go(to, mail).await }
            },
        )
        .await
}
