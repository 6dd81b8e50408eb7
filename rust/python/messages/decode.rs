//! Bytes of messages as objects of the types of `types`.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use protocol::WireError;
use protocol::codec::table::{self, Message, Struct};
use protocol::codec::{Builder, Limits, decode};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyString};

use super::types::{Fields, Items, type_of};
use crate::errors::TooManyRowsError;
use crate::functions::refusing_panics;

/// A request's body. `max_rows` bounds the elements of all arrays, where eight numbers count as one.
#[pyfunction]
#[pyo3(signature = (api_key, api_version, body, max_rows = None))]
pub fn decode_request(
    py: Python<'_>,
    api_key: i16,
    api_version: i16,
    body: PyBackedBytes,
    max_rows: Option<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    let limits = Limits::of_body(max_rows);
    read(py, table::request(api_key), api_version, &body, limits, || {
        format!("API key {api_key}")
    })
}

/// A response's body.
#[pyfunction]
pub fn decode_response(
    py: Python<'_>,
    api_key: i16,
    api_version: i16,
    body: PyBackedBytes,
) -> PyResult<Bound<'_, PyAny>> {
    let limits = Limits::of_body(None);
    read(py, table::response(api_key), api_version, &body, limits, || {
        format!("API key {api_key}")
    })
}

/// The bytes of any message, by its name: records of internal topics above all.
#[pyfunction]
pub fn decode_message<'py>(
    py: Python<'py>,
    name: &str,
    version: i16,
    body: PyBackedBytes,
) -> PyResult<Bound<'py, PyAny>> {
    read(py, table::message(name), version, &body, Limits::NONE, || {
        name.to_owned()
    })
}

fn read<'py>(
    py: Python<'py>,
    message: Option<&'static Message>,
    version: i16,
    body: &[u8],
    limits: Limits,
    wanted: impl Fn() -> String,
) -> PyResult<Bound<'py, PyAny>> {
    let found = message.and_then(|message| Some((message, message.schema(version)?)));
    let Some((message, schema)) = found else {
        return Err(PyKeyError::new_err(format!(
            "the table has no {} version {version}",
            wanted()
        )));
    };
    let mut objects = Objects { py, message };
    Ok(refusing_panics(|| decode(schema, body, limits, &mut objects))??)
}

/// What a reader raises.
struct Raised(PyErr);

impl From<WireError> for Raised {
    #[cold]
    fn from(error: WireError) -> Self {
        Self(match error {
            WireError::TooManyRows => TooManyRowsError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        })
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        raised.0
    }
}

/// Builds the objects.
struct Objects<'py> {
    py: Python<'py>,
    message: &'static Message,
}

type Object<'py> = Result<Bound<'py, PyAny>, Raised>;

impl<'py> Builder for Objects<'py> {
    type Value = Bound<'py, PyAny>;
    type Fields = Fields<'py>;
    type Items = Items<'py>;
    type Error = Raised;

    #[inline]
    fn null(&mut self) -> Bound<'py, PyAny> {
        self.py.None().into_bound(self.py)
    }

    #[inline]
    fn boolean(&mut self, value: bool) -> Object<'py> {
        Ok(PyBool::new(self.py, value).to_owned().into_any())
    }

    #[inline]
    fn integer(&mut self, value: i64) -> Object<'py> {
        Ok(value.into_bound_py_any(self.py)?)
    }

    #[inline]
    fn float(&mut self, value: f64) -> Object<'py> {
        Ok(PyFloat::new(self.py, value).into_any())
    }

    #[inline]
    fn text(&mut self, value: &str) -> Object<'py> {
        Ok(PyString::new(self.py, value).into_any())
    }

    #[inline]
    fn bytes(&mut self, value: &[u8]) -> Object<'py> {
        Ok(PyBytes::new(self.py, value).into_any())
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) -> Object<'py> {
        if *value == [0; 16] {
            return Ok(self.null());
        }
        self.bytes(value)
    }

    #[inline]
    fn default(&mut self, of: &'static Struct, index: usize) -> Object<'py> {
        let found = type_of(self.py, self.message, of)?;
        let value = found.defaults.get(index);
        Ok(value.map_or_else(
            || self.py.None().into_bound(self.py),
            |value| value.bind(self.py).clone(),
        ))
    }

    #[inline]
    fn begin_struct(&mut self, of: &'static Struct) -> Result<Fields<'py>, Raised> {
        Ok(Fields::new(self.py, type_of(self.py, self.message, of)?)?)
    }

    #[inline]
    fn set(&mut self, fields: &mut Fields<'py>, index: usize, value: Bound<'py, PyAny>) {
        fields.set(index, value);
    }

    #[inline]
    fn end_struct(&mut self, fields: Fields<'py>) -> Object<'py> {
        Ok(fields.into_bound())
    }

    #[inline]
    fn begin_array(&mut self, count: usize) -> Result<Items<'py>, Raised> {
        Ok(Items::new(self.py, count)?)
    }

    #[inline]
    fn push(&mut self, items: &mut Items<'py>, value: Bound<'py, PyAny>) {
        items.push(value);
    }

    #[inline]
    fn end_array(&mut self, items: Items<'py>) -> Object<'py> {
        Ok(items.into_bound())
    }
}
