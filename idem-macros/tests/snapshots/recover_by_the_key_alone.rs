//! What `#[idempotent]` makes of the case `recover_by_the_key_alone` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

pub async fn refund(self: Arc<Self>, id: String) -> Result<Refund, E> {
    ::idem_runtime::__private::Guard::new(
            Self::__idem_refund_spec(),
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("id", &id);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .detached(
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
                { self.go(id).await }
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
    self: Arc<Self>,
    id: String,
) -> ::idem_runtime::__private::Outcome<
    <Result<Refund, E> as ::idem_runtime::__private::IsResult>::Ok,
> {
    ::idem_runtime::__private::outcome(self.refund(id)).await
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
                    "id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .recover(
            &[::idem_runtime::__private::RecoveryStep::ProviderKey(86400u64, 0u32)],
        );
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
pub fn refund_tool(
    this: ::idem_runtime::__private::Arc<Self>,
) -> ::idem_runtime::__private::BoundTool {
    ::idem_runtime::__private::Bound::new(
            ::idem_runtime::__private::policy!(Result < Refund, E >),
            Self::__idem_refund_spec(),
            (this,),
        )
        .of(::core::any::type_name::<Self>())
        .tool()
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
    ::idem_runtime::__private::Tellable < '__idem >, {
    ::idem_runtime::__private::Entry::new(Self::__idem_refund_spec(),
    ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
    __idem_schema.argument:: < String > ("id", ""), move | __idem_call, mut __idem_given
    | { let this = ::core::clone::Clone::clone(& this);
    ::idem_runtime::__private::Box::pin(async move { let id : String = match __idem_given
    .take("id") { ::core::result::Result::Ok(value) => value,
    ::core::result::Result::Err(answer) => return * answer, };
    ::idem_runtime::__private::Answer::of_outcome(&
    ::idem_runtime::__private::scope(__idem_call, async move { Self::refund_outcome(this,
    id). await }). await) }) },) }
}
