//! Dates and times as Spark reads texts when no format is given, which is how it casts a text.
//!
//! ```text
//! date      := [+-]yyyy*[-[m]m[-[d]d[( |T)anything]]]
//! timestamp := [+-]yyyy*[-[m]m[-[d]d[( |T)[h]h[:[m]m[:[s]s[.f*]]][zone]]]], white space around it
//! zone      := Z | UTC | GMT | [UTC|GMT|UT](+|-)h[h][:[m]m[:ss]] | (+|-)hhmm | region, such as Europe/Paris
//! ```
//!
//! Source: Spark's `SparkDateTimeUtils.stringToDate` and `parseTimestampString`.

use super::zone::Zone;

/// Microseconds of a second.
const MICROS: i64 = 1_000_000;
const DAY_SECONDS: i64 = 86_400;
/// Digits of a year at most, and years of Spark's microseconds at most.
const MAX_YEAR_DIGITS: usize = 7;
const MAX_YEAR: i64 = 294_247;
/// Java's zone offsets end here.
const MAX_OFFSET_SECONDS: i64 = 18 * 3600;

/// Days since the epoch of the date of the calendar that Java and Spark use (proleptic Gregorian).
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is a year's last; an era has 400 years.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// A text that is read from its beginning.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    /// A number of so many digits.
    fn number(&mut self, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !digits.contains(&count) {
            return None;
        }
        let (number, rest) = self.0.split_at(count);
        self.0 = rest;
        Some(number.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    /// Year, month and day, of which the later may be missing; how many there are.
    fn date(&mut self) -> Option<(i64, usize)> {
        let is_negative = self.peek() == Some(b'-');
        if is_negative || self.peek() == Some(b'+') {
            self.0 = &self.0[1..];
        }
        let year = self.number(4..=MAX_YEAR_DIGITS)?;
        let year = if is_negative { -year } else { year };
        let (mut parts, mut count) = ([1, 1], 1);
        for part in &mut parts {
            if !self.takes(b'-') {
                break;
            }
            *part = self.number(1..=2)?;
            count += 1;
        }
        Some((days_of(year, parts[0], parts[1])?, count))
    }
}

fn trimmed(text: &str) -> &[u8] {
    // as UTF8String.trimAll: white space and control characters
    text.trim_matches(|character: char| character <= ' ' || character == '\u{7f}')
        .as_bytes()
}

/// Days since the epoch.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    let mut reader = Reader(trimmed(text));
    let (days, count) = reader.date()?;
    let is_end = reader.0.is_empty() || (count == 3 && matches!(reader.peek(), Some(b' ' | b'T')));
    if is_end { i32::try_from(days).ok() } else { None }
}

/// Microseconds since the epoch that a clock shows, with its zone when the text has one.
fn parse_parts(text: &str) -> Option<(i64, Option<Zone>)> {
    let mut reader = Reader(trimmed(text));
    let (days, count) = reader.date()?;
    if days.abs() > MAX_YEAR * 366 {
        return None;
    }
    let mut micros = days.checked_mul(DAY_SECONDS * MICROS)?;
    if reader.0.is_empty() {
        return Some((micros, None));
    }
    if count < 3 || !(reader.takes(b'T') || reader.takes(b' ')) {
        return None;
    }
    let hour = reader.number(1..=2).filter(|it| *it < 24)?;
    let has_minute = reader.takes(b':');
    let minute = if has_minute {
        reader.number(1..=2).filter(|it| *it < 60)?
    } else {
        0
    };
    let mut second = 0;
    let mut fraction = 0;
    if has_minute && reader.takes(b':') {
        second = reader.number(1..=2).filter(|it| *it < 60)?;
        if reader.takes(b'.') {
            fraction = fraction_of(&mut reader);
        }
    }
    micros = micros.checked_add((hour * 3600 + minute * 60 + second) * MICROS + fraction)?;
    let text = reader.0.trim_ascii();
    let zone = if text.is_empty() {
        None
    } else {
        Some(Zone::parse(std::str::from_utf8(text).ok()?)?)
    };
    Some((micros, zone))
}

/// Microseconds of a second's fraction; digits beyond them are passed over.
fn fraction_of(reader: &mut Reader<'_>) -> i64 {
    let count = reader.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = reader.0.split_at(count);
    reader.0 = rest;
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(6);
    padded.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
}

/// The seconds that a zone is ahead of UTC, for a zone that is an offset.
pub(super) fn zone_offset(text: &[u8]) -> Option<i64> {
    if text == b"Z" {
        return Some(0);
    }
    let has_prefix = |prefix: &&[u8]| text.starts_with(prefix);
    let prefixes: [&[u8]; 3] = [b"UTC", b"GMT", b"UT"];
    let prefix = prefixes.iter().find(|prefix| has_prefix(prefix));
    let mut reader = Reader(text.get(prefix.map_or(0, |it| it.len())..)?);
    if reader.0.is_empty() {
        return prefix.map(|_| 0);
    }
    let sign = if reader.takes(b'-') {
        -1
    } else if reader.takes(b'+') {
        1
    } else {
        return None;
    };
    let (hours, minutes) = match reader.number(1..=4)? {
        number @ 0..=99 if !reader.0.is_empty() => {
            if !reader.takes(b':') {
                return None;
            }
            (number, reader.number(1..=2)?)
        }
        number @ 0..=99 => (number, 0),
        number => (number / 100, number % 100),
    };
    let seconds = if reader.takes(b':') { reader.number(2..=2)? } else { 0 };
    let total = hours * 3600 + minutes * 60 + seconds;
    let is_good = reader.0.is_empty() && minutes < 60 && seconds < 60 && total <= MAX_OFFSET_SECONDS;
    is_good.then_some(sign * total)
}

/// Microseconds since the epoch of a moment; `zone` is that of texts that name none.
pub(super) fn parse_timestamp(text: &str, zone: &Zone) -> Option<i64> {
    let (micros, named) = parse_parts(text)?;
    named.as_ref().unwrap_or(zone).moment(micros)
}

/// Microseconds since the epoch of a clock's reading, which names no zone.
pub(super) fn parse_local_timestamp(text: &str) -> Option<i64> {
    let (micros, zone) = parse_parts(text)?;
    zone.is_none().then_some(micros)
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
