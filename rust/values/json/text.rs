//! Texts of a JSON value: escapes undone, and a value of another kind written anew as Spark gives it to a field of type
//! STRING.

use std::borrow::Cow;

use super::lexer::{Lexer, Span, TokenKind};
use crate::numbers::java_double;

/// What the text says, without its escapes; half of a surrogate pair becomes `?`, as in Java.
pub(super) fn unescaped(raw: &str) -> Cow<'_, str> {
    let Some(first) = raw.find('\\') else {
        return Cow::Borrowed(raw);
    };
    let (plain, mut rest) = raw.split_at(first);
    let mut text = String::with_capacity(raw.len());
    text.push_str(plain);
    while let Some(after) = rest.strip_prefix('\\') {
        let escape = after.chars().next().unwrap_or('\\');
        rest = after.get(escape.len_utf8()..).unwrap_or_default();
        match escape {
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'u' => rest = push_unit(&mut text, rest),
            other => text.push(other),
        }
        let next = rest.find('\\').unwrap_or(rest.len());
        let (plain, after) = rest.split_at(next);
        text.push_str(plain);
        rest = after;
    }
    Cow::Owned(text)
}

/// Appends the character whose first UTF-16 unit `rest` begins with; returns what follows it.
fn push_unit<'a>(text: &mut String, rest: &'a str) -> &'a str {
    let unit_of = |digits: Option<&str>| digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let first = unit_of(rest.get(..4)).unwrap_or_default();
    let after = rest.get(4..).unwrap_or_default();
    let second = after.strip_prefix("\\u").and_then(|next| unit_of(next.get(..4)));
    if let Some(second) = second
        && let Some(Ok(pair)) = char::decode_utf16([first, second]).next()
        && pair.len_utf16() == 2
    {
        text.push(pair);
        return after.get(6..).unwrap_or_default();
    }
    text.push(char::from_u32(u32::from(first)).unwrap_or('?'));
    after
}

/// A value as the text of a field of type STRING; `None` for null.
pub(super) fn text_of(input: &str, span: Span) -> Option<Cow<'_, str>> {
    let raw = input.get(span.start..span.end).unwrap_or_default();
    match span.kind {
        TokenKind::Null => None,
        TokenKind::Escaped => Some(unescaped(raw)),
        TokenKind::Integer if raw == "-0" => Some(Cow::Borrowed("0")),
        TokenKind::Plain | TokenKind::True | TokenKind::False | TokenKind::Integer => Some(Cow::Borrowed(raw)),
        TokenKind::Float | TokenKind::Array | TokenKind::Object => {
            let mut text = String::with_capacity(raw.len());
            write(input, span, &mut text);
            Some(Cow::Owned(text))
        }
    }
}

/// The container that is being written: what ends it, and whether it has no element yet.
struct OpenContainer {
    is_object: bool,
    is_first: bool,
}

/// Writes a checked value without white space, numbers and texts as Java writes them.
fn write(input: &str, span: Span, text: &mut String) {
    let mut lexer = Lexer::at(input.as_bytes(), span);
    let mut open: Vec<OpenContainer> = Vec::new();
    loop {
        match lexer.peek() {
            byte @ (b'{' | b'[') => {
                lexer.open();
                text.push(char::from(byte));
                open.push(OpenContainer {
                    is_object: byte == b'{',
                    is_first: true,
                });
            }
            _ => match lexer.value(0) {
                Ok(scalar) => write_scalar(input, scalar, text),
                Err(_) => return,
            },
        }
        if !write_to_next(input, &mut lexer, &mut open, text) {
            return;
        }
    }
}

/// Writes up to the next value that stands in an open container; false when all are closed.
fn write_to_next(input: &str, lexer: &mut Lexer<'_>, open: &mut Vec<OpenContainer>, text: &mut String) -> bool {
    while let Some(last) = open.last_mut() {
        let is_first = std::mem::replace(&mut last.is_first, false);
        let name = if last.is_object {
            lexer.next_name(is_first).ok().flatten()
        } else {
            None
        };
        let goes_on = name.is_some() || (!last.is_object && lexer.next_element(is_first) == Ok(true));
        if goes_on {
            if !is_first {
                text.push(',');
            }
            if let Some(name) = name {
                write_quoted(&unescaped(input.get(name.start..name.end).unwrap_or_default()), text);
                text.push(':');
            }
            return true;
        }
        text.push(if last.is_object { '}' } else { ']' });
        open.pop();
    }
    false
}

fn write_scalar(input: &str, span: Span, text: &mut String) {
    let raw = input.get(span.start..span.end).unwrap_or_default();
    match span.kind {
        TokenKind::Plain | TokenKind::Escaped => write_quoted(&unescaped(raw), text),
        TokenKind::Float => {
            let number = super::decode::number_of(raw);
            if number.is_finite() {
                text.push_str(&java_double(number));
            } else {
                write_quoted(&java_double(number), text);
            }
        }
        TokenKind::Integer if raw == "-0" => text.push('0'),
        _ => text.push_str(raw),
    }
}

fn write_quoted(plain: &str, text: &mut String) {
    use std::fmt::Write;
    text.push('"');
    for character in plain.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            control if control < ' ' => {
                // A String takes every text.
                let _ = write!(text, "\\u{:04X}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}
