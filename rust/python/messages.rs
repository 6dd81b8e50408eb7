//! Kafka's messages as Python objects, and Python's values as messages: the `protocol` crate's table on Python's side.
//!
//! | module | what |
//! |---|---|
//! | `types` | a type of Python for each struct of the table, made at its first use |
//! | `decode` | bytes as objects of these types |
//! | `encode` | plain values as bytes, in one go |
//! | `facts` | what the table says of a message |
//! | `pieces` | long answers, written piece by piece |
//!
//! Everything here runs with the interpreter attached and holds no lock of Rust's: what is shared is made once.

mod decode;
mod encode;
mod facts;
mod pieces;
mod types;
mod values;

use pyo3::create_exception;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

create_exception!(
    _core,
    UnknownFieldError,
    PyTypeError,
    "A field that no version of its struct has."
);

/// Adds the classes and functions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("UnknownFieldError", module.py().get_type::<UnknownFieldError>())?;
    module.add_class::<encode::Encoder>()?;
    module.add_class::<pieces::Unwritten>()?;
    module.add_class::<pieces::Pieces>()?;
    module.add_class::<pieces::LazyRows>()?;
    module.add_function(wrap_pyfunction!(decode::decode_request, module)?)?;
    module.add_function(wrap_pyfunction!(decode::decode_response, module)?)?;
    module.add_function(wrap_pyfunction!(decode::decode_message, module)?)?;
    module.add_class::<facts::MessageField>()?;
    module.add_function(wrap_pyfunction!(facts::message_key, module)?)?;
    module.add_function(wrap_pyfunction!(facts::message_fields, module)?)?;
    module.add_function(wrap_pyfunction!(facts::is_flexible, module)?)?;
    module.add_function(wrap_pyfunction!(types::message_type, module)?)?;
    module.add_function(wrap_pyfunction!(encode::request_encoder, module)?)?;
    module.add_function(wrap_pyfunction!(encode::response_encoder, module)?)?;
    module.add_function(wrap_pyfunction!(encode::message_encoder, module)?)?;
    Ok(())
}
