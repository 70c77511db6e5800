//! What `#[idempotent]` makes of the case `method` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

pub async fn refund(&self, call: &ToolCall, id: String) -> Result<Refund, E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "refund",
            ::core::module_path!(),
        )
        .scope(
            ::idem_runtime::__private::ScopeSpec::new(
                    ::idem_runtime::__private::ScopeKind::Conversation,
                )
                .with(&["self.merchant"]),
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
                    "id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            call,
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("id", &id);
                __idem_args.part("self.merchant", &self.merchant);
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
                let call = &__idem_call;
                { self.client.refund(id).await }
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
pub async fn refund_outcome(
    &self,
    call: &ToolCall,
    id: String,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(self.refund(call, id)).await
}
::idem_runtime::__private::entry! {
    #[doc = " The tool `refund` for a `ToolSet`."] #[allow(dead_code, deprecated,
    unused_mut, unused_variables, clippy::all, clippy::pedantic, clippy::nursery, reason
    = "written by `#[idempotent]`")] pub fn refund_entry(this :
    ::idem_runtime::__private::Arc < Self >) -> ::idem_runtime::__private::Entry where
    String : for < '__idem > ::idem_runtime::__private::Described < '__idem >,
    ::idem_runtime::__private::Arc < Self > : for < '__idem >
    ::idem_runtime::__private::Kept < '__idem >, < Result < Refund, E > as
    ::idem_runtime::__private::IsResult > ::Ok : for < '__idem >
    ::idem_runtime::__private::Tellable < '__idem >, { static __IDEM_TOOL :
    ::idem_runtime::__private::ToolSpec =
    ::idem_runtime::__private::ToolSpec::new("refund", ::core::module_path!())
    .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Conversation)
    .with(& ["self.merchant"])).key(& [::idem_runtime::__private::KeySource::ToolCallId,
    ::idem_runtime::__private::KeySource::Args]).params(&
    [::idem_runtime::__private::ParamSpec::new("id",
    ::idem_runtime::__private::Mark::Effect)]); ::idem_runtime::__private::Entry::new(&
    __IDEM_TOOL, ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema
    | __idem_schema.argument:: < String > ("id", ""), move | __idem_call, mut
    __idem_given | { let this = ::core::clone::Clone::clone(& this);
    ::idem_runtime::__private::Box::pin(async move { let id : String = match __idem_given
    .take("id") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(& Self::refund_outcome(& * this, &
    __idem_call, id). await) }) },) }
}
