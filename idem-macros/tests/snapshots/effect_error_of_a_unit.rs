//! What `#[derive(EffectError)]` makes of the case `effect_error_of_a_unit` in src/tests/effect_error.rs; `IDEM_BLESS=1` writes it anew.

#[automatically_derived]
#[allow(
    deprecated,
    unreachable_patterns,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[derive(EffectError)]`"
)]
impl facade::EffectError for Closed {
    fn effect_class(&self) -> facade::ErrorClass {
        match self {
            Self { .. } => facade::ErrorClass::Final,
        }
    }
}
