//! What `#[idempotent]` makes of the case `harness_of_a_shared_method` in src/tests/harness.rs; `IDEM_BLESS=1` writes it anew.

pub(crate) async fn act(self: Arc<Self>) -> Result<u8, E> {
    facade::idem::__private::Guard::new(
            Self::__idem_act_spec(),
            facade::idem::__private::current(),
            facade::idem::__private::Arguments::new(),
        )
        .of(::core::any::type_name::<Self>())
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
                { self.go().await }
            },
        )
        .await
}
#[doc(hidden)]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[idempotent]`"
)]
fn __idem_act_spec() -> &'static facade::idem::__private::ToolSpec {
    static __IDEM_TOOL: facade::idem::__private::ToolSpec = facade::idem::__private::ToolSpec::new(
            "act",
            ::core::module_path!(),
        )
        .scope(
            facade::idem::__private::ScopeSpec::new(
                facade::idem::__private::ScopeKind::Tenant,
            ),
        )
        .key(&[facade::idem::__private::KeySource::ToolCallId]);
    &__IDEM_TOOL
}
#[cfg(test)]
facade::idem::__private::harnessed! {
    #[doc(hidden)] #[allow(dead_code, deprecated, clippy::all, clippy::pedantic,
    clippy::nursery, reason = "written by `#[idempotent]`")] pub (crate) fn
    __idem_act_subject() -> facade::idem::__private::Subject <
    facade::idem::__private::Arc < Self >, () > { facade::idem::__private::Subject:: <
    facade::idem::__private::Arc < Self >, () > ::new(Self::__idem_act_spec(), |
    __idem_call, this, () |
    facade::idem::__private::Box::pin(facade::idem::__private::asked(async move {
    facade::idem::__private::scope(__idem_call, Self::act(this)). await })))
    .of(::core::any::type_name:: < Self > ()) }
}
