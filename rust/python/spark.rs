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

/// What the options of a read say about the read itself.
#[pyfunction]
pub fn read_options(request: &str) -> PyResult<String> {
    requests::options(request).or_raise()
}

/// The shares of a read.
#[pyfunction]
pub fn plan_read(py: Python<'_>, request: &str, default_split_bytes: u64) -> PyResult<String> {
    py.detach(|| requests::plan(request, default_split_bytes)).or_raise()
}

/// Where each partition of a read begins and ends.
#[pyfunction]
pub fn read_offsets(py: Python<'_>, request: &str, default_split_bytes: u64) -> PyResult<String> {
    py.detach(|| requests::offsets(request, default_split_bytes)).or_raise()
}

/// The filters that a scan applies exactly.
#[pyfunction]
pub fn push_filters(request: &str) -> PyResult<String> {
    requests::push(request).or_raise()
}

/// Ends a share's part in a lease on links.
#[pyfunction]
pub fn finish_lease(lease: &str) -> PyResult<()> {
    requests::finish(lease).or_raise()
}
