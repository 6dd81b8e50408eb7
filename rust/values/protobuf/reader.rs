//! Messages, appended to typed columns.
//!
//! The library decodes a message whole, or not at all, before anything of it is appended; it ends at a nesting of 100.
//! A field that is not set is null, as in Spark: also one of proto3 that has its default. A list is never null. A field
//! that the schema does not have is passed over.

use arrow_schema::Fields;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};

use super::schema::{message_of, pool_of};
use crate::columns::{Column, Structs};
use crate::error::{Result, ValueError};
use crate::spec::ValueSpec;
use crate::verdict::{DecodeOutcome, Reasons};

/// Microseconds of a second, nanoseconds of a microsecond.
const MICROS: i64 = 1_000_000;
const NANOS: i64 = 1_000;

#[derive(Debug)]
pub(crate) struct ProtobufReader {
    message: MessageDescriptor,
    fields: Vec<WantedField>,
}

/// A field of a column, with those within it.
#[derive(Debug)]
struct WantedField {
    field: FieldDescriptor,
    within: Vec<WantedField>,
}

impl ProtobufReader {
    pub(crate) fn new(spec: &ValueSpec, wanted: &Fields) -> Result<Self> {
        let descriptors = spec.descriptors.as_deref().and_then(|text| STANDARD.decode(text).ok());
        let pool = descriptors.and_then(|bytes| pool_of(&bytes));
        let pool =
            pool.ok_or_else(|| ValueError::Invalid("valueSchemaFile: the descriptors are damaged".to_owned()))?;
        let message = message_of(&pool, spec.message_name.as_deref())?;
        Ok(Self {
            fields: wanted_fields(&message, wanted)?,
            message,
        })
    }

    /// Appends one row for the value.
    pub(crate) fn append(&self, value: &[u8], rows: &mut Structs, reasons: &mut Reasons) -> DecodeOutcome {
        match DynamicMessage::decode(self.message.clone(), value) {
            Ok(message) => {
                if append_message(&message, &self.fields, rows) {
                    return DecodeOutcome::Good;
                }
                reasons.add(|| "a field does not fit its column".to_owned());
                DecodeOutcome::Bad
            }
            Err(error) => {
                rows.push_nulls();
                reasons.add(|| format!("it is no {}: {error}", self.message.full_name()));
                DecodeOutcome::Bad
            }
        }
    }
}

fn wanted_fields(message: &MessageDescriptor, wanted: &Fields) -> Result<Vec<WantedField>> {
    let field_of = |name: &str| {
        message
            .get_field_by_name(name)
            .ok_or_else(|| ValueError::Invalid(format!("messageName: {} has no field {name}", message.full_name())))
    };
    wanted
        .iter()
        .map(|wanted| {
            let field = field_of(wanted.name())?;
            let kind = if field.is_map()
                && let Kind::Message(entry) = field.kind()
            {
                entry.map_entry_value_field().kind()
            } else {
                field.kind()
            };
            let within = match (&kind, struct_within(wanted.data_type())) {
                (Kind::Message(message), Some(fields)) => wanted_fields(message, fields)?,
                _ => Vec::new(),
            };
            Ok(WantedField { field, within })
        })
        .collect()
}

/// The fields of the struct that a type is, or that its elements or values are.
fn struct_within(data_type: &arrow_schema::DataType) -> Option<&Fields> {
    use arrow_schema::DataType;
    match data_type {
        DataType::Struct(fields) => Some(fields),
        DataType::List(element) => struct_within(element.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => struct_within(pair[1].data_type()),
            _ => None,
        },
        _ => None,
    }
}

/// Appends a row; false when a field does not fit, and is null.
fn append_message(message: &DynamicMessage, fields: &[WantedField], rows: &mut Structs) -> bool {
    let mut fits = true;
    for (wanted, column) in fields.iter().zip(&mut rows.columns) {
        let field = &wanted.field;
        let is_there = field.is_list() || field.is_map() || message.has_field(field) || has_own_default(field);
        if is_there {
            fits &= append(&message.get_field(field), wanted, column);
        } else {
            column.push_null();
        }
    }
    rows.end();
    fits
}

/// Whether the schema names a default, which proto2 has.
fn has_own_default(field: &FieldDescriptor) -> bool {
    field.field_descriptor_proto().default_value.is_some()
}

fn append(value: &Value, wanted: &WantedField, column: &mut Column) -> bool {
    let fits = match (value, &mut *column) {
        (Value::List(items), Column::List(lists)) => {
            let fits = items.iter().all(|item| append(item, wanted, &mut lists.element));
            lists.end(fits);
            return fits;
        }
        (Value::Map(entries), Column::Map(maps)) => {
            let mut sorted: Vec<_> = entries.iter().collect();
            // Their order in the message is lost; this one is the same for every read.
            sorted.sort_by_key(|(key, _)| *key);
            let fits = sorted
                .into_iter()
                .all(|(key, value)| append_key(key, &mut maps.keys) && append(value, wanted, &mut maps.values));
            maps.end(fits);
            return fits;
        }
        (Value::Message(message), Column::Struct(rows)) => return append_message(message, &wanted.within, rows),
        (Value::Message(message), Column::Timestamp(it)) => match micros_of(message) {
            Some(micros) => {
                it.append_value(micros);
                true
            }
            None => false,
        },
        _ => append_plain(value, &wanted.field, column),
    };
    if !fits {
        column.push_null();
    }
    fits
}

fn micros_of(message: &DynamicMessage) -> Option<i64> {
    let seconds = message.get_field_by_name("seconds")?.as_i64()?;
    let nanos = message.get_field_by_name("nanos")?.as_i32()?;
    seconds
        .checked_mul(MICROS)?
        .checked_add(i64::from(nanos).div_euclid(NANOS))
}

fn append_key(key: &MapKey, column: &mut Column) -> bool {
    match (key, column) {
        (MapKey::String(text), column) => return column.push_text(text),
        (MapKey::Bool(it), Column::Boolean(keys)) => keys.append_value(*it),
        (MapKey::I32(it), Column::Int(keys)) => keys.append_value(*it),
        (MapKey::U32(it), Column::Int(keys)) => keys.append_value(*it as i32),
        (MapKey::I64(it), Column::Long(keys)) => keys.append_value(*it),
        (MapKey::U64(it), Column::Long(keys)) => keys.append_value(*it as i64),
        _ => return false,
    }
    true
}

/// Unsigned numbers become signed ones of the same bits, as in Java.
fn append_plain(value: &Value, field: &FieldDescriptor, column: &mut Column) -> bool {
    match (value, column) {
        (Value::String(text), column) => return column.push_text(text),
        (Value::Bytes(bytes), column) => return column.push_bytes(bytes),
        (Value::EnumNumber(number), column) => return column.push_text(&enum_name(field, *number)),
        (Value::Bool(it), Column::Boolean(rows)) => rows.append_value(*it),
        (Value::I32(it), Column::Int(rows)) => rows.append_value(*it),
        (Value::U32(it), Column::Int(rows)) => rows.append_value(*it as i32),
        (Value::I64(it), Column::Long(rows)) => rows.append_value(*it),
        (Value::U64(it), Column::Long(rows)) => rows.append_value(*it as i64),
        (Value::F32(it), Column::Float(rows)) => rows.append_value(*it),
        (Value::F64(it), Column::Double(rows)) => rows.append_value(*it),
        _ => return false,
    }
    true
}

/// The name of an enum's number; a number without one keeps its digits, as in Spark.
fn enum_name(field: &FieldDescriptor, number: i32) -> String {
    let kind = match field.kind() {
        Kind::Message(entry) if entry.is_map_entry() => entry.map_entry_value_field().kind(),
        kind => kind,
    };
    let name = match &kind {
        Kind::Enum(descriptor) => descriptor.get_value(number).map(|value| value.name().to_owned()),
        _ => None,
    };
    name.unwrap_or_else(|| number.to_string())
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
