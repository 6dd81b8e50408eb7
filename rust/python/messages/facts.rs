//! What the table says of a message, for what goes by the structure of any message.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use protocol::codec::table::{self, Kind, Message};

/// A field of a struct in one version.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct MessageField {
    /// Kafka's name in words with underscores.
    name: &'static str,
    /// What the value, or an element, is in Python: `bool`, `int`, `float`, `str`, `bytes`, `uuid` or `struct`.
    kind: &'static str,
    is_array: bool,
    is_nullable: bool,
    /// Whether it need not be given.
    has_default: bool,
    /// The name of the struct of the value, or of an element.
    struct_name: Option<&'static str>,
}

fn named(name: &str) -> PyResult<&'static Message> {
    table::message(name).ok_or_else(|| PyKeyError::new_err(format!("Kafka has no message {name}")))
}

/// The key of the API that a request or a response is of.
#[pyfunction]
pub fn message_key(message: &str) -> PyResult<Option<i16>> {
    Ok(named(message)?.key)
}

/// Whether a version of a message has tagged fields, and a header that has them.
#[pyfunction]
pub fn is_flexible(message: &str, version: i16) -> PyResult<bool> {
    Ok(named(message)?.is_flexible(version))
}

/// The fields that a struct of a message has in one version; without a name, those of the message itself.
#[pyfunction]
#[pyo3(signature = (message, version, name=None))]
pub fn message_fields(message: &str, version: i16, name: Option<&str>) -> PyResult<Vec<MessageField>> {
    let message = named(message)?;
    let part = message
        .struct_named(name.unwrap_or(message.name))
        .ok_or_else(|| PyKeyError::new_err(format!("{} has no such struct", message.name)))?;
    let fields = part.fields.iter().filter(|field| field.versions.has(version));
    Ok(fields
        .map(|field| MessageField {
            name: field.snake_name,
            kind: kind_of(field.kind),
            is_array: field.is_array,
            is_nullable: field.is_nullable(version),
            has_default: field.default.is_some(),
            struct_name: match field.kind {
                Kind::Struct(place) => message.structs.get(place).map(|part| part.name),
                _ => None,
            },
        })
        .collect())
}

fn kind_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Float64 => "float",
        Kind::Uuid => "uuid",
        Kind::Text => "str",
        Kind::Bytes | Kind::Records => "bytes",
        Kind::Struct(_) => "struct",
        Kind::Int8 | Kind::Int16 | Kind::UInt16 | Kind::Int32 | Kind::UInt32 | Kind::Int64 | Kind::ErrorCode => "int",
    }
}
