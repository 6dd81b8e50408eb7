//! A typed column in the making: Arrow's builders for every type that a value's field has, nested ones too.
//!
//! A row is appended whole or not at all: the decoders check a value's syntax before they append. Offsets of lists
//! never overflow, since a batch has less than 2^30 bytes of values or one value, and an element takes a byte; texts
//! may grow where they are rewritten, so [`Column::push_text`] refuses what does not fit.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int8Builder,
    Int16Builder, Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, TimeUnit};

/// Bytes of the texts of a column at most: what 32-bit offsets reach.
const MAX_TEXT_BYTES: usize = i32::MAX as usize;

#[derive(Debug)]
pub(super) enum Column {
    Boolean(BooleanBuilder),
    Byte(Int8Builder),
    Short(Int16Builder),
    Int(Int32Builder),
    Long(Int64Builder),
    Float(Float32Builder),
    Double(Float64Builder),
    Decimal(Decimal128Builder, u8, i8),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
    /// A reading of a clock, without a zone.
    LocalTimestamp(TimestampMicrosecondBuilder),
    Text(StringBuilder),
    Binary(BinaryBuilder),
    List(Lists),
    Map(Maps),
    Struct(Structs),
}

#[derive(Debug)]
pub(super) struct Lists {
    pub(super) element: Box<Column>,
    field: FieldRef,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

#[derive(Debug)]
pub(super) struct Maps {
    pub(super) keys: Box<Column>,
    pub(super) values: Box<Column>,
    field: FieldRef,
    pair: Fields,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

#[derive(Debug)]
pub(super) struct Structs {
    pub(super) columns: Vec<Column>,
    fields: Fields,
    nulls: NullBufferBuilder,
}

impl Lists {
    /// Ends a row whose elements have been appended; a row that is null keeps them out of sight.
    pub(super) fn end(&mut self, is_valid: bool) {
        self.offsets.push(self.element.len() as i32);
        self.nulls.append(is_valid);
    }
}

impl Maps {
    /// Ends a row whose keys and values have been appended, as many of each; a row that is null keeps them out of
    /// sight.
    pub(super) fn end(&mut self, is_valid: bool) {
        self.offsets.push(self.values.len() as i32);
        self.nulls.append(is_valid);
    }
}

impl Structs {
    pub(super) fn new(fields: &Fields) -> Result<Self, ArrowError> {
        let columns = fields.iter().map(|field| Column::new(field.data_type()));
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
            fields: fields.clone(),
            nulls: NullBufferBuilder::new(0),
        })
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Ends a row whose fields have been appended.
    pub(super) fn end(&mut self) {
        self.nulls.append_non_null();
    }

    /// A row that is null.
    pub(super) fn push_null(&mut self) {
        self.columns.iter_mut().for_each(Column::push_null);
        self.nulls.append_null();
    }

    /// A row whose fields are all null.
    pub(super) fn push_nulls(&mut self) {
        self.columns.iter_mut().for_each(Column::push_null);
        self.nulls.append_non_null();
    }

    /// The rows; the builder is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let rows = self.nulls.len();
        let arrays = self
            .columns
            .iter_mut()
            .map(Column::finish)
            .collect::<Result<Vec<_>, _>>()?;
        StructArray::try_new_with_length(self.fields.clone(), arrays, self.nulls.finish(), rows)
    }
}

impl Column {
    /// The error names a type that no value is read as.
    pub(super) fn new(data_type: &DataType) -> Result<Self, ArrowError> {
        Ok(match data_type {
            DataType::Boolean => Self::Boolean(BooleanBuilder::new()),
            DataType::Int8 => Self::Byte(Int8Builder::new()),
            DataType::Int16 => Self::Short(Int16Builder::new()),
            DataType::Int32 => Self::Int(Int32Builder::new()),
            DataType::Int64 => Self::Long(Int64Builder::new()),
            DataType::Float32 => Self::Float(Float32Builder::new()),
            DataType::Float64 => Self::Double(Float64Builder::new()),
            DataType::Decimal128(precision, scale) => Self::Decimal(
                Decimal128Builder::new().with_precision_and_scale(*precision, *scale)?,
                *precision,
                *scale,
            ),
            DataType::Date32 => Self::Date(Date32Builder::new()),
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
                Self::Timestamp(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                Self::LocalTimestamp(TimestampMicrosecondBuilder::new())
            }
            DataType::Utf8 => Self::Text(StringBuilder::new()),
            DataType::Binary => Self::Binary(BinaryBuilder::new()),
            DataType::List(element) => Self::List(Lists {
                element: Box::new(Self::new(element.data_type())?),
                field: Arc::clone(element),
                offsets: vec![0],
                nulls: NullBufferBuilder::new(0),
            }),
            DataType::Map(entries, false) => Self::map(entries)?,
            DataType::Struct(fields) => Self::Struct(Structs::new(fields)?),
            other => return Err(ArrowError::SchemaError(format!("no value is read as {other}"))),
        })
    }

    fn map(entries: &FieldRef) -> Result<Self, ArrowError> {
        let DataType::Struct(pair) = entries.data_type() else {
            return Err(ArrowError::SchemaError("the entries of a map are structs".to_owned()));
        };
        let [key, value] = &pair[..] else {
            return Err(ArrowError::SchemaError("the entries of a map are pairs".to_owned()));
        };
        Ok(Self::Map(Maps {
            keys: Box::new(Self::new(key.data_type())?),
            values: Box::new(Self::new(value.data_type())?),
            field: Arc::clone(entries),
            pair: pair.clone(),
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
        }))
    }

    fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder;
        match self {
            Self::Boolean(it) => it.len(),
            Self::Byte(it) => it.len(),
            Self::Short(it) => it.len(),
            Self::Int(it) => it.len(),
            Self::Long(it) => it.len(),
            Self::Float(it) => it.len(),
            Self::Double(it) => it.len(),
            Self::Decimal(it, ..) => it.len(),
            Self::Date(it) => it.len(),
            Self::Timestamp(it) | Self::LocalTimestamp(it) => it.len(),
            Self::Text(it) => it.len(),
            Self::Binary(it) => it.len(),
            Self::List(it) => it.nulls.len(),
            Self::Map(it) => it.nulls.len(),
            Self::Struct(it) => it.nulls.len(),
        }
    }

    pub(super) fn push_null(&mut self) {
        match self {
            Self::Boolean(it) => it.append_null(),
            Self::Byte(it) => it.append_null(),
            Self::Short(it) => it.append_null(),
            Self::Int(it) => it.append_null(),
            Self::Long(it) => it.append_null(),
            Self::Float(it) => it.append_null(),
            Self::Double(it) => it.append_null(),
            Self::Decimal(it, ..) => it.append_null(),
            Self::Date(it) => it.append_null(),
            Self::Timestamp(it) | Self::LocalTimestamp(it) => it.append_null(),
            Self::Text(it) => it.append_null(),
            Self::Binary(it) => it.append_null(),
            Self::List(it) => {
                it.offsets.push(it.offsets.last().copied().unwrap_or_default());
                it.nulls.append_null();
            }
            Self::Map(it) => {
                it.offsets.push(it.offsets.last().copied().unwrap_or_default());
                it.nulls.append_null();
            }
            Self::Struct(it) => it.push_null(),
        }
    }

    /// Appends a text and tells whether it was: not when the column is none of texts, or has no room.
    pub(super) fn push_text(&mut self, text: &str) -> bool {
        match self {
            Self::Text(it) if it.values_slice().len() + text.len() <= MAX_TEXT_BYTES => {
                it.append_value(text);
                true
            }
            _ => false,
        }
    }

    /// As [`Self::push_text`], for bytes.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> bool {
        match self {
            Self::Binary(it) if it.values_slice().len() + bytes.len() <= MAX_TEXT_BYTES => {
                it.append_value(bytes);
                true
            }
            _ => false,
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Boolean(it) => Arc::new(it.finish()),
            Self::Byte(it) => Arc::new(it.finish()),
            Self::Short(it) => Arc::new(it.finish()),
            Self::Int(it) => Arc::new(it.finish()),
            Self::Long(it) => Arc::new(it.finish()),
            Self::Float(it) => Arc::new(it.finish()),
            Self::Double(it) => Arc::new(it.finish()),
            Self::Decimal(it, ..) => Arc::new(it.finish()),
            Self::Date(it) => Arc::new(it.finish()),
            Self::Timestamp(it) | Self::LocalTimestamp(it) => Arc::new(it.finish()),
            Self::Text(it) => Arc::new(it.finish()),
            Self::Binary(it) => Arc::new(it.finish()),
            Self::List(it) => {
                let elements = it.element.finish()?;
                let field = Arc::clone(&it.field);
                let offsets = offsets_of(&mut it.offsets)?;
                Arc::new(ListArray::try_new(field, offsets, elements, it.nulls.finish())?)
            }
            Self::Map(it) => {
                let columns: Vec<ArrayRef> = vec![it.keys.finish()?, it.values.finish()?];
                let entries = StructArray::try_new(it.pair.clone(), columns, None)?;
                let offsets = offsets_of(&mut it.offsets)?;
                Arc::new(MapArray::try_new(
                    Arc::clone(&it.field),
                    offsets,
                    entries,
                    it.nulls.finish(),
                    false,
                )?)
            }
            Self::Struct(it) => Arc::new(it.finish()?),
        })
    }
}

/// The offsets, which are empty afterwards but for the first.
fn offsets_of(offsets: &mut Vec<i32>) -> Result<OffsetBuffer<i32>, ArrowError> {
    let given = std::mem::replace(offsets, vec![0]);
    if given.is_sorted() {
        return Ok(OffsetBuffer::new(ScalarBuffer::from(given)));
    }
    Err(ArrowError::ComputeError("a list has too many elements".to_owned()))
}
