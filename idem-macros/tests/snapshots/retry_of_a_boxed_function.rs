//! What `#[idempotent]` makes of the case `retry_of_a_boxed_function` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

fn act<'life0, 'async_trait>(
    &'life0 self,
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
                ),
            )
            .key(&[::idem_runtime::__private::KeySource::ToolCallId])
            .retry(2u32, (0u64, 200000000u32), (5u64, 0u32), (30u64, 0u32));
        ::idem_runtime::__private::Guard::new(
                &__IDEM_TOOL,
                ::idem_runtime::__private::current(),
                ::idem_runtime::__private::Arguments::new(),
            )
            .of(::core::any::type_name::<Self>())
            .full_in_place(
                ::idem_runtime::__private::Hooks::new(
                        ::idem_runtime::__private::policy!(Result < u8, E >),
                        (self,),
                    )
                    .again(|(__idem_self,)| (
                        ::idem_runtime::__private::again(__idem_self),
                    )),
                move |__idem_call, (_,)| async move {
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
                    { self.go().await }
                },
            )
            .await
    })
}
