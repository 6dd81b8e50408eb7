//! Defaults of the reader's fields, encoded as a writer would have done.

use serde_json::Value;

use super::schema::Avro;
use crate::error::{Result, invalid};

/// The default as bytes of the schema; of a union it is a value of the first branch, or of any that it fits.
pub(super) fn encode(schema: &Avro, default: &Value, field: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if push(schema, default, &mut bytes).is_some() {
        return Ok(bytes);
    }
    invalid(format!(
        "valueSchema: the default {default} of the field {field} does not fit its Avro type"
    ))
}

fn push_long(number: i64, bytes: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn push(schema: &Avro, default: &Value, bytes: &mut Vec<u8>) -> Option<()> {
    match schema {
        Avro::Null => default.is_null().then_some(())?,
        Avro::Boolean => bytes.push(u8::from(default.as_bool()?)),
        Avro::Int | Avro::Date => push_long(i64::from(i32::try_from(default.as_i64()?).ok()?), bytes),
        Avro::Long | Avro::Timestamp { .. } => push_long(default.as_i64()?, bytes),
        Avro::Float => bytes.extend((default.as_f64()? as f32).to_le_bytes()),
        Avro::Double => bytes.extend(default.as_f64()?.to_le_bytes()),
        Avro::Text => push_bytes(default.as_str()?.as_bytes(), bytes),
        Avro::Bytes | Avro::Decimal { fixed: None, .. } => push_bytes(&latin(default)?, bytes),
        Avro::Fixed(size) | Avro::Decimal { fixed: Some(size), .. } => {
            let raw = latin(default)?;
            (raw.len() == *size).then(|| bytes.extend(raw))?;
        }
        Avro::Enum(symbols) => {
            let at = symbols
                .iter()
                .position(|symbol| Some(symbol.as_str()) == default.as_str())?;
            push_long(at as i64, bytes);
        }
        Avro::Array(items) => {
            for item in default.as_array()? {
                push_long(1, bytes);
                push(items, item, bytes)?;
            }
            push_long(0, bytes);
        }
        Avro::Map(values) => {
            for (key, value) in default.as_object()? {
                push_long(1, bytes);
                push_bytes(key.as_bytes(), bytes);
                push(values, value, bytes)?;
            }
            push_long(0, bytes);
        }
        Avro::Union(branches) => {
            let before = bytes.len();
            for (at, branch) in branches.iter().enumerate() {
                push_long(at as i64, bytes);
                if push(branch, default, bytes).is_some() {
                    return Some(());
                }
                bytes.truncate(before);
            }
            return None;
        }
        Avro::Record(fields) => {
            for field in fields {
                let value = default.get(&field.name).or(field.default.as_ref())?;
                push(&field.schema, value, bytes)?;
            }
        }
    }
    Some(())
}

fn push_bytes(raw: &[u8], bytes: &mut Vec<u8>) {
    push_long(raw.len() as i64, bytes);
    bytes.extend_from_slice(raw);
}

/// Bytes as Avro's JSON has them: a character for each.
fn latin(default: &Value) -> Option<Vec<u8>> {
    let text = default.as_str()?;
    text.chars()
        .map(|character| u8::try_from(u32::from(character)).ok())
        .collect()
}
