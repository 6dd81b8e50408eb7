//! The crate's errors as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

use crate::error::Error;

create_exception!(
    _core,
    EngineError,
    PyException,
    "An operation the engine refused; `code` is Kafka's error code."
);
create_exception!(
    _core,
    StartError,
    PyException,
    "A reason not to start, in one sentence."
);

create_exception!(
    _core,
    TooManyRowsError,
    PyValueError,
    "A well-formed request that asks for more at once than its API takes."
);

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let raised = EngineError::new_err(error.to_string());
        Python::attach(|py| {
            // Setting an attribute of a fresh exception fails only out of memory; then the text still says what
            // happened.
            let _ = raised.value(py).setattr("code", error.code().0);
        });
        raised
    }
}

/// A refusal to start.
pub fn start_error(reason: impl Into<String>) -> PyErr {
    StartError::new_err(reason.into())
}
