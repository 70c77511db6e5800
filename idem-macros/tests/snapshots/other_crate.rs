//! What `#[idempotent]` makes of the case `other_crate` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn r#type(call: &facade::idem::ToolCall, r#in: u8) -> Result<u8, E> {
    static __IDEM_TOOL: facade::idem::__private::ToolSpec = facade::idem::__private::ToolSpec::new(
            "type",
            ::core::module_path!(),
        )
        .scope(
            facade::idem::__private::ScopeSpec::new(
                facade::idem::__private::ScopeKind::Tenant,
            ),
        )
        .key(
            &[
                facade::idem::__private::KeySource::ToolCallId,
                facade::idem::__private::KeySource::Args,
            ],
        )
        .params(
            &[
                facade::idem::__private::ParamSpec::new(
                    "in",
                    facade::idem::__private::Mark::Effect,
                ),
            ],
        );
    facade::idem::__private::Guard::new(
            &__IDEM_TOOL,
            call,
            {
                let mut __idem_args = facade::idem::__private::Arguments::new();
                __idem_args.effect("in", &r#in);
                __idem_args
            },
        )
        .detached(
            facade::idem::__private::policy!(Result < u8, E >),
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
                #[allow(
                    unused_variables,
                    clippy::no_effect_underscore_binding,
                    clippy::shadow_unrelated,
                    reason = "the guard uses it, the body need not"
                )]
                let call = &__idem_call;
                { go().await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `type`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
async fn type_outcome(
    call: &facade::idem::ToolCall,
    r#in: u8,
) -> facade::idem::__private::Outcome<
    <Result<u8, E> as facade::idem::__private::IsResult>::Ok,
> {
    facade::idem::__private::outcome(r#type(call, r#in)).await
}
facade::idem::__private::entry! {
    #[doc = " The tool `type` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] fn type_entry() -> facade::idem::__private::Entry
    where u8 : for < '__idem > facade::idem::__private::Described < '__idem >, < Result <
    u8, E > as facade::idem::__private::IsResult > ::Ok : for < '__idem >
    facade::idem::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    facade::idem::__private::ToolSpec = facade::idem::__private::ToolSpec::new("type",
    ::core::module_path!())
    .scope(facade::idem::__private::ScopeSpec::new(facade::idem::__private::ScopeKind::Tenant))
    .key(& [facade::idem::__private::KeySource::ToolCallId,
    facade::idem::__private::KeySource::Args]).params(&
    [facade::idem::__private::ParamSpec::new("in",
    facade::idem::__private::Mark::Effect)]); facade::idem::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < u8 > ("in", ""), move | __idem_call, mut __idem_given |
    { facade::idem::__private::Box::pin(async move { let r#in : u8 = match __idem_given
    .take("in") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    facade::idem::__private::Answer::of_outcome(& type_outcome(& __idem_call, r#in).
    await) }) },) }
}
