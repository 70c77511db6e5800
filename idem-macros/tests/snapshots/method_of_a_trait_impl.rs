//! What `#[idempotent]` makes of the case `method_of_a_trait_impl` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn act(&self, input: Input) -> Result<Output, Self::Error> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "act",
            ::core::module_path!(),
        )
        .scope(
            ::idem_runtime::__private::ScopeSpec::new(
                ::idem_runtime::__private::ScopeKind::Conversation,
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
                    "input",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("input", &input);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .in_place(
            ::idem_runtime::__private::policy!(Result < Output, Self::Error >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<Output, Self::Error> = loop {};
                    return __idem_never;
                }
                { self.act_now(input).await }
            },
        )
        .await
}
