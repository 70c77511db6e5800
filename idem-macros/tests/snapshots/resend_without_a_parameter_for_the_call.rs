//! What `#[idempotent]` makes of the case `resend_without_a_parameter_for_the_call` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

async fn r#loop(r#type: String) -> Result<Refund, E> {
    ::idem_runtime::__private::Guard::new(
            __idem_loop_spec(),
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("type", &r#type);
                __idem_args
            },
        )
        .full(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < Refund, E >),
                    (r#type,),
                )
                .lookup(|(_,), __idem_operation| ::idem_runtime::__private::Box::pin(
                    ::idem_runtime::__private::answered::<
                        <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                        _,
                    >(find(__idem_operation)),
                ))
                .again(|(r#type,)| (::idem_runtime::__private::again(r#type),)),
            move |__idem_call, (r#type,)| async move {
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
                { go(r#type).await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `loop`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
async fn loop_outcome(
    r#type: String,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(r#loop(r#type)).await
}
#[doc(hidden)]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn __idem_loop_spec() -> &'static ::idem_runtime::__private::ToolSpec {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "loop",
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
                    "type",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(
            &[
                ::idem_runtime::__private::RecoveryStep::Lookup,
                ::idem_runtime::__private::RecoveryStep::ProviderKey(86400u64, 0u32),
            ],
        )
        .store_arguments();
    &__IDEM_TOOL
}
/// The tool `loop` bound to its state, for `Idem::reconciler`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn loop_tool() -> ::idem_runtime::__private::BoundTool {
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            __idem_loop_spec(),
            (),
        )
        .lookup(|(), __idem_operation| ::idem_runtime::__private::Box::pin(
            ::idem_runtime::__private::answered::<
                <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
                _,
            >(find(__idem_operation)),
        ))
        .resend(|(), __idem_call, mut __idem_arguments| ::idem_runtime::__private::Box::pin(async move {
            let r#type = __idem_arguments.take("type")?;
            ::idem_runtime::__private::scope(
                    __idem_call,
                    ::idem_runtime::__private::resent(r#loop(r#type)),
                )
                .await
        }))
        .tool()
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `loop` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] fn loop_entry() -> ::idem_runtime::__private::Entry
    where String : for < '__idem > ::idem_runtime::__private::Described < '__idem >, <
    Result < Refund, E > as ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, {
    ::idem_runtime::__private::Entry::new(__idem_loop_spec(),
    ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
    __idem_schema.argument:: < String > ("type", ""), move | __idem_call, mut
    __idem_given | { ::idem_runtime::__private::Box::pin(async move { let r#type : String
    = match __idem_given.take("type") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(&
    ::idem_runtime::__private::scope(__idem_call, async move { loop_outcome(r#type).
    await }). await) }) },) }
}
