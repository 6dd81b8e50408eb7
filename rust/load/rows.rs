//! Rows out of Arrow: the columns of a record batch, in the types that Arrow's producers give them.
//!
//! ```text
//! key, value   binary or string (large and view types too), null for a null key or a tombstone; value is needed
//! timestamp    timestamp of any unit, or int64 in ms; null, or no column: the time that the caller gives
//! headers      list of (key string, value binary); null for none
//! partition    int32; null, or no column: Kafka's partitioner chooses
//! ```
//! Other columns that a scan gives (`topic`, `offset`, `timestampType`) are ignored; any other name is a mistake.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, PrimitiveArray, RecordBatch,
    StringArray, StringViewArray,
};
use arrow_schema::{DataType, TimeUnit};

use super::builder::record_bytes;
use super::error::{LoadError, Result};
use super::topic::{RowValues, TopicBuilder};
use record::Header;

/// Columns of a scan that a load does not need.
const IGNORED: [&str; 3] = ["topic", "offset", "timestampType"];

/// Adds every row of the batch, in order. A row without a timestamp gets `now_ms`.
///
/// # Errors
/// `LoadError::Invalid` names the column and the way out.
pub fn append_rows(builder: &mut TopicBuilder, rows: &RecordBatch, now_ms: i64) -> Result<()> {
    let columns = RowColumns::of(rows)?;
    let mut headers = Vec::new();
    for at in 0..rows.num_rows() {
        headers.clear();
        let (_, key, value) = columns.read(at, now_ms, &mut headers)?;
        builder.place(at, columns.partition_of(at), key, record_bytes(key, value, &headers))?;
    }
    builder.build(|at, headers| columns.read(at, now_ms, headers))
}

struct RowColumns<'a> {
    key: Option<BytesColumn<'a>>,
    value: BytesColumn<'a>,
    timestamp: Option<Times<'a>>,
    headers: Option<HeadersColumn<'a>>,
    partition: Option<&'a PrimitiveArray<Int32Type>>,
}

impl<'a> RowColumns<'a> {
    fn of(rows: &'a RecordBatch) -> Result<Self> {
        let (mut key, mut value, mut timestamp, mut headers, mut partition) = (None, None, None, None, None);
        for (field, array) in rows.schema_ref().fields().iter().zip(rows.columns()) {
            match field.name().as_str() {
                "key" => key = Some(BytesColumn::of("key", array)?),
                "value" => value = Some(BytesColumn::of("value", array)?),
                "timestamp" => timestamp = Some(Times::of(array)?),
                "headers" => headers = Some(HeadersColumn::of(array)?),
                "partition" => partition = Some(partitions_of(array)?),
                name if IGNORED.contains(&name) => {}
                name => {
                    return Err(LoadError::Invalid(format!(
                        "column {name}: a load takes key, value, timestamp, headers and partition; leave it out"
                    )));
                }
            }
        }
        let value = value.ok_or_else(|| LoadError::Invalid("there is no column value: name one".to_owned()))?;
        Ok(Self {
            key,
            value,
            timestamp,
            headers,
            partition,
        })
    }

    #[inline]
    fn read(&self, at: usize, now_ms: i64, headers: &mut Vec<Header<'a>>) -> Result<RowValues<'a>> {
        if let Some(column) = &self.headers {
            column.read(at, headers)?;
        }
        let timestamp = self.timestamp.as_ref().and_then(|one| one.get(at)).unwrap_or(now_ms);
        let key = self.key.as_ref().and_then(|one| one.get(at));
        Ok((timestamp, key, self.value.get(at)))
    }

    /// The partition that the row names.
    fn partition_of(&self, at: usize) -> Option<i32> {
        let column = self.partition.filter(|one| one.is_valid(at));
        column.map(|one| one.value(at))
    }
}

fn wrong_type(column: &str, found: &DataType, wanted: &str) -> LoadError {
    LoadError::Invalid(format!("column {column} is of type {found}; make it {wanted}"))
}

fn partitions_of(array: &ArrayRef) -> Result<&PrimitiveArray<Int32Type>> {
    let found = array.as_primitive_opt::<Int32Type>();
    found.ok_or_else(|| wrong_type("partition", array.data_type(), "int32"))
}

/// A column of bytes.
enum BytesColumn<'a> {
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    /// Only nulls.
    Null,
}

impl<'a> BytesColumn<'a> {
    fn of(column: &str, array: &'a ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            DataType::Null => Self::Null,
            other => return Err(wrong_type(column, other, "binary or string")),
        })
    }

    #[inline]
    fn get(&self, at: usize) -> Option<&'a [u8]> {
        match self {
            Self::Binary(array) => array.is_valid(at).then(|| array.value(at)),
            Self::LargeBinary(array) => array.is_valid(at).then(|| array.value(at)),
            Self::BinaryView(array) => array.is_valid(at).then(|| array.value(at)),
            Self::Utf8(array) => array.is_valid(at).then(|| array.value(at).as_bytes()),
            Self::LargeUtf8(array) => array.is_valid(at).then(|| array.value(at).as_bytes()),
            Self::Utf8View(array) => array.is_valid(at).then(|| array.value(at).as_bytes()),
            Self::Null => None,
        }
    }
}

/// A column of times, as numbers and how many of them are a millisecond, or how many milliseconds one is.
struct Times<'a> {
    numbers: &'a [i64],
    array: &'a ArrayRef,
    per_ms: i64,
    ms_each: i64,
}

impl<'a> Times<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self> {
        fn numbers<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> &[i64] {
            array.as_primitive::<T>().values()
        }
        let (numbers, per_ms, ms_each) = match array.data_type() {
            DataType::Int64 => (numbers::<Int64Type>(array), 1, 1),
            DataType::Timestamp(TimeUnit::Second, _) => (numbers::<TimestampSecondType>(array), 1, 1000),
            DataType::Timestamp(TimeUnit::Millisecond, _) => (numbers::<TimestampMillisecondType>(array), 1, 1),
            DataType::Timestamp(TimeUnit::Microsecond, _) => (numbers::<TimestampMicrosecondType>(array), 1000, 1),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => (numbers::<TimestampNanosecondType>(array), 1_000_000, 1),
            other => return Err(wrong_type("timestamp", other, "a timestamp, or int64 in milliseconds")),
        };
        Ok(Self {
            numbers,
            array,
            per_ms,
            ms_each,
        })
    }

    #[inline]
    fn get(&self, at: usize) -> Option<i64> {
        let number = self.numbers.get(at).filter(|_| self.array.is_valid(at))?;
        Some(number.div_euclid(self.per_ms).saturating_mul(self.ms_each))
    }
}

/// A column of lists of headers.
struct HeadersColumn<'a> {
    array: &'a ArrayRef,
    offsets: OffsetsColumn<'a>,
    keys: BytesColumn<'a>,
    values: BytesColumn<'a>,
}

enum OffsetsColumn<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
}

impl<'a> HeadersColumn<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self> {
        let wanted = "a list of structs of key (string) and value (binary)";
        let wrong = || wrong_type("headers", array.data_type(), wanted);
        let (offsets, entries) = if let Some(list) = array.as_list_opt::<i32>() {
            (OffsetsColumn::Small(list.value_offsets()), list.values())
        } else if let Some(list) = array.as_list_opt::<i64>() {
            (OffsetsColumn::Large(list.value_offsets()), list.values())
        } else {
            return Err(wrong());
        };
        let entries = entries.as_struct_opt().ok_or_else(wrong)?;
        let part = |name| entries.column_by_name(name).ok_or_else(wrong);
        Ok(Self {
            array,
            offsets,
            keys: BytesColumn::of("headers.key", part("key")?)?,
            values: BytesColumn::of("headers.value", part("value")?)?,
        })
    }

    fn read(&self, at: usize, out: &mut Vec<Header<'a>>) -> Result<()> {
        if self.array.is_null(at) {
            return Ok(());
        }
        let range = match self.offsets {
            OffsetsColumn::Small(offsets) => offsets[at] as usize..offsets[at + 1] as usize,
            OffsetsColumn::Large(offsets) => offsets[at] as usize..offsets[at + 1] as usize,
        };
        for entry in range {
            let key = self.keys.get(entry);
            let key = key.ok_or_else(|| LoadError::Invalid("column headers: a header has no key".to_owned()))?;
            out.push((key, self.values.get(entry)));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
