//! What `#[idempotent]` makes of the case `recover_of_a_function_with_state` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

pub(crate) async fn refund(
    bank: &Bank,
    call: ToolCall,
    id: String,
    clock: Clock,
    limits: &'static Limits,
) -> Result<Refund, E> {
    ::idem_runtime::__private::Guard::new(
            __idem_refund_spec(),
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("id", &id);
                __idem_args
            },
        )
        .full_in_place(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < Refund, E >),
                    (bank, id, clock, limits),
                )
                .lookup(|(bank, _, clock, limits), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(bank::find(*bank, clock, *limits, __idem_operation)),
                ))
                .search(|(bank, _, clock, limits), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(bank::search_refunds(*bank, clock, *limits, __idem_operation)),
                )),
            move |__idem_call, (bank, id, clock, limits)| async move {
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
                let call = __idem_call;
                { bank.refund(id, clock, limits).await }
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
pub(crate) async fn refund_outcome(
    bank: &Bank,
    call: ToolCall,
    id: String,
    clock: Clock,
    limits: &'static Limits,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(refund(bank, call, id, clock, limits)).await
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
                    "id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(
            &[
                ::idem_runtime::__private::RecoveryStep::Lookup,
                ::idem_runtime::__private::RecoveryStep::Search,
            ],
        )
        .settles_in(120u64, 0u32)
        .on_unknown(::idem_runtime::__private::OnUnknown::Tell);
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
pub(crate) fn refund_tool(
    bank: ::idem_runtime::__private::Arc<Bank>,
    clock: Clock,
    limits: &'static Limits,
) -> ::idem_runtime::__private::BoundTool {
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            __idem_refund_spec(),
            (bank, clock, limits),
        )
        .lookup(|(bank, clock, limits), __idem_operation| ::idem_runtime::__private::Box::pin(
            ::idem_runtime::__private::answered::<
                <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                _,
            >(bank::find(&**bank, clock, *limits, __idem_operation)),
        ))
        .search(|(bank, clock, limits), __idem_operation| ::idem_runtime::__private::Box::pin(
            ::idem_runtime::__private::answered::<
                <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                _,
            >(bank::search_refunds(&**bank, clock, *limits, __idem_operation)),
        ))
        .tool()
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `refund` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] pub (crate) fn refund_entry(bank :
    ::idem_runtime::__private::Arc < Bank >, clock : Clock, limits : & 'static Limits) ->
    ::idem_runtime::__private::Entry where String : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, ::idem_runtime::__private::Arc <
    Bank > : for < '__idem > ::idem_runtime::__private::Kept < '__idem >, Clock : for <
    '__idem > ::idem_runtime::__private::Kept < '__idem >, & 'static Limits : for <
    '__idem > ::idem_runtime::__private::Kept < '__idem >, < Result < Refund, E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, {
    ::idem_runtime::__private::Entry::new(__idem_refund_spec(),
    ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
    __idem_schema.argument:: < String > ("id", ""), move | __idem_call, mut __idem_given
    | { let bank = ::core::clone::Clone::clone(& bank); let clock =
    ::core::clone::Clone::clone(& clock); let limits = ::core::clone::Clone::clone(&
    limits); ::idem_runtime::__private::Box::pin(async move { let id : String = match
    __idem_given.take("id") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(& refund_outcome(& * bank, __idem_call,
    id, clock, limits). await) }) },) }
}
