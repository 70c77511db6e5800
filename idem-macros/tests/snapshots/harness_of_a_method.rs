//! What `#[idempotent]` makes of the case `harness_of_a_method` in src/tests/harness.rs; `IDEM_BLESS=1` writes it anew.

#[cfg(feature = "billing")]
async fn send_refund(&self, order_id: String, call: ToolCall) -> Result<Refund, E> {
    ::idem_runtime::__private::Guard::new(
            Self::__idem_send_refund_spec(),
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("order_id", &order_id);
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
                let call = __idem_call;
                { self.go(order_id).await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `send_refund`.
#[cfg(feature = "billing")]
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
async fn send_refund_outcome(
    &self,
    order_id: String,
    call: ToolCall,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(self.send_refund(order_id, call)).await
}
#[doc(hidden)]
#[cfg(feature = "billing")]
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
                    "order_id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(
            &[::idem_runtime::__private::RecoveryStep::ProviderKey(86400u64, 0u32)],
        );
    &__IDEM_TOOL
}
/// The tool `send_refund` bound to its state, for `Idem::reconciler`.
#[cfg(feature = "billing")]
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn send_refund_tool(
    this: ::idem_runtime::__private::Arc<Self>,
) -> ::idem_runtime::__private::BoundTool {
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            Self::__idem_send_refund_spec(),
            (this,),
        )
        .of(::core::any::type_name::<Self>())
        .tool()
}
#[cfg(test)]
#[cfg(feature = "billing")]
::idem_runtime::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] fn
    __idem_send_refund_subject() -> ::idem_runtime::__private::Subject <
    ::idem_runtime::__private::Arc < Self >, String > {
    ::idem_runtime::__private::Subject:: < ::idem_runtime::__private::Arc < Self >,
    String > ::new(Self::__idem_send_refund_spec(), | __idem_call, this, order_id |
    ::idem_runtime::__private::Box::pin(::idem_runtime::__private::asked(async move {
    Self::send_refund(& * this, order_id, __idem_call). await })))
    .of(::core::any::type_name:: < Self > ()).tool(| this | Self::send_refund_tool(this))
    }
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `send_refund` for a `ToolSet`."] #[cfg(feature = "billing")]
    #[allow(dead_code, deprecated, unused_mut, unused_variables, clippy::all,
    clippy::pedantic, clippy::nursery, reason = "written by `#[idempotent]`")] fn
    send_refund_entry(this : ::idem_runtime::__private::Arc < Self >) ->
    ::idem_runtime::__private::Entry where String : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, ::idem_runtime::__private::Arc <
    Self > : for < '__idem > ::idem_runtime::__private::Kept < '__idem >, < Result <
    Refund, E > as ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, {
    ::idem_runtime::__private::Entry::new(Self::__idem_send_refund_spec(),
    ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
    __idem_schema.argument:: < String > ("order_id", ""), move | __idem_call, mut
    __idem_given | { let this = ::core::clone::Clone::clone(& this);
    ::idem_runtime::__private::Box::pin(async move { let order_id : String = match
    __idem_given.take("order_id") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(& Self::send_refund_outcome(& * this,
    order_id, __idem_call). await) }) },) }
}
