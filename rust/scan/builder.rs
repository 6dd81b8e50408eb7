//! The rows of the record batch in the making: one buffer per wanted column, made Arrow without a copy when it is full.
//!
//! The memory of a batch that the consumer has dropped is reused: fresh pages cost more than the copy into them. A
//! batch's bytes stay below [`MAX_BATCH_BYTES`] unless one row alone is larger, so 32-bit offsets never overflow. No
//! record is parsed here.

use std::sync::Arc;

use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringArray, StructArray,
};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, SchemaRef};

use super::Column;
use super::buffers::Numbers;
use super::byte_strings::{ByteStrings, Pieces};

/// Most bytes of keys, values and headers in a batch of several rows: half of what 32-bit offsets reach.
pub(super) const MAX_BATCH_BYTES: usize = 1 << 30;
/// Most rows of a batch.
pub(super) const MAX_BATCH_ROWS: usize = 1 << 24;
/// Rows that a fresh column has room for at once; it grows when there are more.
const FIRST_ROWS: usize = 64 * 1024;
/// Bytes that a header counts in addition to its key and value: its two offsets.
pub(super) const HEADER_OVERHEAD: usize = 8;

/// Lists of (key, value); a row without headers is null, as in Spark.
#[derive(Debug)]
struct HeaderLists {
    keys: ByteStrings,
    values: ByteStrings,
    offsets: Numbers<i32>,
    nulls: NullBufferBuilder,
}

impl HeaderLists {
    fn new(pooled: usize) -> Self {
        Self {
            keys: ByteStrings::new(pooled),
            values: ByteStrings::new(pooled),
            offsets: Numbers::new(pooled),
            nulls: NullBufferBuilder::new(0),
        }
    }

    fn start(&mut self, rows: usize) {
        self.keys.start(0, 0);
        self.values.start(0, 0);
        self.offsets.start(rows + 1);
        if self.offsets.values.is_empty() {
            self.offsets.values.push(0);
        }
    }

    fn finish(&mut self) -> Result<ListArray, ArrowError> {
        let (offsets, data, nulls) = self.keys.finish();
        let keys = StringArray::try_new(offsets, data, nulls)?;
        let (offsets, data, nulls) = self.values.finish();
        let values = BinaryArray::try_new(offsets, data, nulls)?;
        let (element, fields) = header_fields()?;
        let entries = StructArray::try_new(fields, vec![Arc::new(keys), Arc::new(values)], None)?;
        let offsets = OffsetBuffer::new(self.offsets.finish());
        ListArray::try_new(element, offsets, Arc::new(entries), self.nulls.finish())
    }
}

/// Lengths of byte strings; that of a null is null.
#[derive(Debug)]
struct Sizes {
    values: Numbers<i32>,
    nulls: NullBufferBuilder,
}

impl Sizes {
    fn new(pooled: usize) -> Self {
        Self {
            values: Numbers::new(pooled),
            nulls: NullBufferBuilder::new(0),
        }
    }

    fn push(&mut self, bytes: Option<&[u8]>) {
        self.values.values.push(bytes.map_or(0, <[u8]>::len) as i32);
        self.nulls.append(bytes.is_some());
    }

    fn extend(&mut self, pieces: Pieces<'_>) {
        self.values
            .values
            .extend(pieces.each.iter().map(|piece| piece.len() as i32));
        if pieces.has_null {
            pieces.each.iter().for_each(|piece| self.nulls.append(!piece.is_null()));
        } else {
            self.nulls.append_n_non_nulls(pieces.each.len());
        }
    }

    fn finish(&mut self) -> Result<Int32Array, ArrowError> {
        Int32Array::try_new(self.values.finish(), self.nulls.finish())
    }
}

/// The list's element and its fields, out of the type that the schema gives.
fn header_fields() -> Result<(Arc<Field>, Fields), ArrowError> {
    if let DataType::List(element) = Column::Headers.data_type()
        && let DataType::Struct(fields) = element.data_type()
    {
        let fields = fields.clone();
        return Ok((element, fields));
    }
    Err(ArrowError::SchemaError("headers are no list of structs".to_owned()))
}

/// A column whose value is the same in every row: made once, sliced for each batch.
#[derive(Debug, Default)]
struct Constant<V> {
    made: Option<(V, ArrayRef)>,
}

impl<V: PartialEq + Clone> Constant<V> {
    fn get(&mut self, value: &V, rows: usize, make: impl Fn(&V, usize) -> ArrayRef) -> ArrayRef {
        if let Some((made, array)) = &self.made
            && made == value
            && array.len() >= rows
        {
            return array.slice(0, rows);
        }
        let array = make(value, rows);
        self.made = Some((value.clone(), Arc::clone(&array)));
        array
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "Constant hands every kind of value by reference"
)]
fn same_numbers(value: &i32, rows: usize) -> ArrayRef {
    Arc::new(Int32Array::from(vec![*value; rows]))
}

fn same_texts(value: &Arc<str>, rows: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(value.as_ref(), rows)))
}

/// The limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Rows of a batch at most.
    pub(super) rows: usize,
    /// Bytes of keys, values and headers of a batch of several rows at most.
    pub(super) bytes: usize,
}

/// The wanted columns that need parsing.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column of its own, in any combination"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    pub(super) key: bool,
    pub(super) value: bool,
    pub(super) headers: bool,
    pub(super) offset: bool,
    pub(super) timestamp: bool,
    key_size: bool,
    value_size: bool,
}

impl Wanted {
    /// Whether keys and values are to be parsed.
    #[inline]
    pub(super) const fn has_body(self) -> bool {
        self.key || self.value || self.key_size || self.value_size
    }
}

/// One parsed row. Values of columns that are not wanted may be left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) offset: i64,
    /// Microseconds.
    pub(super) timestamp: i64,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
}

/// Parsed rows, column by column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) payload: &'a [u8],
    pub(super) offsets: &'a [i64],
    /// Microseconds.
    pub(super) timestamps: &'a [i64],
    pub(super) keys: Pieces<'a>,
    pub(super) values: Pieces<'a>,
}

/// The columns of the batch in the making.
#[derive(Debug)]
pub(super) struct Columns {
    schema: SchemaRef,
    order: Vec<Column>,
    pub(super) wanted: Wanted,
    limits: Limits,
    pooled: usize,
    rows: usize,
    bytes: usize,
    key: ByteStrings,
    value: ByteStrings,
    headers: HeaderLists,
    offset: Numbers<i64>,
    timestamp: Numbers<i64>,
    key_size: Sizes,
    value_size: Sizes,
    /// (rows so far at its end, timestamp type) of each run of Kafka batches with one type.
    types: Vec<(usize, i32)>,
    topics: Constant<Arc<str>>,
    partitions: Constant<i32>,
    all_types: Constant<i32>,
}

impl Columns {
    /// Columns of `schema`, which is the schema of `order`. The memory of up to `pooled` batches that consumers hold is
    /// reused later.
    pub(super) fn new(schema: SchemaRef, order: &[Column], limits: Limits, pooled: usize) -> Self {
        let has = |column| order.contains(&column);
        Self {
            schema,
            order: order.to_vec(),
            wanted: Wanted {
                key: has(Column::Key),
                value: has(Column::Value),
                headers: has(Column::Headers),
                offset: has(Column::Offset),
                timestamp: has(Column::Timestamp),
                key_size: has(Column::SerializedKeySize),
                value_size: has(Column::SerializedValueSize),
            },
            limits: Limits {
                rows: limits.rows.clamp(1, MAX_BATCH_ROWS),
                bytes: limits.bytes.clamp(1, MAX_BATCH_BYTES),
            },
            pooled,
            rows: 0,
            bytes: 0,
            key: ByteStrings::new(pooled),
            value: ByteStrings::new(pooled),
            headers: HeaderLists::new(pooled),
            offset: Numbers::new(pooled),
            timestamp: Numbers::new(pooled),
            key_size: Sizes::new(pooled),
            value_size: Sizes::new(pooled),
            types: Vec::new(),
            topics: Constant { made: None },
            partitions: Constant { made: None },
            all_types: Constant { made: None },
        }
    }

    /// Rows so far.
    #[inline]
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// Makes room before rows are pushed; `left_bytes` of uncompressed records are still to come, as far as known.
    pub(super) fn start(&mut self, left_bytes: usize) {
        let rows = self.limits.rows.min(FIRST_ROWS);
        let bytes = self.limits.bytes.min(left_bytes);
        if self.wanted.key {
            self.key.start(rows, bytes / 8);
        }
        if self.wanted.value {
            self.value.start(rows, bytes);
        }
        if self.wanted.headers {
            self.headers.start(rows);
        }
        if self.wanted.offset {
            self.offset.start(rows);
        }
        if self.wanted.timestamp {
            self.timestamp.start(rows);
        }
        if self.wanted.key_size {
            self.key_size.values.start(rows);
        }
        if self.wanted.value_size {
            self.value_size.values.start(rows);
        }
    }

    /// Whether a row with that many bytes of keys, values and headers starts a new batch.
    #[inline]
    pub(super) const fn is_full(&self, row_bytes: usize) -> bool {
        self.rows >= self.limits.rows || (self.rows > 0 && row_bytes > self.limits.bytes.saturating_sub(self.bytes))
    }

    /// Appends a row of that many bytes; its headers come before it, by [`Self::push_header`].
    #[inline]
    pub(super) fn push(&mut self, row: Row<'_>, row_bytes: usize) {
        if self.wanted.offset {
            self.offset.values.push(row.offset);
        }
        if self.wanted.timestamp {
            self.timestamp.values.push(row.timestamp);
        }
        if self.wanted.key {
            self.key.push(row.key);
        }
        if self.wanted.value {
            self.value.push(row.value);
        }
        if self.wanted.key_size {
            self.key_size.push(row.key);
        }
        if self.wanted.value_size {
            self.value_size.push(row.value);
        }
        self.rows += 1;
        self.bytes += row_bytes;
    }

    /// Rows and bytes that the batch still takes; its first row may be of any size.
    pub(super) const fn room(&self) -> (usize, usize) {
        let bytes = self.limits.bytes.saturating_sub(self.bytes);
        (self.limits.rows.saturating_sub(self.rows), bytes)
    }

    /// Appends rows without headers; values of columns that are not wanted are ignored.
    pub(super) fn extend(&mut self, rows: &Rows<'_>) {
        if self.wanted.offset {
            self.offset.values.extend_from_slice(rows.offsets);
        }
        if self.wanted.timestamp {
            self.timestamp.values.extend_from_slice(rows.timestamps);
        }
        if self.wanted.key {
            self.key.extend(rows.payload, rows.keys);
            self.bytes += rows.keys.bytes;
        }
        if self.wanted.value {
            self.value.extend(rows.payload, rows.values);
            self.bytes += rows.values.bytes;
        }
        if self.wanted.key_size {
            self.key_size.extend(rows.keys);
        }
        if self.wanted.value_size {
            self.value_size.extend(rows.values);
        }
        self.rows += rows.offsets.len();
    }

    /// Appends a header of the row that [`Self::end_headers`] ends; bytes that are not UTF-8 become U+FFFD, as in Java.
    pub(super) fn push_header(&mut self, key: &[u8], value: Option<&[u8]>) {
        let text = String::from_utf8_lossy(key);
        self.headers.keys.push(Some(text.as_bytes()));
        self.headers.values.push(value);
    }

    /// Ends the headers of a row.
    #[inline]
    pub(super) fn end_headers(&mut self) {
        let lists = &mut self.headers;
        let end = lists.keys.rows() as i32;
        lists.nulls.append(lists.offsets.values.last() != Some(&end));
        lists.offsets.values.push(end);
    }

    /// The rows since the last call have this timestamp type.
    pub(super) fn end_run(&mut self, timestamp_type: i32) {
        match self.types.last_mut() {
            Some((end, last)) if *last == timestamp_type => *end = self.rows,
            _ => self.types.push((self.rows, timestamp_type)),
        }
    }

    /// Forgets the rows so far.
    pub(super) fn clear(&mut self) {
        *self = Self::new(Arc::clone(&self.schema), &self.order, self.limits, self.pooled);
    }

    /// The rows as a batch; the columns are empty afterwards.
    pub(super) fn finish(&mut self, topic: &Arc<str>, partition: i32) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows;
        let order = std::mem::take(&mut self.order);
        let arrays = order
            .iter()
            .map(|column| self.array(*column, topic, partition))
            .collect::<Result<Vec<_>, _>>();
        self.order = order;
        self.rows = 0;
        self.bytes = 0;
        self.types.clear();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays?, &options)
    }

    fn array(&mut self, column: Column, topic: &Arc<str>, partition: i32) -> Result<ArrayRef, ArrowError> {
        let binary = |(offsets, data, nulls)| BinaryArray::try_new(offsets, data, nulls);
        Ok(match column {
            Column::Key => Arc::new(binary(self.key.finish())?),
            Column::Value => Arc::new(binary(self.value.finish())?),
            Column::Topic => self.topics.get(topic, self.rows, same_texts),
            Column::Partition => self.partitions.get(&partition, self.rows, same_numbers),
            Column::Offset => Arc::new(Int64Array::try_new(self.offset.finish(), None)?),
            Column::Timestamp => {
                let values = PrimitiveArray::<TimestampMicrosecondType>::try_new(self.timestamp.finish(), None)?;
                Arc::new(values.with_data_type(column.data_type()))
            }
            Column::TimestampType => self.timestamp_types(),
            Column::Headers => Arc::new(self.headers.finish()?),
            Column::SerializedKeySize => Arc::new(self.key_size.finish()?),
            Column::SerializedValueSize => Arc::new(self.value_size.finish()?),
        })
    }

    fn timestamp_types(&mut self) -> ArrayRef {
        self.types.retain(|(end, _)| *end > 0);
        if let [(_, only)] = self.types[..] {
            return self.all_types.get(&only, self.rows, same_numbers);
        }
        let mut values = Vec::with_capacity(self.rows);
        for (end, timestamp_type) in &self.types {
            values.resize(*end, *timestamp_type);
        }
        Arc::new(Int32Array::from(values))
    }
}
