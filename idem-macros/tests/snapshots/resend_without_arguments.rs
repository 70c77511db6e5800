//! What `#[idempotent]` makes of the case `resend_without_arguments` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

pub async fn act(call: facade::idem::ToolCall) -> Result<u8, <Self as Tool>::Error> {
    facade::idem::__private::Guard::new(
            Self::__idem_act_spec(),
            call,
            facade::idem::__private::Arguments::new(),
        )
        .detached(
            facade::idem::__private::policy!(Result < u8, < Self as Tool > ::Error >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<u8, <Self as Tool>::Error> = loop {};
                    return __idem_never;
                }
                #[allow(
                    unused_variables,
                    clippy::no_effect_underscore_binding,
                    clippy::shadow_unrelated,
                    reason = "the guard uses it, the body need not"
                )]
                let call = __idem_call;
                { Self::go(call).await }
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
pub async fn act_outcome(
    call: facade::idem::ToolCall,
) -> facade::idem::__private::Outcome<
    <Result<u8, <Self as Tool>::Error> as facade::idem::__private::IsResult>::Ok,
> {
    facade::idem::__private::outcome(Self::act(call)).await
}
#[doc(hidden)]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn __idem_act_spec() -> &'static facade::idem::__private::ToolSpec {
    static __IDEM_TOOL: facade::idem::__private::ToolSpec = facade::idem::__private::ToolSpec::new(
            "act",
            ::core::module_path!(),
        )
        .scope(
            facade::idem::__private::ScopeSpec::new(
                facade::idem::__private::ScopeKind::Tenant,
            ),
        )
        .key(&[facade::idem::__private::KeySource::OperationId])
        .recover(&[facade::idem::__private::RecoveryStep::ProviderKey(86400u64, 0u32)])
        .store_arguments();
    &__IDEM_TOOL
}
/// The tool `act` bound to its state, for `Idem::reconciler`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
pub fn act_tool() -> facade::idem::__private::BoundTool {
    facade::idem::__private::Bound::new(
            facade::idem::__private::policy!(Result < u8, < Self as Tool > ::Error >),
            Self::__idem_act_spec(),
            (),
        )
        .resend(|(), __idem_call, _| facade::idem::__private::Box::pin(async move {
            facade::idem::__private::resent(Self::act(__idem_call)).await
        }))
        .tool()
}
facade::idem::__private::entry! {
    #[doc = " The tool `act` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] pub fn act_entry() -> facade::idem::__private::Entry
    where < Result < u8, < Self as Tool > ::Error > as facade::idem::__private::IsResult
    > ::Ok : for < '__idem > facade::idem::__private::Tellable < '__idem >, {
    facade::idem::__private::Entry::new(Self::__idem_act_spec(),
    ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
    __idem_schema, move | __idem_call, mut __idem_given | {
    facade::idem::__private::Box::pin(async move {
    facade::idem::__private::Answer::of_outcome(& Self::act_outcome(__idem_call). await)
    }) },) }
}
