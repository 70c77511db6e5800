//! The engine: from a call to an answer, by way of the ledger and, once, the body.
//!
//! Must not know its store. In reading order: the [`tool_call`] and what stands around it ([`around`]), what is
//! [`asked`] of the ledger, how the call [`enter`]s (run, replay, wait, refuse), the [`guard`] that generated code
//! calls with a tool's [`hooks`], how a call that came again [`find_out`]s what happened, what callers are [`told`], and
//! how results and errors are stored ([`codec`]). [`bulk`] makes many calls of one.

mod around;
mod asked;
mod bulk;
mod cache;
mod caller;
mod codec;
mod enter;
mod find_out;
mod guard;
mod hooks;
mod told;
mod tool_call;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

pub use around::{Overheard, outcome, overheard, prepare, probe, scope};
pub use bulk::bulk;
pub use caller::{Caller, ToolCallSource, current, source};
pub use codec::{
    ClassedError, IsResult, MuteError, Policy, Probe, SerdeError, TakesRefusal, TextError, UnclassedError,
    Unsuccessful, ValueCodec,
};
pub use guard::Guard;
pub use hooks::{Again, Hooks, again};
pub use tool_call::{Attempt, ToolCall};

pub(crate) use asked::budget;
pub(crate) use find_out::{found, stored_arguments};
pub(crate) use hooks::{Ask, Asking, Lookups};

use self::cache::{Cache, Reading};
use crate::{
    clock::Clock,
    config::Config,
    identity::Tool,
    ledger::Ledger,
    outcome::{Refusal, RefusalKind},
    retry::Jitter,
    secret::IdentityKey,
    tool::ToolSpec,
};

/// What all calls of one runtime share.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) ledger: Ledger,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: Config,
    pub(crate) identity_key: Option<IdentityKey>,
    pub(crate) single_tenant: Option<Arc<str>>,
    pub(crate) jitter: Jitter,
    cache: Cache,
    reading: Reading,
    tools: RwLock<HashMap<ToolPlace, Known>>,
}

/// A tool as its static description, and for methods the type it belongs to.
type ToolPlace = (usize, Option<&'static str>);

/// A tool under its name in the ledger, or the reason why that name is not its own.
type Known = Result<Arc<Tool>, Arc<str>>;

impl Engine {
    pub(crate) fn new(
        ledger: Ledger,
        clock: Arc<dyn Clock>,
        config: Config,
        identity_key: Option<IdentityKey>,
        single_tenant: Option<Arc<str>>,
        jitter: Jitter,
    ) -> Self {
        let cache = Cache::new(config.cache_bytes);
        let (reading, tools) = (Reading::new(), RwLock::default());
        Self { ledger, clock, config, identity_key, single_tenant, jitter, cache, reading, tools }
    }

    /// The tool as the ledger knows it. Two descriptions that come to one name would share their operations, so
    /// the second is refused.
    pub(crate) fn tool(&self, spec: &'static ToolSpec, of: Option<&'static str>) -> Result<Arc<Tool>, Refusal> {
        let place = (std::ptr::from_ref(spec).addr(), of);
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
        let known = known.unwrap_or_else(|| {
            let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
            let tool = Arc::new(Tool::new(spec, of));
            let taken = tools.iter().any(|((other, _), known)| {
                *other != place.0 && known.as_ref().is_ok_and(|known| known.name == tool.name)
            });
            let known = if taken {
                Err(format!("two tools are known to the ledger as `{}`: give one a `name = \"…\"`", tool.name).into())
            } else {
                Ok(tool)
            };
            tools.entry(place).or_insert(known).clone()
        });
        known.map_err(|taken| Refusal::new(RefusalKind::Invalid).because(taken.to_string()))
    }
}
