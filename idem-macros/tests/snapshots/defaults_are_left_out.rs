//! What `#[idempotent]` makes of the case `defaults_are_left_out` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn refund(a: u8) -> Result<(), E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "refund",
            ::core::module_path!(),
        )
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
                    "a",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("a", &a);
                __idem_args
            },
        )
        .detached(
            ::idem_runtime::__private::policy!(Result < (), E >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<(), E> = loop {};
                    return __idem_never;
                }
                { send(a).await }
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
async fn refund_outcome(
    a: u8,
) -> ::idem_runtime::__private::Outcome<
    <Result<(), E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(refund(a)).await
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `refund` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] fn refund_entry() ->
    ::idem_runtime::__private::Entry where u8 : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, < Result < (), E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec =
    ::idem_runtime::__private::ToolSpec::new("refund", ::core::module_path!())
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Conversation))
    .key(& [::idem_runtime::__private::KeySource::ToolCallId,
    ::idem_runtime::__private::KeySource::Args]).params(&
    [::idem_runtime::__private::ParamSpec::new("a",
    ::idem_runtime::__private::Mark::Effect)]); ::idem_runtime::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < u8 > ("a", ""), move | __idem_call, mut __idem_given | {
    ::idem_runtime::__private::Box::pin(async move { let a : u8 = match __idem_given
    .take("a") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(&
    ::idem_runtime::__private::scope(__idem_call, async move { refund_outcome(a). await
    }). await) }) },) }
}
