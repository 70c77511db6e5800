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
::idem_runtime::__private::entry! {
    #[doc = " The tool `send_refund` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] pub fn send_refund_entry() ->
    ::idem_runtime::__private::Entry where String : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, u64 : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, String : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, < Result < Refund, PaymentError >
    as ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec =
    ::idem_runtime::__private::ToolSpec::new("send_refund", ::core::module_path!())
    .describe("Sends the money back.\n\nOnce an order.")
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Conversation))
    .key(& [::idem_runtime::__private::KeySource::ToolCallId,
    ::idem_runtime::__private::KeySource::Args]).params(&
    [::idem_runtime::__private::ParamSpec::new("amount_cents",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("order_id",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("reason",
    ::idem_runtime::__private::Mark::Content)]); ::idem_runtime::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < String > ("order_id", "").argument:: < u64 >
    ("amount_cents", "").argument:: < String > ("reason", ""), move | __idem_call, mut
    __idem_given | { ::idem_runtime::__private::Box::pin(async move { let order_id :
    String = match __idem_given.take("order_id") { ::core::result::Result::Ok(value) =>
    value, ::core::result::Result::Err(answer) => return * answer, }; let amount_cents :
    u64 = match __idem_given.take("amount_cents") { ::core::result::Result::Ok(value) =>
    value, ::core::result::Result::Err(answer) => return * answer, }; let reason : String
    = match __idem_given.take("reason") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(& send_refund_outcome(& __idem_call,
    order_id, amount_cents, reason). await) }) },) }
}
