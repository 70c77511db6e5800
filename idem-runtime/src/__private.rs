//! What generated code names. Not part of the stable interface: it changes with the attribute, which comes from the
//! same release.

pub use std::{boxed::Box, sync::Arc};

pub use crate::{
    engine::{
        Again, Caller, ClassedError, Guard, Hooks, IsResult, MuteError, Policy, Probe, SerdeError, TakesRefusal,
        TextError, UnclassedError, Unsuccessful, ValueCodec, again, current, outcome, probe, scope, source,
    },
    identity::Arguments,
    outcome::{Outcome, Refusal},
    reconcile::{Answered, Unsettled, answered},
    reconciler::{Bound, BoundTool, StoredArguments, resent},
    tool::{
        AfterRetention, Effect, KeySource, Mark, OnBusy, OnUnknown, ParamSpec, RecoveryStep, ScopeKind, ScopeSpec,
        TemplatePart, ToolSpec,
    },
};

#[cfg(feature = "testing")]
pub use crate::{
    __idem_suite as suite,
    testing::harness::{Subject, asked},
};

/// What a tool declares about its errors.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_policy {
    ($ret:ty) => {
        $crate::__idem_policy!(@ $ret, (asked), $crate::__idem_policy!(@from $ret))
    };
    ($ret:ty, classify = $classify:path) => {
        $crate::__idem_policy!(@ $ret, ($classify), $crate::__idem_policy!(@from $ret))
    };
    ($ret:ty, refuse = $refuse:path) => {
        $crate::__idem_policy!(@ $ret, (asked), $refuse)
    };
    ($ret:ty, classify = $classify:path, refuse = $refuse:path) => {
        $crate::__idem_policy!(@ $ret, ($classify), $refuse)
    };
    (@from $ret:ty) => {
        <<$ret as $crate::__private::IsResult>::Err as $crate::__private::TakesRefusal>::refused
    };
    (@ $ret:ty, $classify:tt, $refuse:expr) => {{
        use $crate::__private::{
            ClassedError as _, MuteError as _, SerdeError as _, TextError as _, UnclassedError as _,
        };
        let probe = $crate::__private::Probe::<<$ret as $crate::__private::IsResult>::Err>::new();
        $crate::__private::Policy::<$ret>::new(
            $refuse,
            $crate::__idem_policy!(@classify probe, $classify),
            (&&&probe).codec(),
            $crate::__private::ValueCodec::serde(),
        )
    }};
    (@classify $probe:ident, (asked)) => { (&&$probe).classifier() };
    (@classify $probe:ident, ($classify:path)) => { $classify };
}

pub use crate::__idem_policy as policy;

/// What `harness` emits: nothing without the feature, but one line that says what to do.
#[cfg(feature = "testing")]
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_harnessed {
    ($($item:tt)*) => { $($item)* };
}

/// What `harness` emits: nothing without the feature, but one line that says what to do.
#[cfg(not(feature = "testing"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_harnessed {
    ($($item:tt)*) => {
        ::core::compile_error! {
            "the tests of `harness` need the feature `testing` of `idem-runtime`\n\nhelp: write `idem-runtime = { version = \"0.1\", features = [\"testing\"] }` below `[dev-dependencies]` in Cargo.toml"
        }
    };
}

pub use crate::__idem_harnessed as harnessed;
pub use idem_macros::harness_at;

#[cfg(feature = "tools")]
pub use crate::toolset::{Answer, Described, Entry, Given, Kept, Repeats, Schema, Tellable, ToolResult};

/// What stands beside a tool for the tool framework: nothing, where the framework is not wanted.
#[cfg(feature = "tools")]
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_entry {
    ($($item:tt)*) => { $($item)* };
}

/// What stands beside a tool for the tool framework: nothing, where the framework is not wanted.
#[cfg(not(feature = "tools"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_entry {
    ($($item:tt)*) => {};
}

pub use crate::__idem_entry as entry;
