//! Numbers: RFC 8785's own samples, ECMAScript's forms, every digit of integers.

use serde_json::Value;

use super::super::{CanonicalErrorKind, number as subject};
use super::{Random, check_refusal, number, raw, refusal, text};

#[test]
fn rfc_8785_appendix_b() {
    let samples: [(u64, &str); 24] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, expected) in samples {
        assert_eq!(text(&f64::from_bits(bits)), expected, "{bits:016x}");
    }
    for bits in [0x7fff_ffff_ffff_ffff, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000] {
        check_refusal(&f64::from_bits(bits), &CanonicalErrorKind::NotFinite, "");
    }
}

#[test]
fn floats_as_ecmascript_prints_them() {
    let samples = [
        (1.0, "1"),
        (1e2, "100"),
        (-1.0, "-1"),
        (0.1, "0.1"),
        (-0.5, "-0.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (0.0001, "0.0001"),
        (0.00015, "0.00015"),
        (12.34, "12.34"),
        (-12.3456, "-12.3456"),
        (12.345_67, "12.34567"),
        (99_999_999_999.999_9, "99999999999.9999"),
        (999_999_999_999.999_9, "999999999999.9999"),
        (4_503_599_627_370_495.5, "4503599627370495.5"),
        (9_007_199_254_740_991.0, "9007199254740991"),
        (9_007_199_254_740_994.0, "9007199254740994"),
        (1e300, "1e+300"),
    ];
    for (value, expected) in samples {
        assert_eq!(text(&value), expected);
    }
}

/// The short way for amounts must agree with the general one wherever it is taken.
#[test]
fn short_decimals_agree_with_ryu() {
    let check = |value: f64| {
        let mut ours = Vec::new();
        subject::write_float(&mut ours, value).expect("finite");
        let expected = ryu_js::Buffer::new().format_finite(value).to_owned();
        assert_eq!(String::from_utf8(ours).expect("UTF-8"), expected, "{:016x}", value.to_bits());
    };
    let random = Random::new(0x1de);
    for _ in 0..20_000 {
        #[expect(clippy::cast_precision_loss, reason = "any float will do")]
        let decimal = |digits: u32, scale: f64| random.below(10_u64.pow(digits)) as f64 / scale;
        for digits in [2, 4, 7, 12, 15, 16, 17] {
            for scale in [10.0, 100.0, 1e4, 1e5, 3.0] {
                let value = decimal(digits, scale);
                let near = f64::from_bits(value.to_bits() ^ random.below(4));
                check(value);
                check(-near);
            }
        }
        let any = f64::from_bits(random.bits());
        if any.is_finite() {
            check(any);
        }
    }
}

#[test]
fn integers_keep_every_digit() {
    assert_eq!(text(&(i8::MIN, i8::MAX, u8::MAX)), "[-128,127,255]");
    assert_eq!(text(&(i16::MIN, u16::MAX, i32::MIN, u32::MAX)), "[-32768,65535,-2147483648,4294967295]");
    assert_eq!(text(&(i64::MIN, u64::MAX)), "[-9223372036854775808,18446744073709551615]");
    assert_eq!(text(&i128::MIN), "-170141183460469231731687303715884105728");
    assert_eq!(text(&u128::MAX), "340282366920938463463374607431768211455");
    let odd = (1_u64 << 53) + 1;
    assert_eq!(text(&odd), "9007199254740993");
    assert_eq!(text(&Value::from(odd)), "9007199254740993");
    assert_ne!(text(&odd), text(&9_007_199_254_740_992.0));
    assert_eq!(text(&(1_u64 << 53)), text(&9_007_199_254_740_992.0));
}

/// R004: a gateway that rewrites `1.0` as `1` changes nothing.
#[test]
fn whole_floats_equal_integers() {
    let parse = |json: &str| serde_json::from_str::<Value>(json).expect("JSON");
    assert_eq!(text(&parse(r#"{"qty":1.0,"p":1e2}"#)), text(&parse(r#"{"p":100,"qty":1}"#)));
    assert_eq!(text(&parse("[-0.0, -0, 0]")), "[0,0,0]");
    assert_eq!(text(&(-0.0_f64, -0.0_f32, 0_i8)), "[0,0,0]");
}

#[test]
fn a_single_float_is_the_double_of_its_value() {
    assert_eq!(text(&1.1_f32), "1.100000023841858");
    assert_eq!(text(&0.5_f32), text(&0.5_f64));
    assert_eq!(text(&16_777_216.0_f32), "16777216");
    check_refusal(&f32::INFINITY, &CanonicalErrorKind::NotFinite, "");
}

#[test]
fn numbers_as_text_are_normalised() {
    let samples = [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e9", "0"),
        ("1.0", "1"),
        ("1e2", "100"),
        ("1E+2", "100"),
        ("-7", "-7"),
        ("1.50", "1.5"),
        ("1e-400", "0"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.0", "9007199254740992"),
        ("123456789012345678901234567890123456789012345", "123456789012345678901234567890123456789012345"),
        ("1e21", "1e+21"),
    ];
    for (given, expected) in samples {
        assert_eq!(text(&number(given)), expected, "number {given}");
        assert_eq!(text(&raw(given)), expected, "raw {given}");
    }
    for given in ["1e400", "-1e400"] {
        check_refusal(&number(given), &CanonicalErrorKind::NotFinite, "");
        check_refusal(&raw(given), &CanonicalErrorKind::NotFinite, "");
    }
    for given in ["", "-", "01", "-01", "+1", "1.", ".5", "1e", "1e+", "1 ", "0x1", "NaN", "inf", "1_0", "1.0.0"] {
        assert_eq!(refusal(&number(given)).kind(), &CanonicalErrorKind::MalformedJson, "{given}");
    }
}
