//! What `#[idempotent]` makes of the case `patterns` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn act(
    call: ToolCall,
    a: u8,
    __idem_arg2: (u8, u8),
    __idem_arg3: P,
    __idem_arg4: u8,
    __idem_arg5: u8,
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
                ::idem_runtime::__private::KeySource::ToolCallId,
                ::idem_runtime::__private::KeySource::Template(
                    &[
                        ::idem_runtime::__private::TemplatePart::Value("arg3.d"),
                        ::idem_runtime::__private::TemplatePart::Text("-"),
                        ::idem_runtime::__private::TemplatePart::Value("arg2.0"),
                    ],
                ),
            ],
        )
        .params(
            &[
                ::idem_runtime::__private::ParamSpec::new(
                    "_e",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "a",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "arg2",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "arg3",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "arg4",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("_e", &__idem_arg5);
                __idem_args.effect("a", &a);
                __idem_args.effect("arg2", &__idem_arg2);
                __idem_args.effect("arg3", &__idem_arg3);
                __idem_args.effect("arg4", &__idem_arg4);
                __idem_args.part("arg3.d", &__idem_arg3.d);
                __idem_args.part("arg2.0", &__idem_arg2.0);
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
                #[allow(
                    unused_variables,
                    clippy::no_effect_underscore_binding,
                    clippy::shadow_unrelated,
                    reason = "the guard uses it, the body need not"
                )]
                let mut call = __idem_call;
                let mut a = a;
                let (b, c) = __idem_arg2;
                let P { d, .. } = __idem_arg3;
                #[allow(
                    clippy::no_effect_underscore_binding,
                    reason = "the name is the user's"
                )]
                let _e = __idem_arg5;
                {
                    a += b;
                    Ok(a)
                }
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
    call: ToolCall,
    a: u8,
    __idem_arg2: (u8, u8),
    __idem_arg3: P,
    __idem_arg4: u8,
    __idem_arg5: u8,
) -> ::idem_runtime::__private::Outcome<
    <Result<u8, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(
            act(call, a, __idem_arg2, __idem_arg3, __idem_arg4, __idem_arg5),
        )
        .await
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `act` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] fn act_entry() -> ::idem_runtime::__private::Entry
    where u8 : for < '__idem > ::idem_runtime::__private::Described < '__idem >, (u8, u8)
    : for < '__idem > ::idem_runtime::__private::Described < '__idem >, P : for < '__idem
    > ::idem_runtime::__private::Described < '__idem >, u8 : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, u8 : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, < Result < u8, E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new("act",
    ::core::module_path!())
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Tenant))
    .key(& [::idem_runtime::__private::KeySource::ToolCallId,
    ::idem_runtime::__private::KeySource::Template(&
    [::idem_runtime::__private::TemplatePart::Value("arg3.d"),
    ::idem_runtime::__private::TemplatePart::Text("-"),
    ::idem_runtime::__private::TemplatePart::Value("arg2.0")])]).params(&
    [::idem_runtime::__private::ParamSpec::new("_e",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("a",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("arg2",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("arg3",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("arg4",
    ::idem_runtime::__private::Mark::Effect)]); ::idem_runtime::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < u8 > ("a", "").argument:: < (u8, u8) > ("arg2", "")
    .argument:: < P > ("arg3", "").argument:: < u8 > ("arg4", "").argument:: < u8 >
    ("_e", ""), move | __idem_call, mut __idem_given | {
    ::idem_runtime::__private::Box::pin(async move { let a : u8 = match __idem_given
    .take("a") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, }; let __idem_arg2 : (u8, u8)
    = match __idem_given.take("arg2") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, }; let __idem_arg3 : P =
    match __idem_given.take("arg3") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, }; let __idem_arg4 : u8 =
    match __idem_given.take("arg4") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, }; let __idem_arg5 : u8 =
    match __idem_given.take("_e") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(& act_outcome(__idem_call, a,
    __idem_arg2, __idem_arg3, __idem_arg4, __idem_arg5). await) }) },) }
}
