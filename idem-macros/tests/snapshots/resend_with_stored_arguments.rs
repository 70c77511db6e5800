//! What `#[idempotent]` makes of the case `resend_with_stored_arguments` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

pub async fn refund(
    &self,
    order_id: String,
    call: &ToolCall,
    clock: Clock,
    #[cfg(unix)]
    cents: u64,
    bank: &Bank,
    __idem_arg6: (String, u8),
) -> Result<Refund, E> {
    ::idem_runtime::__private::Guard::new(
            Self::__idem_refund_spec(),
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                #[cfg(unix)] __idem_args.effect("cents", &cents);
                __idem_args.effect("order_id", &order_id);
                __idem_args.content("arg6", &__idem_arg6);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .in_place(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            move |__idem_call| async move {
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
                let (reason, _) = __idem_arg6;
                { self.go(order_id).await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `refund`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
pub async fn refund_outcome(
    &self,
    order_id: String,
    call: &ToolCall,
    clock: Clock,
    #[cfg(unix)]
    cents: u64,
    bank: &Bank,
    __idem_arg6: (String, u8),
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(
            self.refund(order_id, call, clock, #[cfg(unix)] cents, bank, __idem_arg6),
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
fn __idem_refund_spec() -> &'static ::idem_runtime::__private::ToolSpec {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "refund",
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
                    "arg6",
                    ::idem_runtime::__private::Mark::Content,
                ),
                #[cfg(unix)]
                ::idem_runtime::__private::ParamSpec::new(
                    "cents",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order_id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(&[::idem_runtime::__private::RecoveryStep::ProviderKey(86400u64, 0u32)])
        .store_arguments();
    &__IDEM_TOOL
}
/// The tool `refund` bound to its state, for `Idem::reconciler`.
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
    clock: Clock,
    bank: ::idem_runtime::__private::Arc<Bank>,
) -> ::idem_runtime::__private::BoundTool {
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            Self::__idem_refund_spec(),
            (this, clock, bank),
        )
        .of(::core::any::type_name::<Self>())
        .resend(|(__idem_self, clock, bank), __idem_call, mut __idem_arguments| ::idem_runtime::__private::Box::pin(async move {
            let order_id = __idem_arguments.take("order_id")?;
            #[cfg(unix)]
            let cents = __idem_arguments.take("cents")?;
            let __idem_arg6 = __idem_arguments.take("arg6")?;
            ::idem_runtime::__private::resent(
                    Self::refund(
                        &**__idem_self,
                        order_id,
                        &__idem_call,
                        ::core::clone::Clone::clone(clock),
                        #[cfg(unix)]
                        cents,
                        &**bank,
                        __idem_arg6,
                    ),
                )
                .await
        }))
        .tool()
}
