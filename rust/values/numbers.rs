//! Numbers and texts of numbers as Java reads and writes them.

/// Digits that a decimal has at most.
const MAX_DIGITS: i64 = 38;
/// Exponents beyond this are all the same to a decimal: too large, or zero.
const EXPONENT_LIMIT: i64 = 1_000_000_000;

/// A decimal's unscaled value, rounded half up to `scale`; `None` unless the text is a number of `BigDecimal`'s form
/// that has at most `precision` digits then.
pub(super) fn parse_decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let (is_negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if whole.len() + fraction.len() == 0 || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let leading_zeros = digits().take_while(|digit| *digit == b'0').count();
    let significant = (whole.len() + fraction.len() - leading_zeros) as i64;
    if significant == 0 {
        return Some(0);
    }
    // The point moves right by this many places.
    let shift = exponent - fraction.len() as i64 + i64::from(scale);
    let kept = significant + shift;
    if kept > MAX_DIGITS {
        return None;
    }
    if kept < 0 {
        return Some(0);
    }
    let mut rest = digits().skip(leading_zeros);
    let mut unscaled: i128 = 0;
    for _ in 0..kept {
        unscaled = unscaled * 10 + i128::from(rest.next().map_or(0, |digit| digit - b'0'));
    }
    if rest.next().is_some_and(|digit| digit >= b'5') {
        unscaled += 1;
    }
    if unscaled >= 10i128.checked_pow(u32::from(precision))? {
        return None;
    }
    Some(if is_negative { -unscaled } else { unscaled })
}

fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(EXPONENT_LIMIT).min(EXPONENT_LIMIT);
    Some(if text.starts_with('-') { -size } else { size })
}

/// The text that Java's `Double.toString` gives (JDK 19 and newer: the shortest digits that read back the same).
pub(super) fn java_double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = number.abs();
    if number == 0.0 || (1e-3..1e7).contains(&size) {
        let text = format!("{number}");
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    if mantissa.contains('.') {
        format!("{mantissa}E{exponent}")
    } else {
        format!("{mantissa}.0E{exponent}")
    }
}

/// A word that Spark takes for a number that is none.
pub(super) fn special_number(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "+Infinity" | "+INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

#[cfg(test)]
#[path = "numbers_tests.rs"]
mod tests;
