//! The types of messages for mypy, one stub for each file of the table: `make schema` writes them.
//!
//! A struct is one class with the fields of all versions, as what `_core.decode_request` makes. A class has Kafka's
//! name; where the request and the response of an API have structs of one name, the message's name stands before it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::codec::table::{Field, Kind, MESSAGES, Message, Struct, Versions};

const WIDTH: usize = 120;

/// The stubs: the names of their files, and the texts.
pub fn stubs() -> BTreeMap<String, String> {
    let mut modules: BTreeMap<&str, Vec<&Message>> = BTreeMap::new();
    for message in MESSAGES {
        modules.entry(message.module).or_default().push(message);
    }
    let stub = |(module, messages): (&&str, &Vec<&Message>)| (format!("{module}.pyi"), text(module, messages));
    modules.iter().map(stub).collect()
}

fn text(module: &str, messages: &[&Message]) -> String {
    let names: Vec<&str> = messages.iter().map(|message| message.name).collect();
    let imports = "from typing import Final, final";
    let made = "made by `make schema` of `rust/protocol/messages`, see `__init__.py`.";
    let mut head = format!("\"\"\"{}; {made}\"\"\"", and(&names));
    if head.len() > WIDTH {
        head = format!("\"\"\"Messages of {module}; made by `make schema`.\"\"\"");
    }
    let mut out = format!("{head}\n\n{imports}\n");
    for message in messages {
        for one in message.structs {
            class(&mut out, messages, message, one);
        }
    }
    out
}

fn and(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

fn class(out: &mut String, messages: &[&Message], message: &Message, of: &Struct) {
    let _ = writeln!(out, "\n@final\nclass {}:", class_name(messages, message, of));
    let what = if of.place == 0 {
        format!("Versions {}.", range(message.versions, message))
    } else {
        format!("Of {}.", message.name)
    };
    let some: Vec<String> = of
        .fields
        .iter()
        .filter(|field| !has_every_version(field, message))
        .map(|field| format!("{} {}", field.snake_name, range(field.versions, message)))
        .collect();
    if some.is_empty() {
        let _ = writeln!(out, "    \"\"\"{what}\"\"\"\n");
    } else {
        let _ = writeln!(out, "    \"\"\"{what}\n");
        let mut line = "    Not in every version:".to_owned();
        for (nth, part) in some.iter().enumerate() {
            let end = if nth + 1 == some.len() { '.' } else { ',' };
            if line.len() + part.len() + 2 > WIDTH {
                let _ = writeln!(out, "{line}");
                "   ".clone_into(&mut line);
            }
            let _ = write!(line, " {part}{end}");
        }
        let _ = writeln!(out, "{line}\n    \"\"\"\n");
    }
    for field in of.fields {
        let _ = writeln!(
            out,
            "    {}: Final[{}]",
            field.snake_name,
            type_name(messages, message, field)
        );
    }
    if of.fields.is_empty() {
        let _ = writeln!(out, "    ...");
    }
}

fn class_name(messages: &[&Message], message: &Message, of: &Struct) -> String {
    let is_anothers = |other: &&&Message| other.name != message.name && other.struct_named(of.name).is_some();
    if messages.iter().any(|other| is_anothers(&other)) {
        format!("{}{}", message.name, of.name)
    } else {
        of.name.to_owned()
    }
}

fn type_name(messages: &[&Message], message: &Message, field: &Field) -> String {
    let mut name = match field.kind {
        Kind::Bool => "bool".to_owned(),
        Kind::Float64 => "float".to_owned(),
        Kind::Uuid => "bytes | None".to_owned(),
        Kind::Text => "str".to_owned(),
        Kind::Bytes | Kind::Records => "bytes".to_owned(),
        Kind::Struct(place) => match message.structs.get(place) {
            Some(part) => class_name(messages, message, part),
            None => String::new(),
        },
        _ => "int".to_owned(),
    };
    if field.is_array {
        name = format!("tuple[{name}, ...]");
    }
    if field.nullable.is_some() || field.is_null_by_default() {
        name += " | None";
    }
    name
}

fn has_every_version(field: &Field, message: &Message) -> bool {
    field.versions.has(message.versions.first) && field.versions.has(message.versions.last)
}

fn range(versions: Versions, message: &Message) -> String {
    let (first, last) = (versions.first, versions.last.min(message.versions.last));
    if first == last {
        first.to_string()
    } else if last == message.versions.last && first > message.versions.first {
        format!("{first}+")
    } else {
        format!("{first}-{last}")
    }
}
