//! What `#[idempotent]` makes of the case `recover_of_a_generic_function` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

pub async fn refund<'b, B: Bank + 'b, T, const N: usize>(
    bank: &'b B,
    ids: [T; N],
) -> Result<T, E>
where
    'b: 'b,
    B: Sync + 'b + for<'x> Fn(&'x T),
    for<'x> &'x T: Copy,
    &'b B: Copy,
    T: Serialize + DeserializeOwned + 'static,
{
    ::idem_runtime::__private::Guard::new(
            __idem_refund_spec(),
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("ids", &ids);
                __idem_args
            },
        )
        .full_in_place(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < T, E >),
                    (bank, ids),
                )
                .lookup(|(bank, _), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<T, E> as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(B::find(*bank, __idem_operation)),
                ))
                .again(|(bank, ids)| (
                    ::idem_runtime::__private::again(bank),
                    ::idem_runtime::__private::again(ids),
                )),
            move |__idem_call, (bank, ids)| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<T, E> = loop {};
                    return __idem_never;
                }
                { bank.refund(ids).await }
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
pub async fn refund_outcome<'b, B: Bank + 'b, T, const N: usize>(
    bank: &'b B,
    ids: [T; N],
) -> ::idem_runtime::__private::Outcome<
    <Result<T, E> as ::idem_runtime::__private::IsResult>::Ok,
>
where
    'b: 'b,
    B: Sync + 'b + for<'x> Fn(&'x T),
    for<'x> &'x T: Copy,
    &'b B: Copy,
    T: Serialize + DeserializeOwned + 'static,
{
    ::idem_runtime::__private::outcome(refund::<B, T, N>(bank, ids)).await
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
                    "ids",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(
            &[
                ::idem_runtime::__private::RecoveryStep::ProviderKey(60u64, 0u32),
                ::idem_runtime::__private::RecoveryStep::Lookup,
            ],
        )
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
pub fn refund_tool<B: Bank, T, const N: usize>(
    bank: ::idem_runtime::__private::Arc<B>,
) -> ::idem_runtime::__private::BoundTool
where
    B: Sync + for<'x> Fn(&'x T),
    for<'x> &'x T: Copy,
    T: Serialize + DeserializeOwned + 'static,
{
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < T, E >),
            __idem_refund_spec(),
            (bank,),
        )
        .lookup(|(bank,), __idem_operation| ::idem_runtime::__private::Box::pin(
            ::idem_runtime::__private::answered::<
                <Result<T, E> as ::idem_runtime::__private::IsResult>::Ok,
                _,
            >(B::find(&**bank, __idem_operation)),
        ))
        .resend(|(bank,), __idem_call, mut __idem_arguments| ::idem_runtime::__private::Box::pin(async move {
            let ids = __idem_arguments.take("ids")?;
            ::idem_runtime::__private::scope(
                    __idem_call,
                    ::idem_runtime::__private::resent(refund::<B, T, N>(&**bank, ids)),
                )
                .await
        }))
        .tool()
}
