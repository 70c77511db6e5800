//! The adapter: what stands between an rmcp router and its guarded tools.
//!
//! Must not know what a tool does, nor in which transport a request came.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc, time::Duration};

use idem_runtime::{Idem, ToolSpec, overheard, scope};
use rmcp::{
    handler::server::{
        router::tool::ToolRouter,
        tool::{DynCallToolHandler, ToolCallContext},
    },
    model::CallToolResponse,
};

use crate::{
    answer,
    call::ToolCall,
    hints::{self, Finding, Problem, Promises},
    request::{Names, Request, Unresolved},
};

/// What the application says of a request.
type Resolve = dyn Fn(&Request<'_>, idem_runtime::ToolCall) -> Result<idem_runtime::ToolCall, Unresolved> + Send + Sync;

/// Guards routers: gives each call to its tool, and tells the client what became of it. Cheap to clone.
#[derive(Clone)]
pub struct Adapter {
    idem: Idem,
    names: Arc<Names>,
    resolve: Option<Arc<Resolve>>,
    promises: Promises,
}

impl Adapter {
    /// An adapter on this ledger that reads what known hosts send.
    pub fn new(idem: Idem) -> Self {
        Self { idem, names: Arc::default(), resolve: None, promises: Promises::default() }
    }

    /// Looks for the id of a call under these keys of `_meta`, in place of [`CALL_IDS`](crate::CALL_IDS).
    #[must_use]
    pub fn call_ids<K: Into<Cow<'static, str>>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        self.naming(|names| names.call_ids = keys.into_iter().map(Into::into).collect())
    }

    /// Looks for the turn under these keys of `_meta`, in place of [`TURNS`](crate::TURNS).
    #[must_use]
    pub fn turns<K: Into<Cow<'static, str>>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        self.naming(|names| names.turns = keys.into_iter().map(Into::into).collect())
    }

    /// Looks for the conversation under these keys of `_meta`, in place of [`CONVERSATIONS`](crate::CONVERSATIONS).
    #[must_use]
    pub fn conversations<K: Into<Cow<'static, str>>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        self.naming(|names| names.conversations = keys.into_iter().map(Into::into).collect())
    }

    /// Looks for the id of a call in the arguments too, at this JSON pointer (`/meta/idempotency-key`). Where `_meta` has another
    /// one, the call is refused.
    #[must_use]
    pub fn argument_call_id(self, pointer: impl Into<Cow<'static, str>>) -> Self {
        self.naming(|names| names.argument = Some(pointer.into()))
    }

    /// Has the last word on every request: sets the tenant, the principal, a scope that the application knows.
    ///
    /// ```
    /// # async fn f() -> Result<(), idem_runtime::OpenError> {
    /// use idem_rmcp::{Adapter, Unresolved};
    /// use idem_runtime::Idem;
    ///
    /// let adapter = Adapter::new(Idem::open("sqlite://idem.db").await?).resolve_with(|request, call| {
    ///     let tenant = request.header("x-tenant").ok_or(Unresolved::new("no tenant"))?;
    ///     Ok(call.tenant(tenant))
    /// });
    /// # let _ = adapter; Ok(()) }
    /// ```
    #[must_use]
    pub fn resolve_with<F>(self, resolve: F) -> Self
    where
        F: Fn(&Request<'_>, idem_runtime::ToolCall) -> Result<idem_runtime::ToolCall, Unresolved>
            + Send
            + Sync
            + 'static,
    {
        Self { resolve: Some(Arc::new(resolve)), ..self }
    }

    /// Promises that the ledger outlives processes, and that all replicas of this server have the same one. Without it
    /// no tool gets `idempotentHint`.
    #[must_use]
    pub fn ledger_is_shared(mut self) -> Self {
        self.promises.ledger_is_shared = true;
        self
    }

    /// Promises that what scopes are made of is there also when a client sends a request again by itself: a header, an
    /// argument, not `_meta`. Without it only tools of the scopes `tenant` and `global` get `idempotentHint`.
    #[must_use]
    pub fn scopes_come_again(mut self) -> Self {
        self.promises.scopes_come_again = true;
        self
    }

    /// For how long clients may send a call again, an hour if nothing is said: tools that forget earlier get no
    /// `idempotentHint`.
    #[must_use]
    pub fn resent_within(mut self, span: Duration) -> Self {
        self.promises.resent_within = span;
        self
    }

    /// The router with all its tools guarded that have a guard; `tools` describes these, `[Self::send_refund_spec()]`.
    ///
    /// Sets `idempotentHint` where it is true and takes it from guarded tools where it is not; what [`check`](Self::check) finds
    /// goes to the log. Keep the router: `#[tool_handler]` asks for it at every call.
    pub fn guard<S>(&self, router: ToolRouter<S>, tools: impl IntoIterator<Item = &'static ToolSpec>) -> ToolRouter<S>
    where
        S: Send + Sync + 'static,
    {
        let tools: Vec<_> = tools.into_iter().collect();
        for finding in self.check(&router, tools.iter().copied()) {
            tracing::warn!(tool = finding.tool, "{finding}");
        }
        let mut router = router;
        for route in router.map.values_mut() {
            route.call = self.guarded(Arc::clone(&route.call));
            if let Some(spec) = tools.iter().find(|spec| spec.name() == route.attr.name) {
                let unmet = self.promises.unmet(spec, self.idem.config());
                route.attr.annotations = hints::honest(route.attr.annotations.take(), &unmet);
            }
        }
        router
    }

    /// What is wrong with a router, tool by tool: effects without a guard, annotations that are not true.
    pub fn check<S>(&self, router: &ToolRouter<S>, tools: impl IntoIterator<Item = &'static ToolSpec>) -> Vec<Finding> {
        let specs: BTreeMap<_, _> = tools.into_iter().map(|spec| (spec.name(), spec)).collect();
        let mut routes: Vec<_> = router.map.values().map(|route| &route.attr).collect();
        routes.sort_by(|a, b| a.name.cmp(&b.name));
        let there = routes.iter().flat_map(|tool| {
            let unmet = specs.get(&*tool.name).map(|spec| self.promises.unmet(spec, self.idem.config()));
            let problems = hints::problems(tool.annotations.as_ref(), unmet.as_deref());
            problems.into_iter().map(|problem| Finding { tool: tool.name.to_string(), problem })
        });
        let missing = specs.keys().filter(|name| !router.map.contains_key(**name));
        let missing = missing.map(|name| Finding { tool: (*name).to_owned(), problem: Problem::NotThere });
        there.chain(missing).collect()
    }

    fn guarded<S>(&self, inner: Arc<DynCallToolHandler<S>>) -> Arc<DynCallToolHandler<S>>
    where
        S: Send + Sync + 'static,
    {
        let adapter = self.clone();
        Arc::new(move |mut context: ToolCallContext<'_, S>| {
            let (adapter, inner) = (adapter.clone(), Arc::clone(&inner));
            Box::pin(async move {
                let call = match adapter.resolved(&context) {
                    Ok(call) => call,
                    Err(unresolved) => return Ok::<CallToolResponse, _>(answer::unresolved(&unresolved)),
                };
                context.request_context.extensions.insert(ToolCall::new(call.clone()));
                // Built inside: what a handler does before it is first polled belongs to the call too.
                let handled = scope(call, async move { inner(context).await });
                let (response, heard) = overheard(handled).await;
                answer::told(response, heard.as_ref())
            })
        })
    }

    fn resolved<S>(&self, context: &ToolCallContext<'_, S>) -> Result<idem_runtime::ToolCall, Unresolved> {
        let request = Request::of(context);
        let call = self.names.read(&request, self.idem.call())?;
        match &self.resolve {
            None => Ok(call),
            Some(resolve) => resolve(&request, call),
        }
    }

    fn naming(mut self, set: impl FnOnce(&mut Names)) -> Self {
        set(Arc::make_mut(&mut self.names));
        self
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter").field("names", &self.names).field("promises", &self.promises).finish_non_exhaustive()
    }
}
