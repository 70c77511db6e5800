//! What `#[idempotent]` makes of the case `resources` in src/tests/recovery.rs; `IDEM_BLESS=1` writes it anew.

async fn act(&self, order: Order, line: u8) -> Result<u8, E> {
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
                    &[::idem_runtime::__private::TemplatePart::Value("order.id")],
                ),
            ],
        )
        .params(
            &[
                ::idem_runtime::__private::ParamSpec::new(
                    "line",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        )
        .resources(
            &[
                &[
                    ::idem_runtime::__private::TemplatePart::Text("order:"),
                    ::idem_runtime::__private::TemplatePart::Value("order.id"),
                ],
                &[
                    ::idem_runtime::__private::TemplatePart::Text("line:"),
                    ::idem_runtime::__private::TemplatePart::Value("order.id"),
                    ::idem_runtime::__private::TemplatePart::Text("/"),
                    ::idem_runtime::__private::TemplatePart::Value("line"),
                ],
                &[
                    ::idem_runtime::__private::TemplatePart::Text("{refund|}:"),
                    ::idem_runtime::__private::TemplatePart::Result("id"),
                ],
                &[
                    ::idem_runtime::__private::TemplatePart::Result("a.b"),
                    ::idem_runtime::__private::TemplatePart::Result(""),
                ],
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("line", &line);
                __idem_args.effect("order", &order);
                __idem_args.part("order.id", &order.id);
                __idem_args
            },
        )
        .of(::core::any::type_name::<Self>())
        .in_place(
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
                { go().await }
            },
        )
        .await
}
