//! Module functions: batches for coordinators, and the check of request bodies before `kio` decodes them.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use parking_lot::RwLock;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::errors::TooManyRowsError;
use ::io::heap;
use base::place::{LeaderEpoch, Offset};
use broker::message_of;
use protocol::mended::mended_until;
use protocol::{FEATURES, Shape, WireError};
use record::{BatchBuilder, Codec};

/// Shapes by (API key, version).
type Shapes = HashMap<(i16, i16), Arc<Shape>>;
/// (key, value).
type KeyValue = (Option<PyBackedBytes>, Option<PyBackedBytes>);

/// Checked shapes by (API key, version); Python registers each once, at its first use.
static SHAPES: LazyLock<RwLock<Shapes>> = LazyLock::new(RwLock::default);

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

/// Registers the program that describes one request version.
#[pyfunction]
#[pyo3(signature = (api_key, api_version, program, max_rows = None))]
pub fn register_shape(api_key: i16, api_version: i16, program: &[u8], max_rows: Option<usize>) -> PyResult<()> {
    let mut shape = Shape::parse(program).map_err(|e| PyValueError::new_err(e.to_string()))?;
    if let Some(max_rows) = max_rows {
        shape = shape.with_max_rows(max_rows);
    }
    SHAPES.write().insert((api_key, api_version), Arc::new(shape));
    Ok(())
}

/// The body, checked and without unknown tagged fields.
#[pyfunction]
pub fn sanitize<'py>(
    py: Python<'py>,
    api_key: i16,
    api_version: i16,
    body: Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyBytes>> {
    let shape = SHAPES.read().get(&(api_key, api_version)).cloned();
    let Some(shape) = shape else {
        return Err(PyKeyError::new_err(format!(
            "no shape is registered for api key {api_key} version {api_version}"
        )));
    };
    let mut found = refusing_panics(|| shape.sanitize(body.as_bytes()))?;
    let mended = found.as_ref().err().and_then(|error| {
        let check = |bytes: &[u8]| shape.sanitize(bytes).map(drop);
        mended_until(body.as_bytes(), *error, check)
    });
    if let Some(mended) = &mended {
        found = shape
            .sanitize(mended)
            .map(|it| std::borrow::Cow::Owned(it.into_owned()));
    }
    match found {
        Ok(std::borrow::Cow::Borrowed(_)) => Ok(body),
        Ok(std::borrow::Cow::Owned(cleaned)) => Ok(PyBytes::new(py, &cleaned)),
        Err(e @ WireError::TooManyRows) => Err(TooManyRowsError::new_err(e.to_string())),
        Err(e) => Err(PyValueError::new_err(e.to_string())),
    }
}

/// Runs a function that keeps no state between its calls: a panic fails this call alone and becomes an ordinary error.
pub(super) fn refusing_panics<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let refused = |panic: Box<dyn Any + Send>| PyRuntimeError::new_err(format!("panic: {}", message_of(&*panic)));
    catch_unwind(AssertUnwindSafe(work)).map_err(refused)
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
