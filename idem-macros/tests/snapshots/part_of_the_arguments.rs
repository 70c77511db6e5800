//! What `#[idempotent]` makes of the case `part_of_the_arguments` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn act(order: Order, cents: u64, now: u64, token: String) -> Result<u8, E> {
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
                ::idem_runtime::__private::KeySource::OperationId,
                ::idem_runtime::__private::KeySource::All(
                    &[
                        ::idem_runtime::__private::KeySource::ToolCallId,
                        ::idem_runtime::__private::KeySource::ArgsOf(
                            &["order.id", "cents"],
                        ),
                    ],
                ),
            ],
        )
        .params(
            &[
                ::idem_runtime::__private::ParamSpec::new(
                    "cents",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "now",
                    ::idem_runtime::__private::Mark::Volatile,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order.meta.requested_at",
                    ::idem_runtime::__private::Mark::Volatile,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order.note",
                    ::idem_runtime::__private::Mark::Content,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order.token",
                    ::idem_runtime::__private::Mark::Secret,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "token",
                    ::idem_runtime::__private::Mark::Secret,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("cents", &cents);
                __idem_args
                    .effect_without(
                        "order",
                        &order,
                        &["note", "meta.requested_at", "token"],
                    );
                __idem_args.content("order.note", &order.note);
                let _ = &order.meta.requested_at;
                let _ = &order.token;
                __idem_args.part("order.id", &order.id);
                __idem_args
            },
        )
        .detached(
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
                { go().await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `act`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
async fn act_outcome(
    order: Order,
    cents: u64,
    now: u64,
    token: String,
) -> ::idem_runtime::__private::Outcome<
    <Result<u8, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(act(order, cents, now, token)).await
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `act` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] fn act_entry(token : String) ->
    ::idem_runtime::__private::Entry where Order : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, u64 : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, u64 : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, String : for < '__idem >
    ::idem_runtime::__private::Kept < '__idem >, < Result < u8, E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new("act",
    ::core::module_path!())
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Tenant))
    .key(& [::idem_runtime::__private::KeySource::OperationId,
    ::idem_runtime::__private::KeySource::All(&
    [::idem_runtime::__private::KeySource::ToolCallId,
    ::idem_runtime::__private::KeySource::ArgsOf(& ["order.id", "cents"])])]).params(&
    [::idem_runtime::__private::ParamSpec::new("cents",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("now",
    ::idem_runtime::__private::Mark::Volatile),
    ::idem_runtime::__private::ParamSpec::new("order",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("order.meta.requested_at",
    ::idem_runtime::__private::Mark::Volatile),
    ::idem_runtime::__private::ParamSpec::new("order.note",
    ::idem_runtime::__private::Mark::Content),
    ::idem_runtime::__private::ParamSpec::new("order.token",
    ::idem_runtime::__private::Mark::Secret),
    ::idem_runtime::__private::ParamSpec::new("token",
    ::idem_runtime::__private::Mark::Secret)]); ::idem_runtime::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < Order > ("order", "").argument:: < u64 > ("cents", "")
    .argument:: < u64 > ("now", ""), move | __idem_call, mut __idem_given | { let token =
    ::core::clone::Clone::clone(& token); ::idem_runtime::__private::Box::pin(async move
    { let order : Order = match __idem_given.take("order") {
    ::core::result::Result::Ok(value) => value, ::core::result::Result::Err(answer) =>
    return * answer, }; let cents : u64 = match __idem_given.take("cents") {
    ::core::result::Result::Ok(value) => value, ::core::result::Result::Err(answer) =>
    return * answer, }; let now : u64 = match __idem_given.take("now") {
    ::core::result::Result::Ok(value) => value, ::core::result::Result::Err(answer) =>
    return * answer, }; ::idem_runtime::__private::Answer::of_outcome(&
    ::idem_runtime::__private::scope(__idem_call, async move { act_outcome(order, cents,
    now, token). await }). await) }) },) }
}
