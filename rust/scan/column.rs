//! The columns that a scan can give, with the names and types of Spark's Kafka source.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

use super::{Result, ScanError};

/// One column; the names are Spark's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// `key`: binary, null for a null key.
    Key,
    /// `value`: binary, null for a null value (a tombstone).
    Value,
    /// `topic`: string.
    Topic,
    /// `partition`: 32-bit integer.
    Partition,
    /// `offset`: 64-bit integer.
    Offset,
    /// `timestamp`: microseconds UTC (Kafka's milliseconds times 1,000).
    Timestamp,
    /// `timestampType`: 0 for `CreateTime`, 1 for `LogAppendTime`.
    TimestampType,
    /// `headers`: list of (key string, value binary); null when the record has none, as in Spark.
    Headers,
    /// `serializedKeySize`: bytes of the key, 32-bit integer; null for a null key.
    SerializedKeySize,
    /// `serializedValueSize`: bytes of the value, 32-bit integer; null for a null value.
    SerializedValueSize,
}

impl Column {
    /// What a record has, in the order of Spark's schema with `includeHeaders`.
    pub const ALL: [Self; 8] = [
        Self::Key,
        Self::Value,
        Self::Topic,
        Self::Partition,
        Self::Offset,
        Self::Timestamp,
        Self::TimestampType,
        Self::Headers,
    ];

    /// What is computed from a record; the names are those of Kafka's `ConsumerRecord`.
    pub const SIZES: [Self; 2] = [Self::SerializedKeySize, Self::SerializedValueSize];

    /// Spark's name, or Kafka's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
            Self::Topic => "topic",
            Self::Partition => "partition",
            Self::Offset => "offset",
            Self::Timestamp => "timestamp",
            Self::TimestampType => "timestampType",
            Self::Headers => "headers",
            Self::SerializedKeySize => "serializedKeySize",
            Self::SerializedValueSize => "serializedValueSize",
        }
    }

    /// The column of that name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .chain(Self::SIZES)
            .find(|column| column.name() == name)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
                ScanError::Invalid(format!(
                    "columns: there is no column {name}; there are {}",
                    names.join(", ")
                ))
            })
    }

    /// The column's Arrow type: exactly what Spark's `to_arrow_schema` gives for the Kafka source's schema.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Key | Self::Value => DataType::Binary,
            Self::Topic => DataType::Utf8,
            Self::Partition | Self::TimestampType | Self::SerializedKeySize | Self::SerializedValueSize => {
                DataType::Int32
            }
            Self::Offset => DataType::Int64,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Headers => DataType::List(Arc::new(Field::new(
                "element",
                DataType::Struct(Fields::from(vec![
                    Field::new("key", DataType::Utf8, true),
                    Field::new("value", DataType::Binary, true),
                ])),
                true,
            ))),
        }
    }
}

/// The Arrow schema of `columns`, in their order; every field is nullable, as in Spark.
pub fn schema(columns: &[Column]) -> SchemaRef {
    let fields: Vec<Field> = columns
        .iter()
        .map(|column| Field::new(column.name(), column.data_type(), true))
        .collect();
    Arc::new(Schema::new(fields))
}
