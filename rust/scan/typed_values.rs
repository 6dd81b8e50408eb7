//! Parsed values in place of bytes: what a reader does to a batch of raw columns when the scan has a [`ValueSpec`].
//!
//! The raw batch has the columns that are wanted and those that parsing needs: the value, when records may be left out
//! because of it, and the offset, when a bad value ends the scan and the error names it. The columns keep their order.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use super::{Column, Result, ScanError, Split, schema};
use base::place::Offset;
use values::{DecodeError, ValueDecoder, ValueSpec};

/// What is parsed, for every reader of a scan.
#[derive(Debug)]
pub(super) struct TypedValues {
    spec: ValueSpec,
    wanted: Fields,
    /// The columns that a batch has before its values are parsed.
    raw: Arc<[Column]>,
    given: Arc<[Column]>,
    schema: SchemaRef,
}

impl TypedValues {
    /// For the columns of a scan; `wanted` are the fields of a value, all of them by default.
    pub(super) fn new(spec: ValueSpec, wanted: Option<Fields>, given: &Arc<[Column]>) -> Result<Self> {
        let wanted = match wanted {
            Some(wanted) => wanted,
            None => spec.fields().map_err(|error| ScanError::Invalid(error.to_string()))?,
        };
        let mut raw = given.to_vec();
        if spec.drops_records() && !raw.contains(&Column::Value) {
            raw.push(Column::Value);
        }
        if spec.fails() && raw.contains(&Column::Value) && !raw.contains(&Column::Offset) {
            raw.push(Column::Offset);
        }
        let field_of = |column: &Column| match column {
            Column::Value => Field::new(column.name(), DataType::Struct(wanted.clone()), true),
            other => Field::new(other.name(), other.data_type(), true),
        };
        let schema = Arc::new(Schema::new(given.iter().map(field_of).collect::<Vec<_>>()));
        Ok(Self {
            spec,
            wanted,
            raw: raw.into(),
            given: Arc::clone(given),
            schema,
        })
    }

    pub(super) const fn raw(&self) -> &Arc<[Column]> {
        &self.raw
    }

    pub(super) fn raw_schema(&self) -> SchemaRef {
        schema(&self.raw)
    }

    pub(super) const fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

/// Parses the values of one reader's batches.
#[derive(Debug)]
pub(super) struct ValueColumn {
    typed: Arc<TypedValues>,
    /// Made for the first batch.
    decoder: Option<ValueDecoder>,
}

impl ValueColumn {
    pub(super) fn new(typed: Arc<TypedValues>) -> Self {
        Self { typed, decoder: None }
    }

    /// The batch with its values parsed, without the records that the mode leaves out.
    pub(super) fn parse(&mut self, raw: &RecordBatch, split: &Split) -> Result<RecordBatch> {
        let typed = Arc::clone(&self.typed);
        let column_of = |column: Column| typed.raw.iter().position(|it| *it == column).map(|at| raw.column(at));
        let mut rows = raw.num_rows();
        let mut columns: Vec<ArrayRef> = raw.columns()[..typed.given.len()].to_vec();
        if let Some(values) = column_of(Column::Value) {
            let decoder = self.decoder()?;
            let parsed = decoder.decode(values.as_binary::<i32>()).map_err(|error| match error {
                DecodeError::Bad { row, reason } => bad_value(split, column_of(Column::Offset), row, reason),
                DecodeError::Other(reason) => ScanError::Values(reason),
            })?;
            if let Some(at) = typed.given.iter().position(|it| *it == Column::Value) {
                columns[at] = Arc::new(parsed.values);
            }
            if typed.spec.drops_records() && !parsed.bad.is_empty() {
                let kept = columns.iter().map(|column| without(column, &parsed.bad));
                columns = kept.collect::<Result<_, _>>().map_err(|error| cannot_be_made(&error))?;
                rows -= parsed.bad.len();
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&typed.schema), columns, &options)
            .map_err(|error| cannot_be_made(&error))
    }

    fn decoder(&mut self) -> Result<&mut ValueDecoder> {
        let decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => ValueDecoder::new(&self.typed.spec, &self.typed.wanted)
                .map_err(|error| ScanError::Values(error.to_string()))?,
        };
        Ok(self.decoder.insert(decoder))
    }
}

fn cannot_be_made(error: &ArrowError) -> ScanError {
    ScanError::Values(format!("a record batch cannot be made: {error}"))
}

fn bad_value(split: &Split, offsets: Option<&ArrayRef>, row: usize, reason: String) -> ScanError {
    let offset = offsets.map_or(-1, |offsets| offsets.as_primitive::<Int64Type>().value(row));
    ScanError::BadValue {
        topic: split.topic.to_string(),
        partition: split.partition,
        offset: Offset(offset),
        reason,
    }
}

/// The column without some of its rows, which are in order.
fn without(column: &ArrayRef, rows: &[usize]) -> Result<ArrayRef, ArrowError> {
    let data = column.to_data();
    let mut kept = MutableArrayData::new(vec![&data], false, column.len() - rows.len());
    let mut from = 0;
    for row in rows.iter().copied().chain([column.len()]) {
        if from < row {
            kept.try_extend(0, from, row)?;
        }
        from = row + 1;
    }
    Ok(make_array(kept.freeze()))
}
