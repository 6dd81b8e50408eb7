//! Message types from a `.proto` file or a file descriptor set, and the types that Spark gives their fields.
//!
//! Source: Spark's `SchemaConverters` of `from_protobuf`. A message that contains itself has no type in Spark and none
//! here. Imports of a `.proto` file are looked for in its folder; those of Google are known.

use std::path::Path;

use arrow_schema::{DataType, Field, Fields};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use crate::error::{Result, ValueError, invalid};
use crate::spec::read_schema_file;
use crate::types::{MAX_NESTING, MAX_PARTS, list_of, map_of, named, timestamp};

/// The message that is a moment in Spark.
const TIMESTAMP: &str = "google.protobuf.Timestamp";

/// The descriptor set in base64 and the fields of the message.
pub(crate) fn load(file: Option<&str>, message: Option<&str>) -> Result<(String, Fields)> {
    let Some(file) = file else {
        return invalid("valueSchemaFile: missing; name a .proto file or a file descriptor set (protoc -o)");
    };
    let pool = if Path::new(file)
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("proto"))
    {
        compile(file)?
    } else {
        let bytes = read_schema_file(file)?;
        pool_of(&bytes).ok_or_else(|| {
            ValueError::Invalid(format!(
                "valueSchemaFile: {file} is no file descriptor set; make one with protoc --include_imports -o, or name \
                 a .proto file"
            ))
        })?
    };
    let message = message_of(&pool, message)?;
    let DataType::Struct(fields) = struct_of(&message, 0, &mut 0)? else {
        return invalid("messageName: the message has no fields");
    };
    if fields.is_empty() {
        return invalid(format!(
            "messageName: {} has no fields; name another message",
            message.full_name()
        ));
    }
    Ok((STANDARD.encode(pool.encode_to_vec()), fields))
}

fn compile(file: &str) -> Result<DescriptorPool> {
    let path = Path::new(file.strip_prefix("file://").unwrap_or(file));
    read_schema_file(file)?;
    let folder = path
        .parent()
        .filter(|it| !it.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let compiled = protox::compile([path], [folder]);
    let set = compiled.map_err(|error| {
        ValueError::Invalid(format!(
            "valueSchemaFile: {file} cannot be compiled ({error}); correct it, or name a file descriptor set"
        ))
    })?;
    DescriptorPool::from_file_descriptor_set(set)
        .map_err(|error| ValueError::Invalid(format!("valueSchemaFile: {file} cannot be used ({error})")))
}

/// The types of an encoded descriptor set.
pub(super) fn pool_of(bytes: &[u8]) -> Option<DescriptorPool> {
    DescriptorPool::decode(bytes).ok()
}

/// The message of that name, or the only one there is.
pub(super) fn message_of(pool: &DescriptorPool, name: Option<&str>) -> Result<MessageDescriptor> {
    let own: Vec<MessageDescriptor> = pool
        .all_messages()
        .filter(|message| !message.full_name().starts_with("google.protobuf.") && !message.is_map_entry())
        .collect();
    let names = || {
        own.iter()
            .map(|it| it.full_name().to_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some(name) = name else {
        let top: Vec<_> = own
            .iter()
            .filter(|message| message.parent_message().is_none())
            .collect();
        return match top[..] {
            [only] => Ok(only.clone()),
            _ => invalid(format!("messageName: missing; name one of {}", names())),
        };
    };
    let found = pool
        .get_message_by_name(name)
        .or_else(|| own.iter().find(|it| it.name() == name).cloned());
    found.ok_or_else(|| {
        ValueError::Invalid(format!(
            "messageName: there is no message {name}; there are {}",
            names()
        ))
    })
}

/// `parts` is how many fields the whole type has so far.
fn struct_of(message: &MessageDescriptor, depth: usize, parts: &mut usize) -> Result<DataType> {
    if depth > MAX_NESTING {
        return invalid(format!(
            "messageName: the message {} contains itself, which has no type in Spark",
            message.full_name()
        ));
    }
    *parts += message.fields().len();
    if *parts > MAX_PARTS {
        return invalid(format!(
            "messageName: the message has more than {MAX_PARTS} fields, with those of other messages wherever they are \
             used; give a smaller one"
        ));
    }
    let field_of = |field: FieldDescriptor| Ok(named(field.name(), field_type(&field, depth, parts)?));
    Ok(DataType::Struct(
        message.fields().map(field_of).collect::<Result<Vec<Field>>>()?.into(),
    ))
}

fn field_type(field: &FieldDescriptor, depth: usize, parts: &mut usize) -> Result<DataType> {
    if field.is_map()
        && let Kind::Message(entry) = field.kind()
    {
        let key = kind_type(&entry.map_entry_key_field().kind(), depth, parts)?;
        return Ok(map_of(
            key,
            kind_type(&entry.map_entry_value_field().kind(), depth, parts)?,
        ));
    }
    let data_type = kind_type(&field.kind(), depth, parts)?;
    Ok(if field.is_list() { list_of(data_type) } else { data_type })
}

fn kind_type(kind: &Kind, depth: usize, parts: &mut usize) -> Result<DataType> {
    Ok(match kind {
        Kind::Double => DataType::Float64,
        Kind::Float => DataType::Float32,
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 | Kind::Uint32 | Kind::Fixed32 => DataType::Int32,
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 | Kind::Uint64 | Kind::Fixed64 => DataType::Int64,
        Kind::Bool => DataType::Boolean,
        Kind::String | Kind::Enum(_) => DataType::Utf8,
        Kind::Bytes => DataType::Binary,
        Kind::Message(message) if message.full_name() == TIMESTAMP => timestamp(true),
        Kind::Message(message) => struct_of(message, depth + 1, parts)?,
    })
}
