//! The crate's errors as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

use base::error::Error;

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

/// An error of the engine that Python gets as an exception.
pub trait Raise {
    /// The exception.
    fn raised(self) -> PyErr;
}

/// Results of the engine as Python's: `engine_call().or_raise()?`.
pub trait OrRaise<T> {
    /// The value, or the error as its exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Raise> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(Raise::raised)
    }
}

impl Raise for Error {
    fn raised(self) -> PyErr {
        let raised = EngineError::new_err(self.to_string());
        Python::attach(|py| {
            // Setting an attribute of a fresh exception fails only out of memory; then the text still says what
            // happened.
            let _ = raised.value(py).setattr("code", self.code().0);
        });
        raised
    }
}

/// A refusal to start.
pub fn start_error(reason: impl Into<String>) -> PyErr {
    StartError::new_err(reason.into())
}
