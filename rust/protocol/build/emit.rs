//! The Rust statics of the table.

use std::fmt::Write as _;

use super::grammar::{Field, Message, Range};

/// The primitive types: the table's name, and the variant of `Kind`.
pub const PRIMITIVES: &[(&str, &str)] = &[
    ("bool", "Bool"),
    ("int8", "Int8"),
    ("int16", "Int16"),
    ("uint16", "UInt16"),
    ("int32", "Int32"),
    ("uint32", "UInt32"),
    ("int64", "Int64"),
    ("float64", "Float64"),
    ("error_code", "ErrorCode"),
    ("uuid", "Uuid"),
    ("string", "Text"),
    ("bytes", "Bytes"),
    ("records", "Records"),
];

/// The text of `messages.rs`, from messages with the names of their files.
pub fn messages(messages: &[(String, Message)]) -> Result<String, String> {
    let mut out = String::new();
    let mut number = 0;
    for (nth, (_, message)) in messages.iter().enumerate() {
        let versions = message.versions.last - message.versions.first + 1;
        let cells = format!("[const {{ std::sync::OnceLock::new() }}; {versions}]");
        let _ = writeln!(
            out,
            "static SCHEMAS_{nth}: [std::sync::OnceLock<Schema>; {versions}] = {cells};"
        );
    }
    let _ = writeln!(out, "/// Every message, by file and in the order of the file.");
    let _ = writeln!(out, "pub static MESSAGES: &[Message] = &[");
    for (nth, (module, message)) in messages.iter().enumerate() {
        let kind = match &*message.kind {
            "request" => "Request",
            "response" => "Response",
            "header" => "Header",
            "data" => "Data",
            "coordinator-key" => "CoordinatorKey",
            "coordinator-value" => "CoordinatorValue",
            other => return Err(format!("{}: no message is a {other}", message.name)),
        };
        let _ = writeln!(
            out,
            "    Message {{ kind: MessageKind::{kind}, name: {:?}, module: {module:?}, key: {:?}, versions: {}, \
             flexible: {}, unstable: {}, listeners: &{:?}, schemas: &SCHEMAS_{nth}, structs: &[",
            message.name,
            message.key,
            range(message.versions),
            optional_range(message.flexible),
            optional_range(message.unstable),
            message.listeners,
        );
        for (place, one) in message.structs.iter().enumerate() {
            let _ = writeln!(
                out,
                "        Struct {{ name: {:?}, number: {number}, place: {place}, fields: &[",
                one.name
            );
            for field in &one.fields {
                let _ = writeln!(out, "            {},", field_text(message, field)?);
            }
            let _ = writeln!(out, "        ] }},");
            number += 1;
        }
        let _ = writeln!(out, "    ] }},");
    }
    let _ = writeln!(out, "];");
    put_indexes(&mut out, messages);
    let _ = writeln!(out, "/// How many structs all messages have; their numbers are below.");
    let _ = writeln!(out, "pub const STRUCT_COUNT: usize = {number};");
    Ok(out)
}

/// The places of messages by key and by name, sorted.
fn put_indexes(out: &mut String, messages: &[(String, Message)]) {
    for (constant, kind) in [("REQUESTS", "request"), ("RESPONSES", "response")] {
        let mut found: Vec<(i16, usize)> = Vec::new();
        for (nth, (_, message)) in messages.iter().enumerate() {
            found.extend(message.key.filter(|_| message.kind == kind).map(|key| (key, nth)));
        }
        found.sort_unstable();
        let _ = writeln!(out, "pub(super) static {constant}: &[(i16, usize)] = &{found:?};");
    }
    let mut names: Vec<(&str, usize)> = Vec::new();
    for (nth, (_, message)) in messages.iter().enumerate() {
        names.push((&message.name, nth));
    }
    names.sort_unstable();
    let _ = writeln!(out, "pub(super) static NAMES: &[(&str, usize)] = &{names:?};");
}

fn field_text(message: &Message, field: &Field) -> Result<String, String> {
    let kind = match PRIMITIVES.iter().find(|(name, _)| *name == field.kind) {
        Some((_, variant)) => format!("Kind::{variant}"),
        None => match message.structs.iter().position(|part| part.name == field.kind) {
            Some(place) => format!("Kind::Struct({place})"),
            None => return Err(format!("{}: there is no struct {}", message.name, field.kind)),
        },
    };
    let has = |flag: &str| field.flags.iter().any(|one| one == flag);
    let default = match field.default.as_deref() {
        None => "None".to_owned(),
        Some("null") => "Some(Literal::Null)".to_owned(),
        Some("\"\"") => "Some(Literal::Empty)".to_owned(),
        Some(literal @ ("true" | "false")) => format!("Some(Literal::Bool({literal}))"),
        Some(literal) => {
            let number: i64 = literal
                .parse()
                .map_err(|_| format!("{}.{} has the default {literal}", message.name, field.name))?;
            format!("Some(Literal::Integer({number}))")
        }
    };
    Ok(format!(
        "Field {{ name: {:?}, snake_name: {:?}, kind: {kind}, is_array: {}, versions: {}, tag: {:?}, nullable: {}, \
         default: {default}, is_ignorable: {}, is_key: {}, is_plain: {} }}",
        field.name,
        snake(&field.name),
        field.is_array,
        range(field.versions),
        field.tag,
        optional_range(field.nullable),
        has("ignorable"),
        has("key"),
        has("plain"),
    ))
}

fn range(range: Range) -> String {
    format!("Versions {{ first: {}, last: {} }}", range.first, range.last)
}

fn optional_range(found: Option<Range>) -> String {
    found.map_or("None".to_owned(), |found| format!("Some({})", range(found)))
}

/// `TimeoutMs` as `timeout_ms`, `KRaftVersion` as `k_raft_version`.
pub fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (nth, letter) in letters.iter().enumerate() {
        let before = nth.checked_sub(1).map(|at| letters[at]);
        let begins_word = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || letters.get(nth + 1).is_some_and(char::is_ascii_lowercase)
            });
        if begins_word {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
