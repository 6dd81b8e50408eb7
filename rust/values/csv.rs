//! CSV values: one line of fields, as Spark's `from_csv` reads it.
//!
//! ```text
//! value  := field (sep field)*              field := quoted | anything without sep
//! quoted := '"' (any | '\"' | '\\')* '"' space*, with sep or the end behind it; without the second quote up to the end
//! ```
//!
//! Fields are taken by their place in the schema. A field that is empty is null, in quotes too. A value with fewer or
//! more fields than the schema is bad, with the fields that it has; so is one with a field that does not fit. A value
//! is one line: a line feed within it belongs to a field, one at its end is left out. Nothing else is trimmed.

use std::borrow::Cow;

use arrow_schema::Fields;

use super::calendar::{parse_date, parse_local_timestamp, parse_timestamp};
use super::columns::{Column, Structs};
use super::error::{Result, ValueError};
use super::numbers::parse_decimal;
use super::spec::ValueSpec;
use super::types::sql_name;
use super::verdict::{DecodeOutcome, Reasons};
use super::zone::Zone;

const QUOTE: u8 = b'"';
const ESCAPE: u8 = b'\\';

#[derive(Debug)]
pub(super) struct CsvReader {
    separator: u8,
    zone: Zone,
    /// Fields of a line.
    width: usize,
    /// The wanted field at each place of a line.
    wanted: Vec<Option<usize>>,
    /// Where the fields of the line at hand are.
    fields: Vec<CsvField>,
}

/// A field of a line: its bytes without quotes, and where it ends with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CsvField {
    start: usize,
    end: usize,
    is_quoted: bool,
    whole_end: usize,
}

impl CsvReader {
    pub(super) fn new(spec: &ValueSpec, wanted: &Fields) -> Result<Self> {
        let all = spec.fields()?;
        let corrupt = spec.corrupt_column.as_deref();
        let line: Vec<_> = all
            .iter()
            .filter(|field| Some(field.name().as_str()) != corrupt)
            .collect();
        let place_of = |name: &str| wanted.iter().position(|field| field.name() == name);
        let Ok(separator) = u8::try_from(spec.separator) else {
            return Err(ValueError::Invalid("sep: give one ASCII character".to_owned()));
        };
        Ok(Self {
            separator,
            zone: spec.zone(),
            width: line.len(),
            wanted: line.iter().map(|field| place_of(field.name())).collect(),
            fields: Vec::new(),
        })
    }

    /// Appends one row for the value.
    pub(super) fn append(&mut self, value: &[u8], rows: &mut Structs, reasons: &mut Reasons) -> DecodeOutcome {
        let text = String::from_utf8_lossy(value);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            rows.push_nulls();
            return DecodeOutcome::Good;
        }
        self.split(line.as_bytes());
        let mut is_good = self.fields.len() == self.width;
        if !is_good {
            reasons.add(|| format!("it has {} fields, not {}", self.fields.len(), self.width));
        }
        for (place, wanted) in self.wanted.iter().enumerate() {
            let Some(at) = *wanted else { continue };
            let column = &mut rows.columns[at];
            match self.fields.get(place).map(|field| text_of(line, *field)) {
                None | Some(None) => column.push_null(),
                Some(Some(field)) if append(column, &field, &self.zone) => {}
                Some(Some(field)) => {
                    column.push_null();
                    is_good = false;
                    reasons.add(|| {
                        let wanted = &rows.fields()[at];
                        let start: String = field.chars().take(40).collect();
                        format!(
                            "field {} has {start:?}, which is not of the type {}",
                            wanted.name(),
                            sql_name(wanted.data_type())
                        )
                    });
                }
            }
        }
        rows.end();
        if is_good {
            DecodeOutcome::Good
        } else {
            DecodeOutcome::Bad
        }
    }

    fn split(&mut self, line: &[u8]) {
        self.fields.clear();
        let mut at = 0;
        loop {
            let found = self.next(line, at);
            self.fields.push(found);
            if found.whole_end >= line.len() {
                return;
            }
            at = found.whole_end + 1;
        }
    }

    /// The field that begins at `at`.
    fn next(&self, line: &[u8], at: usize) -> CsvField {
        if line.get(at) == Some(&QUOTE)
            && let Some((end, whole_end)) = self.closing(line, at + 1)
        {
            return CsvField {
                start: at + 1,
                end,
                is_quoted: true,
                whole_end,
            };
        }
        let rest = line.get(at..).unwrap_or_default();
        let len = rest
            .iter()
            .position(|byte| *byte == self.separator)
            .unwrap_or(rest.len());
        CsvField {
            start: at,
            end: at + len,
            is_quoted: false,
            whole_end: at + len,
        }
    }

    /// Where the text in quotes ends, and the field; `None` when something else follows the first quote that is not
    /// escaped: then the quotes belong to the text.
    fn closing(&self, line: &[u8], from: usize) -> Option<(usize, usize)> {
        let mut at = from;
        while at < line.len() {
            match line[at] {
                ESCAPE => at += 2,
                QUOTE => {
                    let rest = &line[at + 1..];
                    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
                    let is_end = rest.get(spaces).is_none_or(|next| *next == self.separator);
                    return is_end.then_some((at, at + 1 + spaces));
                }
                _ => at += 1,
            }
        }
        Some((line.len(), line.len()))
    }
}

/// The text of a field; `None` for null.
fn text_of(line: &str, field: CsvField) -> Option<Cow<'_, str>> {
    let raw = line.get(field.start..field.end).unwrap_or_default();
    if raw.is_empty() {
        return None;
    }
    if !field.is_quoted || !raw.contains('\\') {
        return Some(Cow::Borrowed(raw));
    }
    Some(Cow::Owned(raw.replace("\\\"", "\"").replace("\\\\", "\\")))
}

/// Appends a field; false when it does not fit, and nothing was appended.
fn append(column: &mut Column, text: &str, zone: &Zone) -> bool {
    match column {
        Column::Text(_) => return column.push_text(text),
        Column::Binary(_) => return column.push_bytes(text.as_bytes()),
        Column::Boolean(it) => match text.to_ascii_lowercase().parse() {
            Ok(value) => it.append_value(value),
            Err(_) => return false,
        },
        Column::Byte(it) => return appended(text.parse().ok(), |value| it.append_value(value)),
        Column::Short(it) => return appended(text.parse().ok(), |value| it.append_value(value)),
        Column::Int(it) => return appended(text.parse().ok(), |value| it.append_value(value)),
        Column::Long(it) => return appended(text.parse().ok(), |value| it.append_value(value)),
        Column::Float(it) => return appended(float_of(text).map(|it| it as f32), |value| it.append_value(value)),
        Column::Double(it) => return appended(float_of(text), |value| it.append_value(value)),
        Column::Decimal(it, precision, scale) => {
            let parsed = parse_decimal(&text.replace(',', ""), *precision, *scale);
            return appended(parsed, |value| it.append_value(value));
        }
        Column::Date(it) => return appended(parse_date(text), |value| it.append_value(value)),
        Column::Timestamp(it) => return appended(parse_timestamp(text, zone), |value| it.append_value(value)),
        Column::LocalTimestamp(it) => return appended(parse_local_timestamp(text), |value| it.append_value(value)),
        Column::List(_) | Column::Map(_) | Column::Struct(_) => return false,
    }
    true
}

fn appended<T>(value: Option<T>, append: impl FnOnce(T)) -> bool {
    value.map(append).is_some()
}

/// A number as Java's `Double.parseDouble` takes it, without its hexadecimal form, and Spark's words for what is none.
fn float_of(text: &str) -> Option<f64> {
    match text {
        "NaN" => return Some(f64::NAN),
        "Inf" | "Infinity" | "+Infinity" => return Some(f64::INFINITY),
        "-Inf" | "-Infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let text = text.trim_matches(|character: char| character <= ' ');
    let digits = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    // What Rust takes for a number in words, Java does not.
    let is_number = digits.ends_with(|last: char| last.is_ascii_digit() || last == '.');
    if is_number { digits.parse().ok() } else { None }
}
