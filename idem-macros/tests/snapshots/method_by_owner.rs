//! What `#[idempotent]` makes of the case `method_by_owner` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

pub(crate) async fn act(self: Arc<Self>, input: Input) -> Result<Output, E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "act",
            ::core::module_path!(),
        )
        .scope(
            ::idem_runtime::__private::ScopeSpec::new(
                ::idem_runtime::__private::ScopeKind::User,
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
                    "input",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("input", &input);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .detached(
            ::idem_runtime::__private::policy!(Result < Output, E >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<Output, E> = loop {};
                    return __idem_never;
                }
                { self.go(input).await }
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
pub(crate) async fn act_outcome(
    self: Arc<Self>,
    input: Input,
) -> ::idem_runtime::__private::Outcome<
    <Result<Output, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(self.act(input)).await
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `act` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] pub (crate) fn act_entry(this :
    ::idem_runtime::__private::Arc < Self >) -> ::idem_runtime::__private::Entry where
    Input : for < '__idem > ::idem_runtime::__private::Described < '__idem >,
    ::idem_runtime::__private::Arc < Self > : for < '__idem >
    ::idem_runtime::__private::Kept < '__idem >, < Result < Output, E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new("act",
    ::core::module_path!())
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::User))
    .key(& [::idem_runtime::__private::KeySource::ToolCallId,
    ::idem_runtime::__private::KeySource::Args]).params(&
    [::idem_runtime::__private::ParamSpec::new("input",
    ::idem_runtime::__private::Mark::Effect)]); ::idem_runtime::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < Input > ("input", ""), move | __idem_call, mut
    __idem_given | { let this = ::core::clone::Clone::clone(& this);
    ::idem_runtime::__private::Box::pin(async move { let input : Input = match
    __idem_given.take("input") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(&
    ::idem_runtime::__private::scope(__idem_call, async move { Self::act_outcome(this,
    input). await }). await) }) },) }
}
