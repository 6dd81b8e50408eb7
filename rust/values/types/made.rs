//! Arrow types in the one form that this folder makes: names of elements as Spark has them, everything may be null.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use crate::error::{Result, invalid};

/// Deepest nesting of a schema; a value's text may be nested deeper where no field is wanted.
pub(crate) const MAX_NESTING: usize = 64;
/// Parts of an Avro or Protocol Buffers schema at most. A named type counts wherever it is used, since it is a column
/// of its own there: a type that uses another twice, which uses a third twice, would else double with every name.
pub(crate) const MAX_PARTS: usize = 20_000;
/// Digits of a decimal at most.
const MAX_PRECISION: u64 = 38;

pub(crate) fn named(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

pub(crate) fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(named("element", element)))
}

pub(crate) fn map_of(key: DataType, value: DataType) -> DataType {
    let pair = Fields::from(vec![Field::new("key", key, false), named("value", value)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false)
}

/// Microseconds; with a zone a moment, without one a reading of a clock.
pub(crate) fn timestamp(is_moment: bool) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, is_moment.then(|| "UTC".into()))
}

pub(crate) fn decimal(option: &str, precision: u64, scale: u64) -> Result<DataType> {
    if (1..=MAX_PRECISION).contains(&precision) && scale <= precision {
        return Ok(DataType::Decimal128(precision as u8, scale as i8));
    }
    invalid(format!(
        "{option}: DECIMAL({precision},{scale}) has no such digits; give 1 to {MAX_PRECISION}, and no more of them \
         after the point"
    ))
}

/// The name of the type in Spark's SQL; of a nested type, the kind alone.
pub(crate) fn sql_name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::Float32 => "FLOAT",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 => "STRING",
        DataType::Binary => "BINARY",
        DataType::Date32 => "DATE",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP",
        DataType::Timestamp(_, None) => "TIMESTAMP_NTZ",
        DataType::List(_) => "ARRAY",
        DataType::Map(..) => "MAP",
        DataType::Struct(_) => "STRUCT",
        DataType::Decimal128(precision, scale) => return format!("DECIMAL({precision},{scale})"),
        other => return other.to_string(),
    };
    name.to_owned()
}
