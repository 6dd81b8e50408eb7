//! One value of Python's as the bytes of a field that is no struct.

use std::borrow::Cow;

use protocol::codec::put;
use protocol::codec::schema::Slot;
use protocol::codec::table::{Kind, Struct};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// A field's name in what is raised.
pub struct FieldName(pub &'static Struct, pub &'static str);

impl FieldName {
    #[cold]
    pub fn is(&self, what: &str) -> String {
        format!("{}.{} {what}", self.0.name, self.1)
    }
}

#[cold]
fn with_name(error: &PyErr, name: &FieldName, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value
        .get_type()
        .name()
        .map_or_else(|_| String::new(), |name| name.to_string());
    PyTypeError::new_err(name.is(&format!("cannot be written: a {kind}: {error}")))
}

/// Null, where the slot allows it.
pub fn put_null(out: &mut Vec<u8>, slot: &Slot, name: &FieldName) -> PyResult<()> {
    if !slot.is_nullable {
        return Err(PyTypeError::new_err(
            name.is("is null, and is never null in this version"),
        ));
    }
    if matches!(slot.field.kind, Kind::Struct(_)) && !slot.field.is_array {
        out.push(put::NULL_STRUCT);
    } else {
        put::length(
            out,
            None,
            slot.is_compact,
            slot.field.kind == Kind::Text && !slot.field.is_array,
        );
    }
    Ok(())
}

/// A value or an element, of a kind that is no struct. Null is written by [`put_null`], but for a UUID.
#[inline]
pub fn put_value(
    out: &mut Vec<u8>,
    slot: &Slot,
    value: &Bound<'_, PyAny>,
    is_strict: bool,
    name: &FieldName,
) -> PyResult<()> {
    match slot.field.kind {
        Kind::Text => put_text(out, slot, value, is_strict, name),
        Kind::Bytes | Kind::Records => {
            let bytes: Cow<'_, [u8]> = if let Ok(bytes) = value.cast::<PyBytes>() {
                Cow::Borrowed(bytes.as_bytes())
            } else {
                Cow::Owned(value.extract().map_err(|error| with_name(&error, name, value))?)
            };
            if bytes.len() >= i32::MAX as usize {
                return Err(PyValueError::new_err(name.is("is too long")));
            }
            put::length(out, Some(bytes.len()), slot.is_compact, false);
            out.extend_from_slice(&bytes);
            Ok(())
        }
        Kind::Bool => {
            out.push(u8::from(value.is_truthy()?));
            Ok(())
        }
        Kind::Uuid => put_uuid(out, value, name),
        Kind::Float64 => {
            let number: f64 = value.extract().map_err(|error| with_name(&error, name, value))?;
            out.extend_from_slice(&number.to_be_bytes());
            Ok(())
        }
        kind => {
            let too_large = || PyValueError::new_err(name.is(&format!("cannot be {value}, which is no {kind:?}")));
            let number: i64 = value.extract().map_err(|error: PyErr| {
                if error.is_instance_of::<PyOverflowError>(value.py()) {
                    too_large()
                } else {
                    with_name(&error, name, value)
                }
            })?;
            if put::integer(out, kind, number) {
                Ok(())
            } else {
                Err(too_large())
            }
        }
    }
}

fn put_text(
    out: &mut Vec<u8>,
    slot: &Slot,
    value: &Bound<'_, PyAny>,
    is_strict: bool,
    name: &FieldName,
) -> PyResult<()> {
    let text = value
        .cast::<PyString>()
        .map_err(|error| with_name(&error.into(), name, value))?;
    let text = text.to_str()?;
    if is_strict && text.len() > put::MAX_STRING_BYTES {
        return Err(PyValueError::new_err(name.is("is longer than 32767 bytes")));
    }
    let text = put::cut(text);
    put::length(out, Some(text.len()), slot.is_compact, true);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn put_uuid(out: &mut Vec<u8>, value: &Bound<'_, PyAny>, name: &FieldName) -> PyResult<()> {
    if value.is_none() {
        out.extend_from_slice(&[0; 16]);
        return Ok(());
    }
    let attribute;
    let bytes = if let Ok(bytes) = value.cast::<PyBytes>() {
        bytes
    } else {
        attribute = value.getattr("bytes").map_err(|error| with_name(&error, name, value))?;
        attribute
            .cast::<PyBytes>()
            .map_err(|error| with_name(&error.into(), name, value))?
    };
    if bytes.as_bytes().len() != 16 {
        return Err(PyValueError::new_err(name.is("is not of 16 bytes")));
    }
    out.extend_from_slice(bytes.as_bytes());
    Ok(())
}
