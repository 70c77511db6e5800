//! What `#[idempotent]` makes of the case `boxed_by_another_attribute` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

fn act<'life0, 'async_trait>(
    &'life0 self,
    a: u8,
    __arg2: (u8, u8),
) -> ::core::pin::Pin<
    Box<
        dyn ::core::future::Future<
            Output = Result<u8, E>,
        > + ::core::marker::Send + 'async_trait,
    >,
>
where
    'life0: 'async_trait,
    Self: 'async_trait,
{
    Box::pin(async move {
        static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
                "act",
                ::core::module_path!(),
            )
            .scope(
                ::idem_runtime::__private::ScopeSpec::new(
                        ::idem_runtime::__private::ScopeKind::Tenant,
                    )
                    .with(&["self.merchant"]),
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
                    ::idem_runtime::__private::ParamSpec::new(
                        "arg2",
                        ::idem_runtime::__private::Mark::Effect,
                    ),
                ],
            );
        ::idem_runtime::__private::Guard::new(
                &__IDEM_TOOL,
                ::idem_runtime::__private::current(),
                {
                    let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                    __idem_args.effect("a", &a);
                    __idem_args.effect("arg2", &__arg2);
                    __idem_args.part("self.merchant", &self.merchant);
                    __idem_args
                },
            )
            .of(::core::any::type_name::<Self>())
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
                    {
                        let __self = self;
                        let (b, c) = __arg2;
                        go(a, b, c).await
                    }
                },
            )
            .await
    })
}
