//! A tool bound to its state: what it takes to find out about its operations without a caller.
//!
//! Must not know when it is asked.

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    engine::{Ask, Asking, Engine, IsResult, Lookups, Policy, ToolCall, ValueCodec},
    identity::Resources,
    ledger::{BoxFuture, Judge},
    reconcile::{Chain, Unsettled},
    tool::ToolSpec,
};

/// A tool together with its state, for [`Idem::reconciler`](crate::Idem::reconciler). The attribute writes a function
/// that makes one beside every tool that declares `recover(…)`: `send_refund_tool(state)`. Cheap to clone.
#[derive(Clone)]
pub struct BoundTool {
    spec: &'static ToolSpec,
    of: Option<&'static str>,
    work: Arc<dyn Work>,
}

/// What a bound tool can do, whatever its types.
pub(super) trait Work: Send + Sync {
    /// Asks the tool's look-ups.
    fn pass<'a>(
        &'a self,
        engine: &'a Arc<Engine>,
        chain: Chain<'a>,
        operation: &'a Unsettled,
        fence: i64,
    ) -> BoxFuture<'a, Judge>;

    /// Calls the tool with stored arguments; `None` where it cannot be.
    fn resend(&self, call: ToolCall, arguments: StoredArguments) -> Option<BoxFuture<'_, Result<(), String>>>;
}

/// A tool's call with stored arguments.
type Resend<S> = for<'a> fn(&'a S, ToolCall, StoredArguments) -> BoxFuture<'a, Result<(), String>>;

/// A tool on its way to being bound. Made by generated code.
pub struct Bound<R: IsResult, S> {
    spec: &'static ToolSpec,
    of: Option<&'static str>,
    state: S,
    values: ValueCodec<R::Ok>,
    lookups: Lookups<R, S>,
    resend: Option<Resend<S>>,
}

impl<R: IsResult, S> Bound<R, S> {
    /// A tool with its state.
    pub fn new(policy: Policy<R>, spec: &'static ToolSpec, state: S) -> Self {
        Self { spec, of: None, state, values: policy.values, lookups: Lookups::NONE, resend: None }
    }

    /// The type whose method the tool is.
    #[must_use]
    pub fn of(self, type_name: &'static str) -> Self {
        Self { of: Some(type_name), ..self }
    }

    /// The tool's own look-up.
    #[must_use]
    pub fn lookup(mut self, lookup: Ask<R, S>) -> Self {
        self.lookups.lookup = Some(lookup);
        self
    }

    /// The tool's own bounded search.
    #[must_use]
    pub fn search(mut self, search: Ask<R, S>) -> Self {
        self.lookups.search = Some(search);
        self
    }

    /// The tool's call with stored arguments.
    #[must_use]
    pub fn resend(self, resend: Resend<S>) -> Self {
        Self { resend: Some(resend), ..self }
    }

    /// The bound tool.
    pub fn tool(self) -> BoundTool
    where
        R: 'static,
        R::Ok: Send,
        S: Send + Sync + 'static,
    {
        let Self { spec, of, .. } = self;
        BoundTool { spec, of, work: Arc::new(self) }
    }
}

impl<R, S> Work for Bound<R, S>
where
    R: IsResult + 'static,
    R::Ok: Send,
    S: Send + Sync + 'static,
{
    fn pass<'a>(
        &'a self,
        engine: &'a Arc<Engine>,
        chain: Chain<'a>,
        operation: &'a Unsettled,
        fence: i64,
    ) -> BoxFuture<'a, Judge> {
        Box::pin(async move {
            let resources = Resources::of_result_alone(self.spec);
            let asking =
                Asking { values: self.values, lookups: self.lookups, with: &self.state, engine, resources: &resources };
            chain.pass(operation, fence, &asking).await
        })
    }

    fn resend(&self, call: ToolCall, arguments: StoredArguments) -> Option<BoxFuture<'_, Result<(), String>>> {
        self.resend.map(|resend| resend(&self.state, call, arguments))
    }
}

impl BoundTool {
    /// The name under which the ledger knows the tool.
    pub fn name(&self) -> String {
        self.spec.ledger_name(self.of)
    }

    pub(super) fn spec(&self) -> &'static ToolSpec {
        self.spec
    }

    pub(super) fn work(&self) -> &dyn Work {
        &*self.work
    }
}

impl fmt::Debug for BoundTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundTool").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl<R: IsResult, S> fmt::Debug for Bound<R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("spec", &self.spec.name()).finish_non_exhaustive()
    }
}

/// Stored arguments, handed out one by one.
#[derive(Debug)]
pub struct StoredArguments(Map<String, Value>);

impl StoredArguments {
    pub(super) fn read(json: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(json)
            .map(Self)
            .map_err(|error| format!("the stored arguments are not readable: {error}"))
    }

    /// The argument of this name. One that was `None` was not stored.
    ///
    /// # Errors
    /// What is wrong with it, when it does not read as a `T`.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, String> {
        let value = self.0.remove(name).unwrap_or(Value::Null);
        serde_json::from_value(value).map_err(|error| format!("the stored argument `{name}` is not readable: {error}"))
    }
}

/// A tool's call whose result only the ledger needs.
pub async fn resent<R: IsResult>(call: impl Future<Output = R>) -> Result<(), String> {
    // Whatever it came to stands in the record.
    drop(call.await);
    Ok(())
}
