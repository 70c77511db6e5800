//! What generated code names. Not part of the stable interface: it changes with the attribute, which comes from the
//! same release.

pub use std::boxed::Box;

pub use crate::{
    engine::{
        Guard, IsResult, MuteError, Policy, Probe, SerdeError, TakesRefusal, TextError, current, outcome, source,
        unclassified,
    },
    identity::Arguments,
    outcome::{Outcome, Refusal},
    tool::{AfterRetention, Effect, KeySource, Mark, OnBusy, ParamSpec, ScopeKind, ScopeSpec, TemplatePart, ToolSpec},
};

/// What a tool declares about its errors.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_policy {
    ($ret:ty) => {
        $crate::__idem_policy!(@ $ret, $crate::__private::unclassified, $crate::__idem_policy!(@from $ret))
    };
    ($ret:ty, classify = $classify:path) => {
        $crate::__idem_policy!(@ $ret, $classify, $crate::__idem_policy!(@from $ret))
    };
    ($ret:ty, refuse = $refuse:path) => {
        $crate::__idem_policy!(@ $ret, $crate::__private::unclassified, $refuse)
    };
    ($ret:ty, classify = $classify:path, refuse = $refuse:path) => {
        $crate::__idem_policy!(@ $ret, $classify, $refuse)
    };
    (@from $ret:ty) => {
        <<$ret as $crate::__private::IsResult>::Err as $crate::__private::TakesRefusal>::refused
    };
    (@ $ret:ty, $classify:expr, $refuse:expr) => {{
        use $crate::__private::{MuteError as _, SerdeError as _, TextError as _};
        $crate::__private::Policy::<$ret>::new(
            $refuse,
            $classify,
            (&&&$crate::__private::Probe::<<$ret as $crate::__private::IsResult>::Err>::new()).codec(),
        )
    }};
}

pub use crate::__idem_policy as policy;
