//! What `#[derive(EffectError)]` makes of the case `effect_error_of_nothing` in src/tests/effect_error.rs; `IDEM_BLESS=1` writes it anew.

#[automatically_derived]
#[allow(
    deprecated,
    unreachable_patterns,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[derive(EffectError)]`"
)]
impl ::idem_runtime::EffectError for Never {
    fn effect_class(&self) -> ::idem_runtime::ErrorClass {
        match *self {}
    }
}
