//! What `#[idempotent]` makes of the case `template` in src/tests/expansion.rs; `IDEM_BLESS=1` writes it anew.

async fn act(&self, id: u8, order: Order, region: String, db: Db) -> Result<u8, E> {
    static __IDEM_TOOL: ::idem_runtime::__private::ToolSpec = ::idem_runtime::__private::ToolSpec::new(
            "act",
            ::core::module_path!(),
        )
        .scope(
            ::idem_runtime::__private::ScopeSpec::new(
                    ::idem_runtime::__private::ScopeKind::Tenant,
                )
                .with(&["region", "db.shard"]),
        )
        .key(
            &[
                ::idem_runtime::__private::KeySource::Template(
                    &[
                        ::idem_runtime::__private::TemplatePart::Text("{"),
                        ::idem_runtime::__private::TemplatePart::Value("self.merchant"),
                        ::idem_runtime::__private::TemplatePart::Text("} a|b+c/"),
                        ::idem_runtime::__private::TemplatePart::Value("id"),
                        ::idem_runtime::__private::TemplatePart::Text("/"),
                        ::idem_runtime::__private::TemplatePart::Value("order.type"),
                    ],
                ),
                ::idem_runtime::__private::KeySource::ToolCallId,
            ],
        )
        .params(
            &[
                ::idem_runtime::__private::ParamSpec::new(
                    "id",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "order",
                    ::idem_runtime::__private::Mark::Effect,
                ),
                ::idem_runtime::__private::ParamSpec::new(
                    "region",
                    ::idem_runtime::__private::Mark::Effect,
                ),
            ],
        );
    ::idem_runtime::__private::Guard::new(
            &__IDEM_TOOL,
            ::idem_runtime::__private::current(),
            {
                let mut __idem_args = ::idem_runtime::__private::Arguments::new();
                __idem_args.effect("id", &id);
                __idem_args.effect("order", &order);
                __idem_args.effect("region", &region);
                __idem_args.part("db.shard", &db.shard);
                __idem_args.part("self.merchant", &self.merchant);
                __idem_args.part("order.type", &order.r#type);
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
