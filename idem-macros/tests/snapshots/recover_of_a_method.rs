//! What `#[idempotent]` makes of the case `recover_of_a_method` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

/// Sends the money back.
#[cfg(feature = "billing")]
pub async fn refund(
    &self,
    call: &ToolCall,
    id: &str,
    bank: &dyn Bank,
) -> Result<Refund, E> {
    ::idem_runtime::__private::Guard::new(
            Self::__idem_refund_spec(),
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("id", &id);
                __idem_args.part("self.merchant", &self.merchant);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .full_in_place(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < Refund, E >),
                    (self, id, bank),
                )
                .search(|(__idem_self, _, bank), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(Self::search(*__idem_self, *bank, __idem_operation)),
                ))
                .lookup(|(__idem_self, _, bank), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(Self::find(*__idem_self, *bank, __idem_operation)),
                )),
            move |__idem_call, (_, id, bank)| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<Refund, E> = loop {};
                    return __idem_never;
                }
                #[allow(
                    unused_variables,
                    clippy::no_effect_underscore_binding,
                    clippy::shadow_unrelated,
                    reason = "the guard uses it, the body need not"
                )]
                let call = &__idem_call;
                { self.go(id, bank).await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `refund`.
#[cfg(feature = "billing")]
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
pub async fn refund_outcome(
    &self,
    call: &ToolCall,
    id: &str,
    bank: &dyn Bank,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(self.refund(call, id, bank)).await
}
#[doc(hidden)]
#[cfg(feature = "billing")]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn __idem_refund_spec() -> &'static ::idem_runtime::__private::ToolSpec {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "refund",
            ::core::module_path!(),
        )
        .describe("Sends the money back.")
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
                    "id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(
            &[
                ::idem_runtime::__private::RecoveryStep::Search,
                ::idem_runtime::__private::RecoveryStep::Lookup,
            ],
        )
        .reference_required()
        .on_unknown(::idem_runtime::__private::OnUnknown::Reconcile);
    &__IDEM_TOOL
}
/// The tool `refund` bound to its state, for `Idem::reconciler`.
#[cfg(feature = "billing")]
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
pub fn refund_tool(
    this: ::idem_runtime::__private::Arc<Self>,
    bank: ::idem_runtime::__private::Arc<dyn Bank>,
) -> ::idem_runtime::__private::BoundTool {
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            Self::__idem_refund_spec(),
            (this, bank),
        )
        .of(::core::any::type_name::<Self>())
        .search(|(__idem_self, bank), __idem_operation| ::idem_runtime::__private::Box::pin(
            ::idem_runtime::__private::answered::<
                <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                _,
            >(Self::search(&**__idem_self, &**bank, __idem_operation)),
        ))
        .lookup(|(__idem_self, bank), __idem_operation| ::idem_runtime::__private::Box::pin(
            ::idem_runtime::__private::answered::<
                <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                _,
            >(Self::find(&**__idem_self, &**bank, __idem_operation)),
        ))
        .tool()
}
