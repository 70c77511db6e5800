//! What `#[derive(EffectError)]` makes of the case `effect_error_of_an_enum_with_generics` in src/tests/effect_error.rs; `IDEM_BLESS=1` writes it anew.

#[automatically_derived]
#[allow(
    deprecated,
    unreachable_patterns,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[derive(EffectError)]`"
)]
impl<L, R> ::idem_runtime::EffectError for Either<L, R>
where
    L: ::idem_runtime::EffectError,
{
    fn effect_class(&self) -> ::idem_runtime::ErrorClass {
        match self {
            Self::Left { 0: __idem_source } => {
                ::idem_runtime::EffectError::effect_class(__idem_source)
            }
            Self::Right { .. } => ::idem_runtime::ErrorClass::Retryable,
            Self::Plain { 0: __idem_source } => {
                ::idem_runtime::EffectError::effect_class(__idem_source)
            }
        }
    }
}
