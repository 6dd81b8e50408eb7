//! A column of values becomes a column of structs.
//!
//! Exactly one row is made for each value: null for null (a tombstone). Only the wanted fields are built, unless the
//! mode or the column of bad values makes every field of the schema matter: whether a value is bad must not depend on
//! the columns that a query names.

use arrow_array::{Array, ArrayRef, BinaryArray, StringArray, StructArray};
use arrow_schema::{ArrowError, DataType, Fields};
use std::sync::Arc;

use super::avro::AvroReader;
use super::columns::Structs;
use super::csv::CsvReader;
use super::error::{Result, ValueError};
use super::framing::Frames;
use super::json::JsonReader;
use super::narrow::narrow;
use super::protobuf::ProtobufReader;
use super::spec::{Mode, ValueFormat, ValueSpec};
use super::verdict::{DecodeOutcome, Reasons};

/// The rows of a column of values.
#[derive(Debug)]
pub struct Decoded {
    /// A row for each value.
    pub values: StructArray,
    /// The rows whose value is bad, in order.
    pub bad: Vec<usize>,
}

/// Why no rows can be made.
#[derive(Debug)]
pub enum DecodeError {
    /// The value of this row is bad, in the mode FAILFAST.
    Bad {
        /// The row.
        row: usize,
        /// What is wrong.
        reason: String,
    },
    /// A schema cannot be had, or the columns cannot be made.
    Other(String),
}

impl From<ArrowError> for DecodeError {
    fn from(error: ArrowError) -> Self {
        Self::Other(format!("the columns of values cannot be made: {error}"))
    }
}

impl From<ValueError> for DecodeError {
    fn from(error: ValueError) -> Self {
        Self::Other(error.to_string())
    }
}

/// The parser of one format.
#[derive(Debug)]
enum FormatReader {
    Json(JsonReader),
    Csv(CsvReader),
    Avro(Box<AvroReader>),
    Protobuf(Box<ProtobufReader>),
}

/// Parses values. It keeps what it learns of them: one for each thread.
#[derive(Debug)]
pub struct ValueDecoder {
    reader: FormatReader,
    frames: Frames,
    rows: Structs,
    fails: bool,
    /// The field of the parsed fields before which the bad values are put in, and its type.
    corrupt: Option<(usize, DataType)>,
    /// The parsed fields with that of the bad values.
    whole: Fields,
    wanted: Fields,
}

impl ValueDecoder {
    /// A decoder that gives structs of `wanted`, which are fields of the spec, in nested structs too.
    pub fn new(spec: &ValueSpec, wanted: &Fields) -> Result<Self> {
        let all = spec.fields()?;
        let is_corrupt = |name: &str| spec.corrupt_column.as_deref() == Some(name);
        let wants_corrupt = wanted.iter().any(|field| is_corrupt(field.name()));
        let whole = if wants_corrupt || spec.mode != Mode::Permissive {
            all
        } else {
            wanted.clone()
        };
        let parsed: Fields = whole
            .iter()
            .filter(|field| !is_corrupt(field.name()))
            .cloned()
            .collect();
        let corrupt = whole.iter().position(|field| is_corrupt(field.name()));
        let reader = match spec.format {
            ValueFormat::Json => FormatReader::Json(JsonReader::new(&parsed, spec.zone())),
            ValueFormat::Csv => FormatReader::Csv(CsvReader::new(spec, &parsed)?),
            ValueFormat::Avro => FormatReader::Avro(Box::new(AvroReader::new(spec, &parsed)?)),
            ValueFormat::Protobuf => FormatReader::Protobuf(Box::new(ProtobufReader::new(spec, &parsed)?)),
        };
        let rows = Structs::new(&parsed).map_err(|error| ValueError::Invalid(error.to_string()))?;
        Ok(Self {
            reader,
            frames: Frames::of(spec),
            rows,
            fails: spec.fails(),
            corrupt: corrupt.map(|at| (at, whole[at].data_type().clone())),
            whole,
            wanted: wanted.clone(),
        })
    }

    /// Parses every value.
    pub fn decode(&mut self, values: &BinaryArray) -> Result<Decoded, DecodeError> {
        let mut bad = Vec::new();
        let mut reasons = Reasons::new(self.fails);
        for row in 0..values.len() {
            if values.is_null(row) {
                self.rows.push_null();
                continue;
            }
            if self.append(values.value(row), &mut reasons)? == DecodeOutcome::Good {
                continue;
            }
            if self.fails {
                // What was appended is of no use to anyone.
                self.rows.finish()?;
                let reason = reasons.take().unwrap_or_else(|| "the value is bad".to_owned());
                return Err(DecodeError::Bad { row, reason });
            }
            bad.push(row);
        }
        let parsed = self.rows.finish()?;
        let whole = self.with_bad_values(parsed, values, &bad)?;
        Ok(Decoded {
            values: narrow(&whole, &self.wanted)?,
            bad,
        })
    }

    fn append(&mut self, value: &[u8], reasons: &mut Reasons) -> Result<DecodeOutcome, DecodeError> {
        let (id, payload) = match self.frames.split(value) {
            Ok(split) => split,
            Err(reason) => {
                self.rows.push_nulls();
                reasons.add(|| reason.to_owned());
                return Ok(DecodeOutcome::Bad);
            }
        };
        Ok(match &mut self.reader {
            FormatReader::Json(reader) => reader.append(payload, &mut self.rows, reasons),
            FormatReader::Csv(reader) => reader.append(payload, &mut self.rows, reasons),
            FormatReader::Avro(reader) => reader.append(id, payload, &mut self.rows, reasons)?,
            FormatReader::Protobuf(reader) => reader.append(payload, &mut self.rows, reasons),
        })
    }

    /// Puts in the column of bad values.
    fn with_bad_values(
        &self,
        parsed: StructArray,
        values: &BinaryArray,
        bad: &[usize],
    ) -> Result<StructArray, ArrowError> {
        let Some((at, data_type)) = &self.corrupt else {
            return Ok(parsed);
        };
        let mut bad = bad.iter().copied().peekable();
        let raw = (0..values.len()).map(|row| bad.next_if_eq(&row).map(|row| values.value(row)));
        let column: ArrayRef = if *data_type == DataType::Binary {
            Arc::new(raw.collect::<BinaryArray>())
        } else {
            Arc::new(raw.map(|it| it.map(String::from_utf8_lossy)).collect::<StringArray>())
        };
        let rows = parsed.len();
        let (_, mut columns, nulls) = parsed.into_parts();
        columns.insert(*at, column);
        StructArray::try_new_with_length(self.whole.clone(), columns, nulls, rows)
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
pub(super) mod tests;
