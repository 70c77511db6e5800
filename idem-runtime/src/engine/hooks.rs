//! What a tool brings beside its body: its policy, its own check, its look-ups, and its arguments once more.
//!
//! Plain functions over the arguments: generated code captures nothing in them. Must not know when they are called.

use std::{fmt, sync::Arc};

use super::{
    Engine,
    codec::{IsResult, Policy, ValueCodec},
};
use crate::{
    identity::{Digest, Resources},
    ledger::{BoxFuture, Stored, StoredKind},
    reconcile::{Answered, Asks, Unsettled},
    tool::RecoveryStep,
};

/// A tool's own check of its arguments.
type Validate<R, A> = for<'a> fn(&'a A) -> BoxFuture<'a, Result<(), <R as IsResult>::Err>>;

/// A tool's own look-up.
pub(crate) type Ask<R, A> = for<'a> fn(&'a A, Unsettled) -> BoxFuture<'a, Answered<<R as IsResult>::Ok>>;

/// What a tool brings beside its body.
pub struct Hooks<R: IsResult, A> {
    pub(super) policy: Policy<R>,
    pub(super) args: A,
    pub(super) validate: Option<Validate<R, A>>,
    pub(super) again: Option<fn(&A) -> A>,
    pub(super) lookups: Lookups<R, A>,
}

/// A tool's own ways to find out what happened.
pub(crate) struct Lookups<R: IsResult, A> {
    pub(crate) lookup: Option<Ask<R, A>>,
    pub(crate) search: Option<Ask<R, A>>,
}

impl<R: IsResult, A> Clone for Lookups<R, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: IsResult, A> Copy for Lookups<R, A> {}

impl<R: IsResult, A> Lookups<R, A> {
    /// No way.
    pub(crate) const NONE: Self = Self { lookup: None, search: None };

    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        self.lookup.is_some() || self.search.is_some()
    }
}

impl<R: IsResult, A> Hooks<R, A> {
    /// A tool with this policy, called with `args`.
    pub fn new(policy: Policy<R>, args: A) -> Self {
        Self { policy, args, validate: None, again: None, lookups: Lookups::NONE }
    }

    /// The tool's own check.
    #[must_use]
    pub fn validate(self, validate: Validate<R, A>) -> Self {
        Self { validate: Some(validate), ..self }
    }

    /// The tool's own look-up.
    #[must_use]
    pub fn lookup(mut self, lookup: Ask<R, A>) -> Self {
        self.lookups.lookup = Some(lookup);
        self
    }

    /// The tool's own bounded search.
    #[must_use]
    pub fn search(mut self, search: Ask<R, A>) -> Self {
        self.lookups.search = Some(search);
        self
    }

    /// The arguments for another attempt.
    #[must_use]
    pub fn again(self, again: fn(&A) -> A) -> Self {
        Self { again: Some(again), ..self }
    }
}

impl<R: IsResult, A> fmt::Debug for Hooks<R, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("validates", &self.validate.is_some())
            .field("looks_up", &self.lookups.any())
            .finish_non_exhaustive()
    }
}

/// What a tool with `retry`, or with a look-up beside a provider's key, needs of its parameters.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be handed to another attempt: it does not implement `Clone`",
    label = "`retry`, and a look-up beside `provider_key`, need it",
    note = "derive `Clone` for it, or put an injected dependency behind an `Arc`"
)]
pub trait Again: Sized {
    /// The value for another attempt.
    #[must_use]
    fn once_more(&self) -> Self;
}

impl<T: Clone> Again for T {
    fn once_more(&self) -> Self {
        self.clone()
    }
}

/// The value for another attempt.
pub fn again<T: Again>(value: &T) -> T {
    value.once_more()
}

/// Look-ups over the values that they need.
pub(crate) struct Asking<'a, R: IsResult, A> {
    pub(crate) values: ValueCodec<R::Ok>,
    pub(crate) lookups: Lookups<R, A>,
    pub(crate) with: &'a A,
    pub(crate) engine: &'a Arc<Engine>,
    pub(crate) resources: &'a Resources,
}

impl<R, A> Asks<R::Ok> for Asking<'_, R, A>
where
    R: IsResult,
    A: Sync,
{
    fn ask(&self, step: RecoveryStep, operation: Unsettled) -> Option<BoxFuture<'_, Answered<R::Ok>>> {
        let ask = match step {
            RecoveryStep::ProviderKey(..) => None,
            RecoveryStep::Lookup => self.lookups.lookup,
            RecoveryStep::Search => self.lookups.search,
        };
        ask.map(|ask| ask(self.with, operation))
    }

    fn stored(&self, value: &R::Ok) -> (Stored, Arc<[Digest]>) {
        match self.values.write(value, self.engine.config.result_bytes_max) {
            Ok(stored) => {
                let named = self.resources.of_result(&stored.bytes, self.engine.identity_key.as_ref());
                (stored, named)
            }
            Err(why) => (Stored { kind: StoredKind::NotHeld, bytes: why.as_bytes().into() }, Arc::default()),
        }
    }
}
