//! The wanted fields of JSON objects, appended to typed columns.
//!
//! A value is taken in two steps. (A) The lexer goes over all of it and notes where the wanted fields are, so that a
//! value with an error of syntax anywhere appends nothing. (B) The noted fields are converted. A field that does not
//! fit its type becomes null, and the rest of the value is kept, in nested objects too, also in those within lists and
//! maps; a list or a map of which another element does not fit becomes null. So does Spark's `from_json`. Of a field
//! that is named twice the last counts. Names of fields are compared with those of the value before at the same place
//! first: most values of a topic have the same names in the same order.

use std::collections::HashMap;

use arrow_schema::{DataType, Fields};

use super::lexer::{JsonError, Lexer, Span, TokenKind};
use super::text::{text_of, unescaped};
use crate::calendar::{parse_date, parse_local_timestamp, parse_timestamp};
use crate::columns::{Column, Lists, Maps, Structs};
use crate::numbers::{parse_decimal, special_number};
use crate::types::sql_name;
use crate::verdict::{DecodeOutcome, Reasons};
use crate::zone::Zone;

/// 1582-10-15; Spark moves earlier days from the Julian calendar.
const FIRST_GREGORIAN_DAY: i32 = -141_427;
/// Names that are remembered of an object.
const MAX_REMEMBERED: usize = 1024;

/// Reads values into the columns of one struct.
#[derive(Debug)]
pub(crate) struct JsonReader {
    shape: Shape,
    zone: Zone,
}

/// What is known of an object of the schema.
#[derive(Debug)]
struct Shape {
    by_name: HashMap<String, usize>,
    /// The names of the object before, in order, and which of the wanted fields each is.
    remembered: Vec<(Box<[u8]>, Option<usize>)>,
    /// Where the wanted fields of the object at hand are.
    spans: Vec<Option<Span>>,
    nodes: Vec<Node>,
}

/// What is below a field.
#[derive(Debug)]
enum Node {
    Plain,
    Within(Box<Node>),
    Object(Box<Shape>),
}

impl Node {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Struct(fields) => Self::Object(Box::new(Shape::of(fields))),
            DataType::List(element) => Self::Within(Box::new(Self::of(element.data_type()))),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(pair) if pair.len() == 2 => Self::Within(Box::new(Self::of(pair[1].data_type()))),
                _ => Self::Plain,
            },
            _ => Self::Plain,
        }
    }
}

impl Shape {
    fn of(fields: &Fields) -> Self {
        let names = fields.iter().enumerate();
        Self {
            by_name: names.map(|(at, field)| (field.name().clone(), at)).collect(),
            remembered: Vec::new(),
            spans: vec![None; fields.len()],
            nodes: fields.iter().map(|field| Node::of(field.data_type())).collect(),
        }
    }

    /// Step A for the object that is open.
    fn note(&mut self, input: &str, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        self.spans.fill(None);
        let mut place = 0;
        while let Some(name) = lexer.next_name(place == 0)? {
            let field = self.field(input, name, place);
            let value = lexer.value(1)?;
            if let Some(field) = field {
                self.spans[field] = Some(value);
            }
            place += 1;
        }
        Ok(())
    }

    #[inline]
    fn field(&mut self, input: &str, name: Span, place: usize) -> Option<usize> {
        let raw = name.of(input.as_bytes());
        match self.remembered.get(place) {
            Some((known, field)) if **known == *raw && name.kind == TokenKind::Plain => *field,
            _ => self.look_up(input, name, place),
        }
    }

    #[cold]
    fn look_up(&mut self, input: &str, name: Span, place: usize) -> Option<usize> {
        let raw = input.get(name.start..name.end).unwrap_or_default();
        if name.kind == TokenKind::Escaped {
            return self.by_name.get(unescaped(raw).as_ref()).copied();
        }
        let field = self.by_name.get(raw).copied();
        let remembered = (raw.as_bytes().into(), field);
        if place < self.remembered.len() {
            self.remembered[place] = remembered;
        } else if place == self.remembered.len() && place < MAX_REMEMBERED {
            self.remembered.push(remembered);
        }
        field
    }

    /// Step B: appends a row. Whether all of it fits.
    fn append(&mut self, input: &str, structs: &mut Structs, zone: &Zone, reasons: &mut Reasons) -> bool {
        let mut fits = true;
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let Some(span) = self.spans[at] else {
                structs.columns[at].push_null();
                continue;
            };
            if append(&mut structs.columns[at], node, input, span, zone, reasons) != Fit::Whole {
                fits = false;
                reasons.add(|| {
                    let field = &structs.fields()[at];
                    unfit(field.name(), field.data_type(), input, span)
                });
            }
        }
        structs.end();
        fits
    }
}

fn unfit(name: &str, data_type: &DataType, input: &str, span: Span) -> String {
    let raw: String = input
        .get(span.start..span.end)
        .unwrap_or_default()
        .chars()
        .take(40)
        .collect();
    format!(
        "field {name} has {raw:?}, which is not of the type {}",
        sql_name(data_type)
    )
}

impl JsonReader {
    pub(crate) fn new(fields: &Fields, zone: Zone) -> Self {
        Self {
            shape: Shape::of(fields),
            zone,
        }
    }

    /// Appends one row for the value.
    pub(crate) fn append(&mut self, value: &[u8], rows: &mut Structs, reasons: &mut Reasons) -> DecodeOutcome {
        match std::str::from_utf8(value) {
            Ok(text) => self.append_text(text, rows, reasons),
            // Java puts U+FFFD for what is not UTF-8.
            Err(_) => self.append_text(&String::from_utf8_lossy(value), rows, reasons),
        }
    }

    fn append_text(&mut self, text: &str, rows: &mut Structs, reasons: &mut Reasons) -> DecodeOutcome {
        let mut lexer = Lexer::new(text.as_bytes());
        if lexer.peek() <= b' ' && text.bytes().all(|byte| byte <= b' ') {
            rows.push_null();
            return DecodeOutcome::Good;
        }
        if let Err(malformed) = self.note(text, &mut lexer) {
            rows.push_nulls();
            reasons.add(|| format!("byte {}: {}", malformed.at, malformed.reason));
            return DecodeOutcome::Bad;
        }
        if self.shape.append(text, rows, &self.zone, reasons) {
            DecodeOutcome::Good
        } else {
            DecodeOutcome::Bad
        }
    }

    fn note(&mut self, text: &str, lexer: &mut Lexer<'_>) -> Result<(), JsonError> {
        if lexer.peek() != b'{' {
            let span = lexer.value(0)?;
            return Err(JsonError {
                at: span.start,
                reason: "the value is no object",
            });
        }
        lexer.open();
        self.shape.note(text, lexer)?;
        lexer.finish()
    }
}

/// The number that a token of digits or a word is; -0 is an integer for Java, and has no sign then.
pub(super) fn number_of(raw: &str) -> f64 {
    if raw == "-0" {
        return 0.0;
    }
    special_number(raw).unwrap_or_else(|| raw.parse().unwrap_or(f64::NAN))
}

/// How much of a value was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Whole,
    /// Fields of an object within it do not fit, and are null.
    Part,
    /// It is null.
    None,
}

/// Appends one row.
fn append(column: &mut Column, node: &mut Node, input: &str, span: Span, zone: &Zone, reasons: &mut Reasons) -> Fit {
    if span.kind == TokenKind::Null {
        column.push_null();
        return Fit::Whole;
    }
    let nested = match (&mut *column, &mut *node) {
        (Column::Struct(structs), Node::Object(shape)) if span.kind == TokenKind::Object => {
            append_object(structs, shape, input, span, zone, reasons)
        }
        (Column::List(lists), Node::Within(node)) if span.kind == TokenKind::Array => {
            Some(append_list(lists, node, input, span, zone, reasons))
        }
        (Column::Map(maps), Node::Within(node)) if span.kind == TokenKind::Object => {
            Some(append_map(maps, node, input, span, zone, reasons))
        }
        _ => append_plain(column, input, span, zone).then_some(Fit::Whole),
    };
    nested.unwrap_or_else(|| {
        column.push_null();
        Fit::None
    })
}

/// `None` when nothing was appended.
fn append_object(
    structs: &mut Structs,
    shape: &mut Shape,
    input: &str,
    span: Span,
    zone: &Zone,
    reasons: &mut Reasons,
) -> Option<Fit> {
    let mut lexer = Lexer::inside(input.as_bytes(), span);
    shape.note(input, &mut lexer).ok()?;
    let fits = shape.append(input, structs, zone, reasons);
    Some(if fits { Fit::Whole } else { Fit::Part })
}

fn append_list(lists: &mut Lists, node: &mut Node, input: &str, span: Span, zone: &Zone, reasons: &mut Reasons) -> Fit {
    let mut lexer = Lexer::inside(input.as_bytes(), span);
    let mut fit = Fit::Whole;
    let mut is_first = true;
    while fit != Fit::None && lexer.next_element(is_first) == Ok(true) {
        is_first = false;
        let Ok(element) = lexer.value(0) else { break };
        fit = fit.max(append(&mut lists.element, node, input, element, zone, reasons));
    }
    lists.end(fit != Fit::None);
    fit
}

fn append_map(maps: &mut Maps, node: &mut Node, input: &str, span: Span, zone: &Zone, reasons: &mut Reasons) -> Fit {
    let mut lexer = Lexer::inside(input.as_bytes(), span);
    let mut fit = Fit::Whole;
    let mut is_first = true;
    while fit != Fit::None
        && let Ok(Some(name)) = lexer.next_name(is_first)
    {
        is_first = false;
        let Ok(value) = lexer.value(0) else { break };
        let key = unescaped(input.get(name.start..name.end).unwrap_or_default());
        if !maps.keys.push_text(&key) {
            fit = Fit::None;
            break;
        }
        fit = fit.max(append(&mut maps.values, node, input, value, zone, reasons));
    }
    maps.end(fit != Fit::None);
    fit
}

/// Appends a value that has no parts; false when it does not fit, and nothing was appended.
fn append_plain(column: &mut Column, input: &str, span: Span, zone: &Zone) -> bool {
    let raw = input.get(span.start..span.end).unwrap_or_default();
    let is_number = matches!(span.kind, TokenKind::Integer | TokenKind::Float);
    let text = || match span.kind {
        TokenKind::Plain => Some(std::borrow::Cow::Borrowed(raw)),
        TokenKind::Escaped => Some(unescaped(raw)),
        _ => None,
    };
    let integer = || {
        (span.kind == TokenKind::Integer)
            .then(|| raw.parse::<i64>().ok())
            .flatten()
    };
    match column {
        Column::Text(_) => text_of(input, span).is_some_and(|text| column.push_text(&text)),
        Column::Binary(_) => text()
            .and_then(|text| base64_of(&text))
            .is_some_and(|bytes| column.push_bytes(&bytes)),
        Column::Boolean(it) => match span.kind {
            TokenKind::True | TokenKind::False => {
                it.append_value(span.kind == TokenKind::True);
                true
            }
            _ => false,
        },
        Column::Byte(it) => appended(narrowed(integer()), |value| it.append_value(value)),
        Column::Short(it) => appended(narrowed(integer()), |value| it.append_value(value)),
        Column::Int(it) => appended(narrowed(integer()), |value| it.append_value(value)),
        Column::Long(it) => appended(integer(), |value| it.append_value(value)),
        Column::Float(it) => {
            let number = if is_number {
                // Not through a double, which would round twice.
                match special_number(raw) {
                    Some(number) => Some(number as f32),
                    None if raw == "-0" => Some(0.0),
                    None => raw.parse().ok(),
                }
            } else {
                text()
                    .and_then(|text| special_number(&text))
                    .map(|number| number as f32)
            };
            appended(number, |value| it.append_value(value))
        }
        Column::Double(it) => {
            let number = if is_number {
                Some(number_of(raw))
            } else {
                text().and_then(|text| special_number(&text))
            };
            appended(number, |value| it.append_value(value))
        }
        Column::Decimal(it, precision, scale) => {
            let parsed = if is_number {
                parse_decimal(raw, *precision, *scale)
            } else {
                text().and_then(|text| parse_decimal(&text.replace(',', ""), *precision, *scale))
            };
            appended(parsed, |value| it.append_value(value))
        }
        Column::Date(it) => appended(
            text().and_then(|text| parse_date(&text).or_else(|| days_of(&text))),
            |value| it.append_value(value),
        ),
        Column::Timestamp(it) => {
            let micros = match integer() {
                Some(seconds) => seconds.checked_mul(1_000_000),
                None => text().and_then(|text| parse_timestamp(&text, zone)),
            };
            appended(micros, |value| it.append_value(value))
        }
        Column::LocalTimestamp(it) => {
            let micros = text().and_then(|text| parse_local_timestamp(&text));
            appended(micros, |value| it.append_value(value))
        }
        Column::List(_) | Column::Map(_) | Column::Struct(_) => false,
    }
}

/// Days since the epoch, in digits: what Spark 1.5 wrote for a date.
fn days_of(text: &str) -> Option<i32> {
    text.parse().ok().filter(|days| *days >= FIRST_GREGORIAN_DAY)
}

fn narrowed<T: TryFrom<i64>>(number: Option<i64>) -> Option<T> {
    T::try_from(number?).ok()
}

fn appended<T>(value: Option<T>, append: impl FnOnce(T)) -> bool {
    value.map(append).is_some()
}

fn base64_of(text: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    STANDARD.decode(text).ok()
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
