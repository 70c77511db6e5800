//! What `#[idempotent]` makes of the case `names_inside_patterns` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn act(
    __idem_arg0: Parameters<Refund>,
    __idem_arg1: (u8, u8),
    __idem_arg2: P,
) -> Result<u8, E> {
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
                ::idem_runtime::__private::KeySource::Template(
                    &[
                        ::idem_runtime::__private::TemplatePart::Value(
                            "refund.order_id",
                        ),
                        ::idem_runtime::__private::TemplatePart::Text("-"),
                        ::idem_runtime::__private::TemplatePart::Value("d"),
                    ],
                ),
                ::idem_runtime::__private::KeySource::ArgsOf(&["b", "arg2.region"]),
            ],
        )
        .params(
            &[
                ::idem_runtime::__private::ParamSpec::new(
                    "arg0",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "arg1",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "arg2",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "refund.note",
                    ::idem_runtime::__private::Mark::Content,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "refund.token",
                    ::idem_runtime::__private::Mark::Secret,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect_without("arg0", &__idem_arg0, &["note", "token"]);
                __idem_args.effect("arg1", &__idem_arg1);
                __idem_args.effect("arg2", &__idem_arg2);
                __idem_args.content("refund.note", &__idem_arg0.0.note);
                let _ = &__idem_arg0.0.token;
                __idem_args.part("refund.order_id", &__idem_arg0.0.order_id);
                __idem_args.part("d", &__idem_arg2.c.0);
                __idem_args.part("b", &__idem_arg1.0);
                __idem_args.part("arg2.region", &__idem_arg2.region);
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
                let Parameters(refund) = __idem_arg0;
                let (b, ..) = __idem_arg1;
                let P { c: (d, _), .. } = __idem_arg2;
                { go(refund).await }
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
    __idem_arg0: Parameters<Refund>,
    __idem_arg1: (u8, u8),
    __idem_arg2: P,
) -> ::idem_runtime::__private::Outcome<
    <Result<u8, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(act(__idem_arg0, __idem_arg1, __idem_arg2)).await
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `act` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] fn act_entry() -> ::idem_runtime::__private::Entry
    where Parameters < Refund > : for < '__idem > ::idem_runtime::__private::Described <
    '__idem >, (u8, u8) : for < '__idem > ::idem_runtime::__private::Described < '__idem
    >, P : for < '__idem > ::idem_runtime::__private::Described < '__idem >, < Result <
    u8, E > as ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new("act",
    ::core::module_path!())
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Tenant))
    .key(& [::idem_runtime::__private::KeySource::Template(&
    [::idem_runtime::__private::TemplatePart::Value("refund.order_id"),
    ::idem_runtime::__private::TemplatePart::Text("-"),
    ::idem_runtime::__private::TemplatePart::Value("d")]),
    ::idem_runtime::__private::KeySource::ArgsOf(& ["b", "arg2.region"])]).params(&
    [::idem_runtime::__private::ParamSpec::new("arg0",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("arg1",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("arg2",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("refund.note",
    ::idem_runtime::__private::Mark::Content),
    ::idem_runtime::__private::ParamSpec::new("refund.token",
    ::idem_runtime::__private::Mark::Secret)]); ::idem_runtime::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < Parameters < Refund > > ("arg0", "").argument:: < (u8,
    u8) > ("arg1", "").argument:: < P > ("arg2", ""), move | __idem_call, mut
    __idem_given | { ::idem_runtime::__private::Box::pin(async move { let __idem_arg0 :
    Parameters < Refund > = match __idem_given.take("arg0") {
    ::core::result::Result::Ok(value) => value, ::core::result::Result::Err(answer) =>
    return * answer, }; let __idem_arg1 : (u8, u8) = match __idem_given.take("arg1") {
    ::core::result::Result::Ok(value) => value, ::core::result::Result::Err(answer) =>
    return * answer, }; let __idem_arg2 : P = match __idem_given.take("arg2") {
    ::core::result::Result::Ok(value) => value, ::core::result::Result::Err(answer) =>
    return * answer, }; ::idem_runtime::__private::Answer::of_outcome(&
    ::idem_runtime::__private::scope(__idem_call, async move { act_outcome(__idem_arg0,
    __idem_arg1, __idem_arg2). await }). await) }) },) }
}
