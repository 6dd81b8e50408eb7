//! Plain values of Python's as the bytes of a struct of the table, in one go.
//!
//! A struct is a dict of its fields by their names, an object of its type, an [`Unwritten`], or bytes that are written
//! already. A field that is not given has its default; one that only other versions have is left out. A request is
//! written strictly: a value that its version cannot carry is an error, unless the table lets it be ignored, and so
//! is a string that is too long, which in an answer is cut.

use protocol::codec::put;
use protocol::codec::schema::{Layout, Schema, Slot};
use protocol::codec::table::{self, Kind, Message, MessageKind};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use super::UnknownFieldError;
use super::pieces::{LazyRows, Unwritten};
use super::types::{StructType, field_at, type_of};
use super::values::{FieldName, put_null, put_value};

/// Writes one struct of one version of a message.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct Encoder {
    writer: ObjectWriter,
    place: usize,
}

#[pymethods]
impl Encoder {
    /// Kafka's name of the struct.
    #[getter]
    fn name(&self) -> &'static str {
        self.writer.schema.layouts[self.place].of.name
    }

    /// The version.
    #[getter]
    fn version(&self) -> i16 {
        self.writer.schema.version
    }

    /// The bytes of a struct with these values.
    fn row<'py>(&self, given: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Vec::with_capacity(128);
        self.writer.dict(&mut out, self.place, given)?;
        Ok(PyBytes::new(given.py(), &out))
    }

    /// As `row`, written later and piece by piece.
    fn unwritten(&self, given: &Bound<'_, PyDict>) -> PyResult<Unwritten> {
        let values = self.writer.values(self.place, given.as_any())?;
        Ok(Unwritten::new(self.writer, self.place, values))
    }

    /// The bytes of an object of the struct's type, or of a dict.
    fn bytes_of<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Vec::with_capacity(128);
        self.writer.structure(&mut out, self.place, value)?;
        Ok(PyBytes::new(value.py(), &out))
    }

    fn __repr__(&self) -> String {
        format!("<Encoder of {} version {}>", self.name(), self.version())
    }
}

/// The encoder of a struct of a request; of the request itself without a name.
#[pyfunction]
#[pyo3(signature = (api_key, api_version, name = None))]
pub fn request_encoder(api_key: i16, api_version: i16, name: Option<&str>) -> PyResult<Encoder> {
    encoder(table::request(api_key), api_version, name, || {
        format!("API key {api_key}")
    })
}

/// The encoder of a struct of a response; of the response itself without a name.
#[pyfunction]
#[pyo3(signature = (api_key, api_version, name = None))]
pub fn response_encoder(api_key: i16, api_version: i16, name: Option<&str>) -> PyResult<Encoder> {
    encoder(table::response(api_key), api_version, name, || {
        format!("API key {api_key}")
    })
}

/// The encoder of any message, by its name.
#[pyfunction]
pub fn message_encoder(message: &str, version: i16) -> PyResult<Encoder> {
    encoder(table::message(message), version, None, || message.to_owned())
}

fn encoder(
    message: Option<&'static Message>,
    version: i16,
    name: Option<&str>,
    wanted: impl Fn() -> String,
) -> PyResult<Encoder> {
    let found = message.and_then(|message| {
        let schema = message.schema(version)?;
        let place = message.struct_named(name.unwrap_or(message.name))?.place;
        Some((schema, place))
    });
    let Some((schema, place)) = found else {
        let name = name.unwrap_or("message");
        return Err(PyKeyError::new_err(format!(
            "the table has no {name} of {} version {version}",
            wanted()
        )));
    };
    let is_strict = schema.message.kind == MessageKind::Request;
    let writer = ObjectWriter { schema, is_strict };
    Ok(Encoder { writer, place })
}

/// What every writer of a version knows.
#[derive(Clone, Copy)]
pub struct ObjectWriter {
    pub schema: &'static Schema,
    /// Whether a value that cannot be written is an error even where it could be left out or cut.
    pub is_strict: bool,
}

/// Where a struct's values come from; a value is asked for once.
trait ValueSource<'py> {
    /// The value of a slot, which has this position among those of its layout; `None` when it is not given.
    fn value(&mut self, slot: &Slot, position: usize) -> PyResult<Option<Bound<'py, PyAny>>>;
}

struct OfDict<'a, 'py> {
    dict: &'a Bound<'py, PyDict>,
    names: &'static [Py<PyString>],
    taken: usize,
}

impl<'py> ValueSource<'py> for OfDict<'_, 'py> {
    #[inline]
    #[expect(
        unsafe_code,
        reason = "pyo3 makes a result of what is not there, which costs more than the look-up"
    )]
    fn value(&mut self, slot: &Slot, _: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.dict.py();
        // SAFETY: the interpreter is attached, both are live objects and the first is a dict. The result is borrowed
        // from the dict and owned at once, or null, with an exception or without.
        let found = unsafe {
            let found = ffi::PyDict_GetItemWithError(self.dict.as_ptr(), self.names[slot.index].as_ptr());
            Bound::from_borrowed_ptr_or_opt(py, found)
        };
        if found.is_some() {
            self.taken += 1;
        } else if PyErr::occurred(py) {
            return Err(PyErr::fetch(py));
        }
        Ok(found)
    }
}

struct OfObject<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    class: &'static StructType,
}

impl<'py> ValueSource<'py> for OfObject<'_, 'py> {
    fn value(&mut self, slot: &Slot, _: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(field_at(self.object, self.class, slot.index))
    }
}

struct OfValues<'a, 'py>(Python<'py>, &'a [Option<Py<PyAny>>]);

impl<'py> ValueSource<'py> for OfValues<'_, 'py> {
    fn value(&mut self, _: &Slot, position: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.1.get(position).and_then(Option::as_ref);
        Ok(value.map(|value| value.bind(self.0).clone()))
    }
}

impl ObjectWriter {
    fn class(self, py: Python<'_>, layout: &Layout) -> PyResult<&'static StructType> {
        type_of(py, self.schema.message, layout.of)
    }

    /// A struct in any of its forms.
    pub fn structure(self, out: &mut Vec<u8>, place: usize, given: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(bytes) = given.cast_exact::<PyBytes>() {
            out.extend_from_slice(bytes.as_bytes());
            return Ok(());
        }
        if let Ok(dict) = given.cast::<PyDict>() {
            return self.dict(out, place, dict);
        }
        if let Ok(unwritten) = given.cast_exact::<Unwritten>() {
            let (writer, place, values) = unwritten.get().parts();
            let layout = &writer.schema.layouts[place];
            return writer.fields(out, layout, &mut OfValues(given.py(), values));
        }
        let layout = &self.schema.layouts[place];
        let class = self.class(given.py(), layout)?;
        if !given.get_type().is(&class.class) {
            return Err(not_a_struct(layout, given));
        }
        self.check_object(layout, class, given)?;
        self.fields(out, layout, &mut OfObject { object: given, class })
    }

    /// A struct of named values.
    pub fn dict(self, out: &mut Vec<u8>, place: usize, given: &Bound<'_, PyDict>) -> PyResult<()> {
        let layout = &self.schema.layouts[place];
        let class = self.class(given.py(), layout)?;
        let mut source = OfDict {
            dict: given,
            names: &class.names,
            taken: 0,
        };
        let written = self.fields(out, layout, &mut source);
        if written.is_err() || source.taken != given.len() {
            self.check_names(layout, class, given)?; // a name that is misspelt says more than the field that is missing
        }
        written
    }

    /// The values of a struct by the positions of its slots, those with tags last; bytes are no such struct.
    pub fn values(self, place: usize, given: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Py<PyAny>>>> {
        let py = given.py();
        let layout = &self.schema.layouts[place];
        let class = self.class(py, layout)?;
        let mut values = Vec::with_capacity(layout.slots.len() + layout.tagged.len());
        if let Ok(dict) = given.cast::<PyDict>() {
            let mut source = OfDict {
                dict,
                names: &class.names,
                taken: 0,
            };
            for slot in layout.slots.iter().chain(&layout.tagged) {
                let value = source.value(slot, 0)?;
                if value.is_none() && !slot.is_optional {
                    self.check_names(layout, class, dict)?;
                    return Err(not_given(layout, slot));
                }
                values.push(value.map(Bound::unbind));
            }
            if source.taken != dict.len() {
                self.check_names(layout, class, dict)?;
            }
            return Ok(values);
        }
        if !given.get_type().is(&class.class) {
            return Err(not_a_struct(layout, given));
        }
        self.check_object(layout, class, given)?;
        for slot in layout.slots.iter().chain(&layout.tagged) {
            values.push(field_at(given, class, slot.index).map(Bound::unbind));
        }
        Ok(values)
    }

    /// Whether a struct is written so quickly that it need not be written in steps: its arrays are few elements without
    /// arrays of their own.
    pub fn is_short(self, place: usize, given: &Bound<'_, PyAny>) -> PyResult<bool> {
        let layout = &self.schema.layouts[place];
        if layout.is_flat {
            return Ok(true);
        }
        let Ok(dict) = given.cast::<PyDict>() else {
            return Ok(false);
        };
        let class = self.class(given.py(), layout)?;
        let mut source = OfDict {
            dict,
            names: &class.names,
            taken: 0,
        };
        for slot in layout.slots.iter().chain(&layout.tagged) {
            let is_flat = match slot.field.kind {
                Kind::Struct(part) => self.schema.layouts[part].is_flat,
                _ => true,
            };
            if slot.field.is_array || !is_flat {
                let value = source.value(slot, 0)?;
                let is_short = match &value {
                    None => true,
                    Some(value) if !slot.field.is_array => value.is_none(),
                    Some(value) => is_flat && is_short_array(value),
                };
                if !is_short {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn fields<'py>(self, out: &mut Vec<u8>, layout: &Layout, source: &mut impl ValueSource<'py>) -> PyResult<()> {
        for (position, slot) in layout.slots.iter().enumerate() {
            match source.value(slot, position)? {
                Some(value) => self.field(out, layout, slot, &value)?,
                None if slot.is_optional => out.extend_from_slice(&slot.default_bytes),
                None => return Err(not_given(layout, slot)),
            }
        }
        if self.schema.is_flexible {
            if layout.tagged.is_empty() {
                out.push(0);
            } else {
                self.tags(out, layout, source)?;
            }
        }
        Ok(())
    }

    fn tags<'py>(self, out: &mut Vec<u8>, layout: &Layout, source: &mut impl ValueSource<'py>) -> PyResult<()> {
        let mut values = Vec::with_capacity(layout.tagged.len());
        for (position, slot) in (layout.slots.len()..).zip(&layout.tagged) {
            values.push(source.value(slot, position)?);
        }
        self.put_tags(out, layout, &values)
    }

    /// The tagged fields that are given and are not their defaults.
    pub fn put_tags(self, out: &mut Vec<u8>, layout: &Layout, values: &[Option<Bound<'_, PyAny>>]) -> PyResult<()> {
        let mut contents = Vec::new();
        let mut count = 0;
        for (slot, value) in layout.tagged.iter().zip(values) {
            let Some(value) = value else { continue };
            let mut content = Vec::new();
            self.field(&mut content, layout, slot, value)?;
            if *content != *slot.default_bytes {
                put::varint(&mut contents, slot.field.tag.unwrap_or_default());
                put::varint(&mut contents, content.len() as u32);
                contents.append(&mut content);
                count += 1;
            }
        }
        put::varint(out, count);
        out.append(&mut contents);
        Ok(())
    }

    /// One field, array or not.
    #[inline]
    pub fn field(self, out: &mut Vec<u8>, layout: &Layout, slot: &Slot, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if slot.field.is_array {
            return self.array(out, layout, slot, value);
        }
        let name = FieldName(layout.of, slot.field.snake_name);
        match slot.field.kind {
            Kind::Uuid => {}
            _ if value.is_none() => return put_null(out, slot, &name),
            Kind::Struct(place) => {
                if slot.is_nullable {
                    out.push(put::STRUCT);
                }
                return self.structure(out, place, value);
            }
            _ => {}
        }
        put_value(out, slot, value, self.is_strict, &name)
    }

    /// One element of an array.
    #[inline]
    pub fn element(self, out: &mut Vec<u8>, layout: &Layout, slot: &Slot, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Kind::Struct(place) = slot.field.kind {
            return self.structure(out, place, value);
        }
        put_value(
            out,
            slot,
            value,
            self.is_strict,
            &FieldName(layout.of, slot.field.snake_name),
        )
    }

    fn array(self, out: &mut Vec<u8>, layout: &Layout, slot: &Slot, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let name = FieldName(layout.of, slot.field.snake_name);
        if value.is_none() {
            return put_null(out, slot, &name);
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            put_count(out, slot, tuple.len(), &name)?;
            for item in tuple.iter() {
                self.element(out, layout, slot, &item)?;
            }
            return Ok(());
        }
        if let Ok(list) = value.cast::<PyList>() {
            let count = list.len();
            put_count(out, slot, count, &name)?;
            for index in 0..count {
                self.element(out, layout, slot, &list.get_item(index)?)?;
            }
            return if list.len() == count {
                Ok(())
            } else {
                Err(changed(&name))
            };
        }
        let (items, make) = match value.cast_exact::<LazyRows>() {
            Ok(rows) => rows.get().parts(value.py()),
            Err(_) => (value.clone(), None),
        };
        let mut left = items.len()?;
        put_count(out, slot, left, &name)?;
        for item in items.try_iter()? {
            let item = match &make {
                Some(make) => make.call1((item?,))?,
                None => item?,
            };
            left = left.checked_sub(1).ok_or_else(|| changed(&name))?;
            self.element(out, layout, slot, &item)?;
        }
        if left == 0 { Ok(()) } else { Err(changed(&name)) }
    }

    /// Checks names that this version has not.
    #[cold]
    fn check_names(self, layout: &Layout, class: &StructType, given: &Bound<'_, PyDict>) -> PyResult<()> {
        for (key, value) in given.iter() {
            let name: String = key.extract()?;
            let Some(index) = layout.of.fields.iter().position(|field| field.snake_name == name) else {
                let (module, of) = (self.schema.message.module, layout.of.name);
                return Err(UnknownFieldError::new_err(format!(
                    "{module}: no version of {of} has the field '{name}'"
                )));
            };
            if layout.missing.contains(&index) {
                self.check_missing(layout, class, index, &value)?;
            }
        }
        Ok(())
    }

    fn check_object(self, layout: &Layout, class: &StructType, given: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.is_strict {
            for index in &layout.missing {
                if let Some(value) = field_at(given, class, *index) {
                    self.check_missing(layout, class, *index, &value)?;
                }
            }
        }
        Ok(())
    }

    /// A value that a request's version has not may be left out when it is the default or the table lets it.
    fn check_missing(
        self,
        layout: &Layout,
        class: &StructType,
        index: usize,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let field = &layout.of.fields[index];
        if !self.is_strict || field.is_ignorable || value.eq(&class.defaults[index])? {
            return Ok(());
        }
        if field.is_array && !value.is_none() && value.len()? == 0 {
            return Ok(());
        }
        let version = self.schema.version;
        let name = FieldName(layout.of, field.snake_name);
        Err(PyValueError::new_err(
            name.is(&format!("is not in version {version}, and may not be left out")),
        ))
    }
}

/// Elements of an array that is written in one step.
const SHORT: usize = 32;

fn is_short_array(value: &Bound<'_, PyAny>) -> bool {
    if let Ok(tuple) = value.cast::<PyTuple>() {
        tuple.len() <= SHORT
    } else if let Ok(list) = value.cast::<PyList>() {
        list.len() <= SHORT
    } else {
        value.is_none()
    }
}

/// The count of an array.
pub fn put_count(out: &mut Vec<u8>, slot: &Slot, count: usize, name: &FieldName) -> PyResult<()> {
    if count >= i32::MAX as usize {
        return Err(PyValueError::new_err(name.is("has too many elements")));
    }
    put::length(out, Some(count), slot.is_compact, false);
    Ok(())
}

#[cold]
pub fn changed(name: &FieldName) -> PyErr {
    PyRuntimeError::new_err(name.is("changed its size while it was written"))
}

#[cold]
fn not_given(layout: &Layout, slot: &Slot) -> PyErr {
    PyTypeError::new_err(FieldName(layout.of, slot.field.snake_name).is("is not given"))
}

#[cold]
fn not_a_struct(layout: &Layout, given: &Bound<'_, PyAny>) -> PyErr {
    let kind = given
        .get_type()
        .name()
        .map_or_else(|_| String::new(), |name| name.to_string());
    PyTypeError::new_err(format!("a {kind} is no {}", layout.of.name))
}
