//! Schemas as the JSON of Spark's `StructType.json`, read and written.
//!
//! Every field may be null, whatever the schema says: see `ddl`. Metadata is left out.

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use serde_json::{Value, json};

use super::{MAX_NESTING, decimal, list_of, map_of, named, timestamp};
use crate::error::{Result, invalid};

/// The fields of the schema; `option` is named in the error.
pub fn parse_spark_json(option: &str, text: &str) -> Result<Fields> {
    let Ok(parsed) = serde_json::from_str::<Value>(text) else {
        return invalid(format!(
            "{option}: {text:?} is no JSON; give Spark's DDL, or what StructType.json gives"
        ));
    };
    match data_type(option, &parsed, 0)? {
        DataType::Struct(fields) => Ok(fields),
        _ => invalid(format!("{option}: {text:?} is no struct; give one")),
    }
}

fn data_type(option: &str, parsed: &Value, depth: usize) -> Result<DataType> {
    if depth > MAX_NESTING {
        return invalid(format!("{option}: the schema is nested too deep"));
    }
    if let Some(name) = parsed.as_str() {
        return plain_type(option, name);
    }
    let inner = |key: &str| data_type(option, &parsed[key], depth + 1);
    match parsed["type"].as_str() {
        Some("array") => Ok(list_of(inner("elementType")?)),
        Some("map") => Ok(map_of(inner("keyType")?, inner("valueType")?)),
        Some("struct") => {
            let Some(given) = parsed["fields"].as_array() else {
                return invalid(format!("{option}: a struct without fields"));
            };
            let mut fields: Vec<Field> = Vec::with_capacity(given.len());
            for field in given {
                let Some(name) = field["name"].as_str() else {
                    return invalid(format!("{option}: a field without a name"));
                };
                if fields.iter().any(|other| other.name() == name) {
                    return invalid(format!("{option}: {name} is named twice; name each field once"));
                }
                fields.push(named(name, data_type(option, &field["type"], depth + 1)?));
            }
            Ok(DataType::Struct(fields.into()))
        }
        _ => invalid(format!("{option}: there is no type {parsed}")),
    }
}

fn plain_type(option: &str, name: &str) -> Result<DataType> {
    Ok(match name {
        "boolean" => DataType::Boolean,
        "byte" => DataType::Int8,
        "short" => DataType::Int16,
        "integer" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "date" => DataType::Date32,
        "timestamp" => timestamp(true),
        "timestamp_ntz" => timestamp(false),
        "decimal" => decimal(option, 10, 0)?,
        _ => {
            let inner = name.strip_prefix("decimal(").and_then(|it| it.strip_suffix(')'));
            let numbers = inner.and_then(|it| it.split_once(','));
            let parsed = numbers.map(|(precision, scale)| (precision.trim().parse(), scale.trim().parse()));
            match parsed {
                Some((Ok(precision), Ok(scale))) => decimal(option, precision, scale)?,
                _ => return invalid(format!("{option}: there is no type {name} for a value's field")),
            }
        }
    })
}

/// The schema as Spark's JSON.
pub fn to_spark_json(fields: &Fields) -> Result<Value> {
    let field_of = |field: &arrow_schema::FieldRef| {
        Ok(json!({
            "name": field.name(),
            "type": type_as_json(field.name(), field.data_type())?,
            "nullable": true,
            "metadata": {},
        }))
    };
    let fields = fields.iter().map(field_of).collect::<Result<Vec<_>>>()?;
    Ok(json!({"type": "struct", "fields": fields}))
}

fn type_as_json(name: &str, data_type: &DataType) -> Result<Value> {
    Ok(match data_type {
        DataType::Boolean => "boolean".into(),
        DataType::Int8 => "byte".into(),
        DataType::Int16 => "short".into(),
        DataType::Int32 => "integer".into(),
        DataType::Int64 => "long".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 => "string".into(),
        DataType::Binary => "binary".into(),
        DataType::Date32 => "date".into(),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => "timestamp".into(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "timestamp_ntz".into(),
        DataType::Decimal128(precision, scale) if *scale >= 0 => format!("decimal({precision},{scale})").into(),
        DataType::List(element) => json!({
            "type": "array", "elementType": type_as_json(name, element.data_type())?, "containsNull": true,
        }),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => json!({
                "type": "map", "keyType": type_as_json(name, pair[0].data_type())?,
                "valueType": type_as_json(name, pair[1].data_type())?, "valueContainsNull": true,
            }),
            _ => return invalid(format!("value_schema: the entries of the map {name} are no pairs")),
        },
        DataType::Struct(fields) => to_spark_json(fields)?,
        other => {
            return invalid(format!(
                "value_schema: field {name} has the type {other}, which no value is read as; there are bool, int8 to \
                 int64, float32, float64, decimal128, string, binary, date32, timestamp in us (UTC or without a zone), \
                 list, map and struct"
            ));
        }
    })
}
