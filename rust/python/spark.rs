//! The planner of a Spark read for Python: requests and answers as JSON, as `spark::requests` has them.

use pyo3::exceptions::{PyConnectionError, PyFileNotFoundError, PyPermissionError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{OrRaise, Raise};
use planner::{PlanError, requests};

impl Raise for PlanError {
    fn raised(self) -> PyErr {
        match self {
            PlanError::Invalid(sentence) => PyValueError::new_err(sentence),
            PlanError::NotFound(sentence) => PyFileNotFoundError::new_err(sentence),
            PlanError::Unreachable(sentence) => PyConnectionError::new_err(sentence),
            PlanError::Forbidden(sentence) => PyPermissionError::new_err(sentence),
            PlanError::Scan(error) => error.raised(),
        }
    }
}

/// The shares of a read.
#[pyfunction]
pub fn plan_read(py: Python<'_>, request: &str, default_split_bytes: u64) -> PyResult<String> {
    py.detach(|| requests::plan(request, default_split_bytes)).or_raise()
}

/// Ends a share's part in a lease on links.
#[pyfunction]
pub fn finish_lease(lease: &str) -> PyResult<()> {
    requests::finish(lease).or_raise()
}
