//! What `#[derive(EffectError)]` makes of the case `effect_error_of_a_struct_with_generics` in src/tests/effect_error.rs; `IDEM_BLESS=1` writes it anew.

#[automatically_derived]
#[allow(
    deprecated,
    unreachable_patterns,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    reason = "written by `#[derive(EffectError)]`"
)]
impl<'a, T: Debug + ?Sized, const N: usize> facade::idem::EffectError
for Wrapped<'a, T, N>
where
    T: Send,
    Box<T>: facade::idem::EffectError,
{
    fn effect_class(&self) -> facade::idem::ErrorClass {
        match self {
            Self { inner: __idem_source, .. } => {
                facade::idem::EffectError::effect_class(__idem_source)
            }
        }
    }
}
