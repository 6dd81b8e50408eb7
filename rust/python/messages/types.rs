//! A type of Python for each struct of the table, made at its first use.
//!
//! The types are struct sequences, the interpreter's own named tuples (`time.struct_time` is one): immutable, as fast
//! to make as a tuple, in the stable ABI. A type has the fields of all versions. What C keeps pointers to, the names,
//! is never freed.

use std::ffi::{CString, c_char};
use std::ptr;

use protocol::codec::table::{self, Kind, Literal, Message, STRUCT_COUNT, Struct};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString, PyTuple, PyType};
use pyo3::{IntoPyObjectExt, ffi};

/// What Python has for one struct.
pub struct StructType {
    /// The type.
    pub class: Py<PyType>,
    /// The names of the fields, interned.
    pub names: Box<[Py<PyString>]>,
    /// The defaults of the fields.
    pub defaults: Box<[Py<PyAny>]>,
}

/// By the struct's number.
static TYPES: [PyOnceLock<StructType>; STRUCT_COUNT] = [const { PyOnceLock::new() }; STRUCT_COUNT];

/// The type of a struct of a message.
#[inline]
pub fn type_of(py: Python<'_>, message: &'static Message, of: &'static Struct) -> PyResult<&'static StructType> {
    let cell = TYPES
        .get(of.number)
        .ok_or_else(|| PyKeyError::new_err("a struct out of the table"))?;
    if let Some(found) = cell.get(py) {
        return Ok(found);
    }
    let made = make(py, message, of)?;
    let _ = cell.set(py, made); // another thread may have been first: its type is the one
    cell.get(py)
        .ok_or_else(|| PyKeyError::new_err("a struct type was not kept"))
}

/// The type of a struct of the message named so; its own without a struct's name.
#[pyfunction]
#[pyo3(signature = (message, name = None))]
pub fn message_type<'py>(py: Python<'py>, message: &str, name: Option<&str>) -> PyResult<Bound<'py, PyType>> {
    let found = table::message(message)
        .and_then(|found| Some((found, found.struct_named(name.unwrap_or(message))?)))
        .ok_or_else(|| PyKeyError::new_err(format!("the table has no {message} {}", name.unwrap_or_default())))?;
    Ok(type_of(py, found.0, found.1)?.class.bind(py).clone())
}

fn make(py: Python<'_>, message: &'static Message, of: &'static Struct) -> PyResult<StructType> {
    let class = new_type(py, message, of)?;
    let names = of
        .fields
        .iter()
        .map(|field| PyString::intern(py, field.snake_name).unbind());
    let defaults = (0..of.fields.len()).map(|index| default_of(py, message, of, index));
    Ok(StructType {
        class,
        names: names.collect(),
        defaults: defaults.collect::<PyResult<_>>()?,
    })
}

#[expect(unsafe_code, reason = "the C API has no safe way to make a struct sequence's type")]
fn new_type(py: Python<'_>, message: &Message, of: &Struct) -> PyResult<Py<PyType>> {
    let mut fields: Vec<ffi::PyStructSequence_Field> = Vec::with_capacity(of.fields.len() + 1);
    for field in of.fields {
        fields.push(ffi::PyStructSequence_Field {
            name: kept(field.snake_name)?,
            doc: ptr::null(),
        });
    }
    fields.push(ffi::PyStructSequence_Field {
        name: ptr::null(),
        doc: ptr::null(),
    });
    let mut description = ffi::PyStructSequence_Desc {
        name: kept(&format!("kafkastore.protocol.{}.{}", message.module, of.name))?,
        doc: kept(&format!("{} of Kafka's {}.", of.name, message.name))?,
        fields: fields.as_mut_ptr(),
        n_in_sequence: of.fields.len() as i32, // tens
    };
    // SAFETY: the interpreter is attached; the description ends with a null field, is read during the call alone, and
    // the strings that it points to are never freed. The result is a new reference to a type, or null with an
    // exception.
    unsafe {
        let made = ffi::PyStructSequence_NewType(&raw mut description);
        Ok(Bound::from_owned_ptr_or_err(py, made.cast())?
            .cast_into_unchecked::<PyType>()
            .unbind())
    }
}

/// A C string that is never freed: the interpreter keeps the pointer as long as the type.
fn kept(text: &str) -> PyResult<*const c_char> {
    let text = CString::new(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(text.into_raw().cast_const())
}

fn default_of(py: Python<'_>, message: &'static Message, of: &'static Struct, index: usize) -> PyResult<Py<PyAny>> {
    let Some(field) = of.fields.get(index) else {
        return Ok(py.None());
    };
    if field.is_null_by_default() {
        return Ok(py.None());
    }
    if field.is_array {
        return Ok(PyTuple::empty(py).into_any().unbind());
    }
    match (field.kind, field.default) {
        (Kind::Bool, default) => (default == Some(Literal::Bool(true))).into_py_any(py),
        (Kind::Float64, _) => 0.0_f64.into_py_any(py),
        (Kind::Uuid, _) => Ok(py.None()),
        (Kind::Text, _) => "".into_py_any(py),
        (Kind::Bytes | Kind::Records, _) => Ok(PyBytes::new(py, b"").into_any().unbind()),
        (Kind::Struct(place), _) => match message.structs.get(place) {
            Some(part) => {
                let found = type_of(py, message, part)?;
                let mut fields = Fields::new(py, found)?;
                for (at, value) in found.defaults.iter().enumerate() {
                    fields.set(at, value.bind(py).clone());
                }
                Ok(fields.into_bound().unbind())
            }
            None => Ok(py.None()),
        },
        (_, Some(Literal::Integer(number))) => number.into_py_any(py),
        _ => 0.into_py_any(py),
    }
}

/// An object of a struct's type that is being filled. Nobody else has it yet.
pub struct Fields<'py> {
    object: Bound<'py, PyAny>,
    count: usize,
}

impl<'py> Fields<'py> {
    #[inline]
    #[expect(unsafe_code, reason = "the C API has no safe way to make a struct sequence")]
    pub fn new(py: Python<'py>, of: &StructType) -> PyResult<Self> {
        // SAFETY: the interpreter is attached and the type is a struct sequence's, made by `new_type`. The result is a
        // new reference to an object whose fields are null, or null with an exception.
        let object = unsafe {
            let made = ffi::PyStructSequence_New(of.class.as_ptr().cast());
            Bound::from_owned_ptr_or_err(py, made)?
        };
        Ok(Self {
            object,
            count: of.names.len(),
        })
    }

    /// Sets a field that was not set.
    #[inline]
    #[expect(unsafe_code, reason = "the C API has no safe way to fill a struct sequence")]
    pub fn set(&mut self, index: usize, value: Bound<'py, PyAny>) {
        if index < self.count {
            // SAFETY: the index is below the number of fields, the object is new and nobody else has it; the call takes
            // the reference of the value.
            unsafe { ffi::PyStructSequence_SetItem(self.object.as_ptr(), index as ffi::Py_ssize_t, value.into_ptr()) }
        }
    }

    /// The object, all of whose fields are set.
    #[inline]
    pub fn into_bound(self) -> Bound<'py, PyAny> {
        self.object
    }
}

/// A tuple that is being filled. Nobody else has it yet.
pub struct Items<'py> {
    tuple: Bound<'py, PyAny>,
    count: usize,
    next: usize,
}

impl<'py> Items<'py> {
    #[inline]
    #[expect(
        unsafe_code,
        reason = "a tuple of which a part is there only is not safe, so pyo3 has none"
    )]
    pub fn new(py: Python<'py>, count: usize) -> PyResult<Self> {
        // SAFETY: the interpreter is attached. The result is a new reference to a tuple of nulls, or null with an
        // exception.
        let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(count as ffi::Py_ssize_t))? };
        Ok(Self { tuple, count, next: 0 })
    }

    #[inline]
    #[expect(
        unsafe_code,
        reason = "a tuple of which a part is there only is not safe, so pyo3 has none"
    )]
    pub fn push(&mut self, value: Bound<'py, PyAny>) {
        if self.next < self.count {
            // SAFETY: the index is in the tuple, which is new and which nobody else has; the call takes the reference
            // of the value.
            unsafe {
                ffi::PyTuple_SetItem(self.tuple.as_ptr(), self.next as ffi::Py_ssize_t, value.into_ptr());
            }
            self.next += 1;
        }
    }

    /// The tuple, all of whose items are there.
    #[inline]
    pub fn into_bound(self) -> Bound<'py, PyAny> {
        self.tuple
    }
}

/// A field of an object of a struct's type.
#[inline]
#[expect(unsafe_code, reason = "by index instead of by name")]
pub fn field_at<'py>(object: &Bound<'py, PyAny>, of: &StructType, index: usize) -> Option<Bound<'py, PyAny>> {
    if index >= of.names.len() || !object.get_type().is(&of.class) {
        return None;
    }
    // SAFETY: the object is of a struct sequence's type that has this index; the result is borrowed from it, or null.
    unsafe {
        let found = ffi::PyStructSequence_GetItem(object.as_ptr(), index as ffi::Py_ssize_t);
        Bound::from_borrowed_ptr_or_opt(object.py(), found)
    }
}
