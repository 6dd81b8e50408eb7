//! The planner of a Spark read for Python: requests and answers as JSON, as `spark::requests` has them.

use pyo3::exceptions::{PyConnectionError, PyFileNotFoundError, PyPermissionError, PyValueError};
use pyo3::prelude::*;

use crate::spark::{PlanError, requests};

impl From<PlanError> for PyErr {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Invalid(sentence) => PyValueError::new_err(sentence),
            PlanError::NotFound(sentence) => PyFileNotFoundError::new_err(sentence),
            PlanError::Unreachable(sentence) => PyConnectionError::new_err(sentence),
            PlanError::Forbidden(sentence) => PyPermissionError::new_err(sentence),
            PlanError::Scan(error) => error.into(),
        }
    }
}

/// The shares of a read.
#[pyfunction]
pub fn plan_read(py: Python<'_>, request: &str, default_split_bytes: u64) -> PyResult<String> {
    Ok(py.detach(|| requests::plan(request, default_split_bytes))?)
}

/// Ends a share's part in a lease on links.
#[pyfunction]
pub fn finish_lease(lease: &str) -> PyResult<()> {
    Ok(requests::finish(lease)?)
}
