//! What `#[idempotent]` makes of the case `above_rmcp_s_attribute` in src/tests/rmcp.rs; `IDEM_BLESS=1` writes it anew.

#[tool(description = "Gives money back")]
async fn refund(
    &self,
    call: ToolCall,
    __idem_arg2: Parameters<Order>,
    __idem_arg3: RequestId,
) -> Result<Json<Receipt>, ErrorData> {
    ::idem_rmcp::__private::Guard::new(
            Self::__idem_refund_spec(),
            call,
            {
                let mut __idem_args = ::idem_rmcp::__private::Arguments::new();
                __idem_args.effect("arg2", &__idem_arg2);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .in_place(
            ::idem_rmcp::__private::policy!(Result < Json < Receipt >, ErrorData >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<Json<Receipt>, ErrorData> = loop {};
                    return __idem_never;
                }
                #[allow(
                    unused_variables,
                    clippy::no_effect_underscore_binding,
                    clippy::shadow_unrelated,
                    reason = "the guard uses it, the body need not"
                )]
                let call = __idem_call;
                let Parameters(Order { order_id, .. }) = __idem_arg2;
                let RequestId(id) = __idem_arg3;
                { self.bank.pay(call.provider_key("refund"), order_id).await }
            },
        )
        .await
}
/// The description of the tool `refund`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn refund_spec() -> &'static ::idem_rmcp::__private::ToolSpec {
    Self::__idem_refund_spec()
}
#[doc(hidden)]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn __idem_refund_spec() -> &'static ::idem_rmcp::__private::ToolSpec {
    static __IDEM_TOOL: ::idem_rmcp::__private::ToolSpec = ::idem_rmcp::__private::ToolSpec::new(
            "refund",
            ::core::module_path!(),
        )
        .scope(
            ::idem_rmcp::__private::ScopeSpec::new(
                ::idem_rmcp::__private::ScopeKind::Tenant,
            ),
        )
        .key(
            &[
                ::idem_rmcp::__private::KeySource::ToolCallId,
                ::idem_rmcp::__private::KeySource::Args,
            ],
        )
        .params(
            &[
                ::idem_rmcp::__private::ParamSpec::new(
                    "arg2",
                    ::idem_rmcp::__private::Mark::Effect,
                ),
            ],
        );
    &__IDEM_TOOL
}
