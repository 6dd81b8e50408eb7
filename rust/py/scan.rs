//! Splits for Python, and a scan's errors.

use std::sync::Arc;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;

use crate::scan::{self, Split};

create_exception!(_core, ScanError, PyException, "A scan that cannot go on.");

impl From<scan::ScanError> for PyErr {
    fn from(error: scan::ScanError) -> Self {
        let text = error.to_string();
        match error {
            scan::ScanError::Invalid(_) => PyValueError::new_err(text),
            scan::ScanError::NotFound(_) => PyFileNotFoundError::new_err(text),
            _ => ScanError::new_err(text),
        }
    }
}

/// One task's share of a partition.
#[pyclass(frozen, name = "Split", module = "kafkastore._core")]
pub struct PySplit(pub Arc<Split>);

#[pymethods]
impl PySplit {
    /// As JSON.
    fn encode(&self) -> PyResult<String> {
        Ok(self.0.encode()?)
    }
}
