//! Numbers as Java has them.

use super::{java_double, parse_decimal};

#[test]
fn decimals_are_rounded_half_up_and_refused_beyond_their_digits() {
    let cases = [
        ("1", 10, 2, Some(100)),
        ("1.005", 10, 2, Some(101)),
        ("-1.005", 10, 2, Some(-101)),
        ("1.0049999", 10, 2, Some(100)),
        ("1e-3", 10, 2, Some(0)),
        ("5e-3", 10, 2, Some(1)),
        ("1e5", 10, 2, Some(10_000_000)),
        (".5", 10, 2, Some(50)),
        ("5.", 10, 2, Some(500)),
        ("+5", 10, 2, Some(500)),
        ("99999999.99", 10, 2, Some(9_999_999_999)),
        ("99999999.995", 10, 2, None),
        ("100000000", 10, 2, None),
        ("0e999999999999", 10, 2, Some(0)),
        ("1e999999999999", 10, 2, None),
        ("1e-999999999999", 10, 2, Some(0)),
        ("9".repeat(38).leak(), 38, 0, Some(10i128.pow(38) - 1)),
        ("9".repeat(39).leak(), 38, 0, None),
        ("", 10, 2, None),
        (".", 10, 2, None),
        ("-", 10, 2, None),
        ("1e", 10, 2, None),
        ("1e+", 10, 2, None),
        ("0x1", 10, 2, None),
        (" 1", 10, 2, None),
        ("1_0", 10, 2, None),
    ];
    for (text, precision, scale, unscaled) in cases {
        assert_eq!(parse_decimal(text, precision, scale), unscaled, "{text}");
    }
}

#[test]
fn doubles_are_written_as_java_writes_them() {
    let cases = [
        (1.1, "1.1"),
        (100_000.0, "100000.0"),
        (1e7, "1.0E7"),
        (9_999_999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (-0.0, "-0.0"),
        (1.5e300, "1.5E300"),
        (f64::INFINITY, "Infinity"),
    ];
    for (number, text) in cases {
        assert_eq!(java_double(number), text);
    }
}
