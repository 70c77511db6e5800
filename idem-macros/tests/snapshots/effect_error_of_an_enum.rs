//! What `#[derive(EffectError)]` makes of the case `effect_error_of_an_enum` in src/tests/effect_error.rs; `IDEM_BLESS=1` writes it anew.

#[automatically_derived]
#[allow(
    deprecated,
    unreachable_patterns,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[derive(EffectError)]`"
)]
impl ::idem_runtime::EffectError for PaymentError {
    fn effect_class(&self) -> ::idem_runtime::ErrorClass {
        match self {
            Self::Busy { .. } => ::idem_runtime::ErrorClass::Retryable,
            Self::Declined { .. } => ::idem_runtime::ErrorClass::Final,
            Self::Lost { .. } => ::idem_runtime::ErrorClass::Unknown,
            Self::Unmarked { .. } => ::idem_runtime::ErrorClass::Unknown,
            Self::Only { 0: __idem_source } => {
                ::idem_runtime::EffectError::effect_class(__idem_source)
            }
            Self::Named { bank: __idem_source } => {
                ::idem_runtime::EffectError::effect_class(__idem_source)
            }
            Self::From { 0: __idem_source, .. } => {
                ::idem_runtime::EffectError::effect_class(__idem_source)
            }
            Self::Source { r#type: __idem_source, .. } => {
                ::idem_runtime::EffectError::effect_class(__idem_source)
            }
            Self::Ours { bank: __idem_source, .. } => {
                ::idem_runtime::EffectError::effect_class(__idem_source)
            }
        }
    }
}
