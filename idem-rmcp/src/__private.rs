//! What generated code names: the runtime's own, but for how results of rmcp's types are kept and how its errors take a refusal.
//!
//! Not part of the stable interface. Which of the ways is taken is decided where the attribute stands, by method lookup.

use std::marker::PhantomData;

pub use idem_runtime::__private::*;
use rmcp::{
    ErrorData, Json,
    model::{CallToolResponse, CallToolResult},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::values;

/// Finds out how results of a type are kept, `(&&ValueProbe::<T>::new()).values()`.
#[derive(Debug)]
pub struct ValueProbe<T>(PhantomData<fn() -> T>);

impl<T> ValueProbe<T> {
    /// A probe for `T`.
    #[expect(clippy::new_without_default, reason = "generated code asks for it by this name")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

/// Structured results.
pub trait JsonValue<T> {
    /// The codec.
    fn values(&self) -> ValueCodec<Json<T>>
    where
        T: Serialize + DeserializeOwned;
}

impl<T> JsonValue<T> for &ValueProbe<Json<T>> {
    fn values(&self) -> ValueCodec<Json<T>>
    where
        T: Serialize + DeserializeOwned,
    {
        values::json()
    }
}

/// Results and responses that a tool writes itself.
pub trait OwnValue<T> {
    /// The codec.
    fn values(&self) -> ValueCodec<T>;
}

impl OwnValue<CallToolResult> for &ValueProbe<CallToolResult> {
    fn values(&self) -> ValueCodec<CallToolResult> {
        values::result()
    }
}

impl OwnValue<CallToolResponse> for &ValueProbe<CallToolResponse> {
    fn values(&self) -> ValueCodec<CallToolResponse> {
        values::response()
    }
}

/// Everything else.
pub trait SerdeValue<T> {
    /// The codec.
    fn values(&self) -> ValueCodec<T>
    where
        T: Serialize + DeserializeOwned;
}

impl<T> SerdeValue<T> for ValueProbe<T> {
    fn values(&self) -> ValueCodec<T>
    where
        T: Serialize + DeserializeOwned,
    {
        ValueCodec::serde()
    }
}

/// Finds out how an error type takes a refusal, `(&&RefusalProbe::<E>::new()).taker()`.
#[derive(Debug)]
pub struct RefusalProbe<E>(PhantomData<fn() -> E>);

impl<E> RefusalProbe<E> {
    /// A probe for `E`.
    #[expect(clippy::new_without_default, reason = "generated code asks for it by this name")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

/// Errors that cannot have a `From<Refusal>`, since they are another's.
pub trait ForeignError<E> {
    /// How it takes a refusal.
    fn taker(&self) -> fn(Refusal) -> E;
}

impl ForeignError<ErrorData> for &RefusalProbe<ErrorData> {
    fn taker(&self) -> fn(Refusal) -> ErrorData {
        // A guarded router answers with the refusal itself; this is for who calls the tool without one.
        |refusal| ErrorData::internal_error(refusal.to_model_text(), Some(refusal.to_json()))
    }
}

impl ForeignError<String> for &RefusalProbe<String> {
    fn taker(&self) -> fn(Refusal) -> String {
        |refusal| refusal.to_model_text()
    }
}

/// Errors that take one by themselves.
pub trait WillingError<E> {
    /// How it takes a refusal.
    fn taker(&self) -> fn(Refusal) -> E
    where
        E: TakesRefusal;
}

impl<E> WillingError<E> for RefusalProbe<E> {
    fn taker(&self) -> fn(Refusal) -> E
    where
        E: TakesRefusal,
    {
        E::refused
    }
}

/// What a tool declares about its errors, and how its results are kept.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_rmcp_policy {
    ($ret:ty) => {
        $crate::__idem_rmcp_policy!(@ $ret, (asked), (asked))
    };
    ($ret:ty, classify = $classify:path) => {
        $crate::__idem_rmcp_policy!(@ $ret, ($classify), (asked))
    };
    ($ret:ty, refuse = $refuse:path) => {
        $crate::__idem_rmcp_policy!(@ $ret, (asked), ($refuse))
    };
    ($ret:ty, classify = $classify:path, refuse = $refuse:path) => {
        $crate::__idem_rmcp_policy!(@ $ret, ($classify), ($refuse))
    };
    (@ $ret:ty, $classify:tt, $refuse:tt) => {{
        use $crate::__private::{
            ClassedError as _, ForeignError as _, JsonValue as _, MuteError as _, OwnValue as _, SerdeError as _,
            SerdeValue as _, TextError as _, UnclassedError as _, WillingError as _,
        };
        let probe = $crate::__private::Probe::<<$ret as $crate::__private::IsResult>::Err>::new();
        let takes = $crate::__private::RefusalProbe::<<$ret as $crate::__private::IsResult>::Err>::new();
        let keeps = $crate::__private::ValueProbe::<<$ret as $crate::__private::IsResult>::Ok>::new();
        $crate::__private::Policy::<$ret>::new(
            $crate::__idem_rmcp_policy!(@refuse takes, $refuse),
            $crate::__idem_rmcp_policy!(@classify probe, $classify),
            (&&&probe).codec(),
            (&&keeps).values(),
        )
    }};
    (@refuse $probe:ident, (asked)) => { (&&$probe).taker() };
    (@refuse $probe:ident, ($refuse:path)) => {{ let _ = $probe; $refuse }};
    (@classify $probe:ident, (asked)) => { (&&$probe).classifier() };
    (@classify $probe:ident, ($classify:path)) => { $classify };
}

pub use crate::__idem_rmcp_policy as policy;
