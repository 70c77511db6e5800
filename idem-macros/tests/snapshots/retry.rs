//! What `#[idempotent]` makes of the case `retry` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

pub async fn send(
    call: &ToolCall,
    to: String,
    __idem_arg2: (u8, u8),
    mail: Mail,
) -> Result<u8, E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "send",
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
                    "arg2",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "to",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .retry(4u32, (0u64, 100000000u32), (2u64, 0u32), (20u64, 0u32));
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("arg2", &__idem_arg2);
                __idem_args.effect("to", &to);
                __idem_args
            },
        )
        .full(
            ::idem_runtime::__private::Hooks::new(
                    ::idem_runtime::__private::policy!(Result < u8, E >),
                    (to, __idem_arg2, mail),
                )
                .again(|(to, __idem_arg2, mail)| (
                    ::idem_runtime::__private::again(to),
                    ::idem_runtime::__private::again(__idem_arg2),
                    ::idem_runtime::__private::again(mail),
                )),
            move |__idem_call, (to, __idem_arg2, mail)| async move {
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
                let mut to = to;
                let (a, _) = __idem_arg2;
                { mail.send(to, a).await }
            },
        )
        .await
}
/// What happened, and why: the structured answer of `send`.
#[allow(
    dead_code,
    deprecated,
    clippy::all,
    clippy::pedantic,
    reason = "written by `#[idempotent]`"
)]
pub async fn send_outcome(
    call: &ToolCall,
    to: String,
    __idem_arg2: (u8, u8),
    mail: Mail,
) -> ::idem_runtime::__private::Outcome<
    <Result<u8, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(send(call, to, __idem_arg2, mail)).await
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `send` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] pub fn send_entry(mail : Mail) ->
    ::idem_runtime::__private::Entry where String : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, (u8, u8) : for < '__idem >
    ::idem_runtime::__private::Described < '__idem >, Mail : for < '__idem >
    ::idem_runtime::__private::Kept < '__idem >, < Result < u8, E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec =
    ::idem_runtime::__private::ToolSpec::new("send", ::core::module_path!())
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Tenant))
    .key(& [::idem_runtime::__private::KeySource::ToolCallId,
    ::idem_runtime::__private::KeySource::Args]).params(&
    [::idem_runtime::__private::ParamSpec::new("arg2",
    ::idem_runtime::__private::Mark::Effect),
    ::idem_runtime::__private::ParamSpec::new("to",
    ::idem_runtime::__private::Mark::Effect)]).retry(4u32, (0u64, 100000000u32), (2u64,
    0u32), (20u64, 0u32)); ::idem_runtime::__private::Entry::new(& __IDEM_TOOL,
    ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
    __idem_schema.argument:: < String > ("to", "").argument:: < (u8, u8) > ("arg2", ""),
    move | __idem_call, mut __idem_given | { let mail = ::core::clone::Clone::clone(&
    mail); ::idem_runtime::__private::Box::pin(async move { let to : String = match
    __idem_given.take("to") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, }; let __idem_arg2 : (u8, u8)
    = match __idem_given.take("arg2") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(& send_outcome(& __idem_call, to,
    __idem_arg2, mail). await) }) },) }
}
