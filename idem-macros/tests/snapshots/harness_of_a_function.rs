//! What `#[idempotent]` makes of the case `harness_of_a_function` in src/tests/harness.rs; `IDEM_BLESS=1` writes it anew.

/// Sends the money back.
pub async fn send_refund(
    bank: &Bank,
    call: &ToolCall,
    order_id: String,
    limits: Limits,
    cents: u64,
) -> Result<Refund, E> {
    ::idem_runtime::__private::Guard::new(
            __idem_send_refund_spec(),
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("cents", &cents);
                __idem_args.effect("order_id", &order_id);
                __idem_args
            },
        )
        .full_in_place(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < Refund, E >),
                    (bank, order_id, limits, cents),
                )
                .lookup(|(bank, _, limits, _), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(bank::find(*bank, limits, __idem_operation)),
                )),
            move |__idem_call, (bank, order_id, limits, cents)| async move {
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
                { bank.refund(order_id, cents).await }
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
    bank: &Bank,
    call: &ToolCall,
    order_id: String,
    limits: Limits,
    cents: u64,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(send_refund(bank, call, order_id, limits, cents))
        .await
}
#[doc(hidden)]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn __idem_send_refund_spec() -> &'static ::idem_runtime::__private::ToolSpec {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "send_refund",
            ::core::module_path!(),
        )
        .describe("Sends the money back.")
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
                    "cents",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order_id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(&[::idem_runtime::__private::RecoveryStep::Lookup]);
    &__IDEM_TOOL
}
/// The tool `send_refund` bound to its state, for `Idem::reconciler`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
pub fn send_refund_tool(
    bank: ::idem_runtime::__private::Arc<Bank>,
    limits: Limits,
) -> ::idem_runtime::__private::BoundTool {
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            __idem_send_refund_spec(),
            (bank, limits),
        )
        .lookup(|(bank, limits), __idem_operation| ::idem_runtime::__private::Box::pin(
            ::idem_runtime::__private::answered::<
                <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                _,
            >(bank::find(&**bank, limits, __idem_operation)),
        ))
        .tool()
}
#[cfg(test)]
::idem_runtime::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] pub fn
    __idem_send_refund_subject() -> ::idem_runtime::__private::Subject <
    (::idem_runtime::__private::Arc < Bank >, Limits), (String, u64) > {
    ::idem_runtime::__private::Subject:: < (::idem_runtime::__private::Arc < Bank >,
    Limits), (String, u64) > ::new(__idem_send_refund_spec(), | __idem_call, (bank,
    limits), (order_id, cents) |
    ::idem_runtime::__private::Box::pin(::idem_runtime::__private::asked(async move {
    send_refund(& * bank, & __idem_call, order_id, limits, cents). await }))).tool(|
    (bank, limits) | send_refund_tool(bank, limits)) }
    ::idem_runtime::__private::suite!(send_refund_harness,
    super::__idem_send_refund_subject, refund_fixture);
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `send_refund` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] pub fn send_refund_entry(bank :
    ::idem_runtime::__private::Arc < Bank >, limits : Limits) ->
    ::idem_runtime::__private::Entry where String : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, u64 : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, ::idem_runtime::__private::Arc <
    Bank > : for < '__idem > ::idem_runtime::__private::Kept < '__idem >, Limits : for <
    '__idem > ::idem_runtime::__private::Kept < '__idem >, < Result < Refund, E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, {
    ::idem_runtime::__private::Entry::new(__idem_send_refund_spec(),
    ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
    __idem_schema.argument:: < String > ("order_id", "").argument:: < u64 > ("cents",
    ""), move | __idem_call, mut __idem_given | { let bank =
    ::core::clone::Clone::clone(& bank); let limits = ::core::clone::Clone::clone(&
    limits); ::idem_runtime::__private::Box::pin(async move { let order_id : String =
    match __idem_given.take("order_id") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, }; let cents : u64 = match
    __idem_given.take("cents") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(& send_refund_outcome(& * bank, &
    __idem_call, order_id, limits, cents). await) }) },) }
}
