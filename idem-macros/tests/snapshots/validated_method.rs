//! What `#[idempotent]` makes of the case `validated_method` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn act(&self, id: u8) -> Result<u8, E> {
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
                    "id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("id", &id);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .full_in_place(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < u8, E >),
                    (self, id),
                )
                .validate(|(__idem_self, id)| ::idem_runtime::__private::Box::pin(
                    Self::check(__idem_self, id),
                )),
            move |__idem_call, (_, id)| async move {
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
                { go(id).await }
            },
        )
        .await
}
