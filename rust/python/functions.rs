//! Module functions: batches for coordinators, features, memory.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use ::io::heap;
use base::place::{LeaderEpoch, Offset};
use broker::message_of;
use protocol::FEATURES;
use record::{BatchBuilder, Codec};

/// (key, value).
type KeyValue = (Option<PyBackedBytes>, Option<PyBackedBytes>);

/// A v2 record batch of (key, value) pairs with base offset 0.
#[pyfunction]
#[pyo3(signature = (records, timestamp_ms, compression="none"))]
pub fn build_batch<'py>(
    py: Python<'py>,
    records: Vec<KeyValue>,
    timestamp_ms: i64,
    compression: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let codec = match compression {
        "none" => Codec::None,
        "gzip" => Codec::Gzip,
        "snappy" => Codec::Snappy,
        "lz4" => Codec::Lz4,
        "zstd" => Codec::Zstd,
        other => {
            return Err(PyValueError::new_err(format!(
                "compression {other} is none of none, gzip, snappy, lz4, zstd"
            )));
        }
    };
    let batch = refusing_panics(|| {
        let mut builder = BatchBuilder::new(codec);
        for (key, value) in &records {
            builder.append(timestamp_ms, key.as_deref(), value.as_deref(), &[]);
        }
        builder.build(Offset(0), LeaderEpoch::NONE)
    })?;
    Ok(PyBytes::new(py, &batch))
}

/// Runs a function that keeps no state between its calls: a panic fails this call alone and becomes an ordinary error.
pub(super) fn refusing_panics<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let refused = |panic: Box<dyn Any + Send>| PyRuntimeError::new_err(format!("panic: {}", message_of(&*panic)));
    catch_unwind(AssertUnwindSafe(work)).map_err(refused)
}

/// Kafka's error codes: (code, name, whether Kafka's clients try again by themselves, the class of Kafka's exception).
#[pyfunction]
pub fn error_codes() -> Vec<(i16, &'static str, bool, &'static str)> {
    let facts = base::error::ERRORS.iter();
    facts
        .map(|one| (one.code.0, one.name, one.is_retriable, one.exception))
        .collect()
}

/// The features that this broker supports: (name, lowest level, highest level).
#[pyfunction]
pub fn supported_features() -> Vec<(&'static str, i16, i16)> {
    FEATURES.map(|one| (one.name, one.min, one.max)).to_vec()
}

/// Bytes of this process in memory that belong to no file.
#[pyfunction]
pub fn resident_bytes() -> PyResult<u64> {
    Ok(heap::resident_bytes()?)
}

/// Gives freed memory back to the operating system.
#[pyfunction]
pub fn give_back_memory(py: Python<'_>) {
    py.detach(heap::give_back);
}
