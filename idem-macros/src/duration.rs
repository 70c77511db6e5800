//! The language of durations: `10m`, `30d`, `1h30m`.
//!
//! It must not know what the duration is of.

use crate::text::Text;
use crate::words::{UNITS, list};

/// A length of time as `Duration::new` takes it. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length {
    pub(crate) seconds: u64,
    pub(crate) nanoseconds: u32,
}

/// Reads a duration, or says what is wrong with it.
pub(crate) fn read(text: &Text) -> Result<Length, String> {
    let written = text.as_str().trim();
    let mut rest = written;
    let mut total: u128 = 0;
    if rest.is_empty() {
        return Err("a duration is empty".to_owned());
    }
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let unit_len = after.len() - after.trim_start_matches(|letter: char| letter.is_alphabetic()).len();
        let (unit, after) = after.split_at(unit_len);
        if number.is_empty() || unit.is_empty() {
            return Err(format!("`{written}` is not a duration: it needs whole numbers, each with its unit"));
        }
        let Some((_, size)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
            return Err(format!("unknown unit `{unit}` in duration `{written}`: the units are {}", list(&names)));
        };
        total = number
            .parse::<u128>()
            .ok()
            .and_then(|number| number.checked_mul(*size))
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| format!("duration `{written}` is too long"))?;
        rest = after.trim_start();
    }
    length(total, written)
}

fn length(total: u128, written: &str) -> Result<Length, String> {
    if total == 0 {
        return Err(format!("duration `{written}` is zero"));
    }
    let (seconds, nanoseconds) = (total / 1_000_000_000, total % 1_000_000_000);
    match (u64::try_from(seconds), u32::try_from(nanoseconds)) {
        (Ok(seconds), Ok(nanoseconds)) => Ok(Length { seconds, nanoseconds }),
        _ => Err(format!("duration `{written}` is too long")),
    }
}

/// A duration in the fewest units, as it can be typed.
pub(crate) fn text(length: Length) -> String {
    let mut rest = u128::from(length.seconds) * 1_000_000_000 + u128::from(length.nanoseconds);
    let parts = UNITS.iter().filter_map(|(unit, size)| {
        let count = rest / size;
        rest %= size;
        (count > 0).then(|| format!("{count}{unit}"))
    });
    parts.collect()
}
