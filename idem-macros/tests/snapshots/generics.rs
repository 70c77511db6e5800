//! What `#[idempotent]` makes of the case `generics` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

pub async fn act<'a, T: Serialize, const N: usize>(
    text: &'a str,
    items: [T; N],
) -> Result<T, E>
where
    T: DeserializeOwned,
{
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
                ::idem_runtime::__private::KeySource::Args,
            ],
        )
        .params(
            &[
                ::idem_runtime::__private::ParamSpec::new(
                    "items",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "text",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("items", &items);
                __idem_args.effect("text", &text);
                __idem_args
            },
        )
        .in_place(
            ::idem_runtime::__private::policy!(Result < T, E >),
            move |__idem_call| async move {
                #[allow(
                    unreachable_code,
                    clippy::all,
                    clippy::pedantic,
                    reason = "only its type is wanted"
                )]
                if false {
                    let __idem_never: Result<T, E> = loop {};
                    return __idem_never;
                }
                { go(text, items).await }
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
pub async fn act_outcome<'a, T: Serialize, const N: usize>(
    text: &'a str,
    items: [T; N],
) -> ::idem_runtime::__private::Outcome<
    <Result<T, E> as ::idem_runtime::__private::IsResult>::Ok,
>
where
    T: DeserializeOwned,
{
    ::idem_runtime::__private::outcome(act::<T, N>(text, items)).await
}
