//! Record values as typed columns: JSON, CSV, Avro and Protocol Buffers.
//!
//! [`ValueSpec::parse`] checks the options and fetches schemas; [`ValueDecoder`] takes a column of values and gives a
//! column of structs, with the rows whose value is bad. Each value stands alone: no byte of one is read as part of the
//! next. `types` has the types of fields, `columns` their builders, `calendar`, `zone` and `numbers` the texts of dates
//! and numbers; `json`, `csv`, `avro` and `protobuf` are the formats, `framing` what stands before a value, `registry`
//! asks for schemas. This folder knows no topic, no file of a log, no Python and no Java.

#![forbid(unsafe_code)]

mod avro;
mod calendar;
mod columns;
mod csv;
mod decoder;
mod error;
mod framing;
mod json;
mod narrow;
mod numbers;
mod protobuf;
mod registry;
mod spec;
mod types;
mod verdict;
mod zone;

pub use decoder::{DecodeError, Decoded, ValueDecoder};
pub use error::{Result, ValueError};
pub use spec::{Framing, Mode, OPTION_NAMES, ValueFormat, ValueSpec};
pub use types::{parse_spark_json, to_spark_json};
