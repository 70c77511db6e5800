//! The case `reader` of src/tests/tool_set.rs; `IDEM_BLESS=1` writes it anew.

impl Shop {
    /// Lists orders.
    pub async fn list_orders(
        &self,
        customer: String,
        token: Token,
    ) -> Result<Vec<String>, E> {
        self.orders(customer, token).await
    }
    ::idem_runtime::__private::entry! {
        #[doc = " The tool `list_orders` for a `ToolSet`."] #[allow(dead_code,
        deprecated, unused_mut, unused_variables, clippy::all, clippy::pedantic,
        clippy::nursery, reason = "written by `#[idempotent]`")] pub fn
        list_orders_entry(this : ::idem_runtime::__private::Arc < Self >, token : Token)
        -> ::idem_runtime::__private::Entry where String : for < '__idem >
        ::idem_runtime::__private::Described < '__idem >, ::idem_runtime::__private::Arc
        < Self > : for < '__idem > ::idem_runtime::__private::Kept < '__idem >, Token :
        for < '__idem > ::idem_runtime::__private::Kept < '__idem >, Result < Vec <
        String >, E > : for < '__idem > ::idem_runtime::__private::ToolResult < '__idem
        >, { static __IDEM_TOOL : ::idem_runtime::__private::ToolSpec =
        ::idem_runtime::__private::ToolSpec::new("list_orders", ::core::module_path!())
        .named("orders.list").describe("Lists orders.")
        .effect(::idem_runtime::__private::Effect::Read)
        .scope(::idem_runtime::__private::ScopeSpec::new(::idem_runtime::__private::ScopeKind::Tenant))
        .key(& []).params(& [::idem_runtime::__private::ParamSpec::new("customer",
        ::idem_runtime::__private::Mark::Effect),
        ::idem_runtime::__private::ParamSpec::new("token",
        ::idem_runtime::__private::Mark::Secret)]);
        ::idem_runtime::__private::Entry::new(& __IDEM_TOOL,
        ::core::concat!(::core::file!(), ":", ::core::line!()), | __idem_schema |
        __idem_schema.argument:: < String > ("customer", "Whose."), move | __idem_call,
        mut __idem_given | { let this = ::core::clone::Clone::clone(& this); let token =
        ::core::clone::Clone::clone(& token); ::idem_runtime::__private::Box::pin(async
        move { let customer : String = match __idem_given.take("customer") {
        ::core::result::Result::Ok(value) => value, ::core::result::Result::Err(answer)
        => return * answer, };
        ::idem_runtime::__private::ToolResult::answer(::idem_runtime::__private::scope(__idem_call,
        async move { Self::list_orders(& * this, customer, token). await }). await) })
        },) }
    }
}
