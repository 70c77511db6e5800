//! What `#[idempotent]` makes of the case `plain` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

/// Sends the money back.
///
/// Once an order.
pub async fn send_refund(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    reason: String,
) -> Result<Refund, PaymentError> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "send_refund",
            ::core::module_path!(),
        )
        .describe("Sends the money back.\n\nOnce an order.")
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
                    "amount_cents",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order_id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "reason",
                    ::idem_runtime::__private::Mark::Content,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("amount_cents", &amount_cents);
                __idem_args.effect("order_id", &order_id);
                __idem_args.content("reason", &reason);
                __idem_args
            },
        )
        .detached(
            ::idem_runtime::__private::policy!(Result < Refund, PaymentError >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<Refund, PaymentError> = loop {};
                    return __idem_never;
                }
                #[allow(
                    unused_variables,
                    clippy::no_effect_underscore_binding,
                    clippy::shadow_unrelated,
                    reason = "the guard uses it, the body need not"
                )]
                let call = &__idem_call;
                { client().refund(order_id, amount_cents, reason).await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `send_refund`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
pub async fn send_refund_outcome(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    reason: String,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, PaymentError> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(send_refund(call, order_id, amount_cents, reason))
        .await
}
