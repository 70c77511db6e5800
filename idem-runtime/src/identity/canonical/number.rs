//! Numbers: floats as ECMAScript prints them, numbers that arrive as JSON text. Must not know objects or texts.

use super::CanonicalErrorKind;
use super::error::Fault;

/// Floats below this, 2^53, are written as integers if they are integers.
const EXACT: u64 = 1 << 53;

/// Decimal places that the short way of [`write_decimal`] covers, as a factor.
const SCALE: u32 = 10_000;

/// Most scaled value of the short way: fifteen digits, all of which a float tells apart.
const SCALED_MAX: u64 = 999_999_999_999_999;

/// Appends an integer, every digit.
#[inline]
pub(super) fn write_integer<I: itoa::Integer>(buf: &mut Vec<u8>, value: I) {
    buf.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a float by its ECMAScript form, negative zero as `0`.
#[inline]
pub(super) fn write_float(buf: &mut Vec<u8>, value: f64) -> Result<(), Fault> {
    // Casts saturate: NaN and everything too large fails the comparison.
    #[expect(clippy::cast_possible_truncation, reason = "checked by the way back")]
    let integer = value as i64;
    #[expect(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "whether the way back loses anything is the question"
    )]
    let whole = integer as f64 == value;
    if whole && integer.unsigned_abs() < EXACT {
        write_integer(buf, integer);
        return Ok(());
    }
    if write_decimal(buf, value) {
        return Ok(());
    }
    if !value.is_finite() {
        return Err(Fault::new(CanonicalErrorKind::NotFinite));
    }
    buf.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
    Ok(())
}

/// The short way for amounts: at most four decimal places and fifteen digits. Tells whether it was taken.
///
/// Division rounds correctly, so if `scaled / 10000` gives the float back, that decimal reads as the float. Two
/// decimals of at most fifteen digits never read as one float, so no other one that short does, and without its
/// trailing zeros it is the shortest.
#[inline]
fn write_decimal(buf: &mut Vec<u8>, value: f64) -> bool {
    let magnitude = value.abs();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and checked by the way back"
    )]
    let scaled = (magnitude * f64::from(SCALE) + 0.5) as u64;
    #[expect(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "at most fifteen digits, and only this very float will do"
    )]
    let exact = scaled <= SCALED_MAX && scaled as f64 / f64::from(SCALE) == magnitude;
    if !exact {
        return false;
    }
    let (whole, places) = (scaled / u64::from(SCALE), scaled % u64::from(SCALE));
    if value < 0.0 {
        buf.push(b'-');
    }
    write_integer(buf, whole);
    let digit = |power: u64| b'0' + (places / power % 10) as u8;
    let digits = [b'.', digit(1000), digit(100), digit(10), digit(1)];
    // Never all zeros: integers went another way.
    let len = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |last| last + 1);
    buf.extend_from_slice(digits.get(..len).unwrap_or_default());
    true
}

/// Appends a number given as JSON text: an integer by its digits, anything else as the float it reads as.
pub(super) fn write_text(buf: &mut Vec<u8>, text: &str) -> Result<(), Fault> {
    let malformed = || Fault::new(CanonicalErrorKind::MalformedJson);
    match measure(text.as_bytes()) {
        Some(Shape { len, integral: true }) if len == text.len() => {
            let text = if text == "-0" { "0" } else { text };
            buf.extend_from_slice(text.as_bytes());
            Ok(())
        }
        Some(Shape { len, integral: false }) if len == text.len() => {
            write_float(buf, text.parse().map_err(|_| malformed())?)
        }
        _ => Err(malformed()),
    }
}

/// The extent of a number in JSON text.
pub(super) struct Shape {
    /// Its length in bytes.
    pub(super) len: usize,
    /// Whether it has neither fraction nor exponent.
    integral: bool,
}

/// Finds the number at the start of a JSON text, by JSON's grammar: no plus, no leading zeros.
pub(super) fn measure(text: &[u8]) -> Option<Shape> {
    let digits = |from: usize| text.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = usize::from(text.first() == Some(&b'-'));
    let whole = digits(sign);
    if whole == 0 || (whole > 1 && text.get(sign) == Some(&b'0')) {
        return None;
    }
    let mut len = sign + whole;
    let mut integral = true;
    if text.get(len) == Some(&b'.') {
        let places = digits(len + 1);
        if places == 0 {
            return None;
        }
        len += 1 + places;
        integral = false;
    }
    if matches!(text.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(len + 1), Some(b'+' | b'-')));
        let exponent = digits(len + 1 + sign);
        if exponent == 0 {
            return None;
        }
        len += 1 + sign + exponent;
        integral = false;
    }
    Some(Shape { len, integral })
}
