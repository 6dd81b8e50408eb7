//! Long answers, written piece by piece.
//!
//! An [`Unwritten`] keeps values until its bytes are asked for. [`Pieces`] writes them with a stack of its own
//! instead of calls in calls, so that it can stop anywhere: after a millisecond or 64 KiB, and between any two
//! elements of an array at any depth, but not within tagged fields. Each value is let go when it was written; the
//! items of [`LazyRows`] are made when they are written.

use std::time::{Duration, Instant};

use protocol::codec::put;
use protocol::codec::schema::Slot;
use protocol::codec::table::Kind;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use super::encode::{ObjectWriter, changed, put_count};
use super::values::{FieldName, put_null};

/// A piece ends after this time.
const PIECE_TIME: Duration = Duration::from_millis(1);
/// A piece ends when it has this many bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// The clock is asked after this many steps, each of which writes some bytes.
const STEPS_A_LOOK: u32 = 16;

type TakenValues = Vec<Option<Py<PyAny>>>;

/// As many rows as there are `items`, each made by `make` when it is written.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct LazyRows {
    items: Py<PyAny>,
    make: Py<PyAny>,
}

#[pymethods]
impl LazyRows {
    #[new]
    fn new(items: Py<PyAny>, make: Py<PyAny>) -> Self {
        Self { items, make }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.items.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("builtins")?.getattr("map")?.call1((&self.make, &self.items))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.items)?;
        visit.call(&self.make)
    }
}

impl LazyRows {
    /// The items and what makes rows of them.
    pub fn parts<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>) {
        (self.items.bind(py).clone(), Some(self.make.bind(py).clone()))
    }
}

/// A struct whose bytes are made when they are asked for.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct Unwritten {
    writer: ObjectWriter,
    place: usize,
    values: TakenValues,
}

impl Unwritten {
    pub fn new(writer: ObjectWriter, place: usize, values: TakenValues) -> Self {
        Self { writer, place, values }
    }

    pub fn parts(&self) -> (ObjectWriter, usize, &[Option<Py<PyAny>>]) {
        (self.writer, self.place, &self.values)
    }
}

#[pymethods]
impl Unwritten {
    /// Kafka's name of the struct.
    #[getter]
    fn name(&self) -> &'static str {
        self.writer.schema.layouts[self.place].of.name
    }

    /// The bytes.
    fn pieces(&self, py: Python<'_>) -> Pieces {
        let values = self
            .values
            .iter()
            .map(|value| value.as_ref().map(|value| value.clone_ref(py)));
        Pieces {
            stack: vec![OpenStruct::Struct {
                writer: self.writer,
                place: self.place,
                values: values.collect(),
                next: 0,
            }],
            out: Vec::new(),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Unwritten {} version {}>", self.name(), self.writer.schema.version)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.values.iter().flatten().try_for_each(|value| visit.call(value))
    }
}

/// What is being written: the struct outside first.
enum OpenStruct {
    Struct {
        writer: ObjectWriter,
        place: usize,
        values: TakenValues,
        next: usize,
    },
    Array {
        writer: ObjectWriter,
        place: usize,
        slot: &'static Slot,
        items: Py<PyIterator>,
        make: Option<Py<PyAny>>,
        left: usize,
    },
}

/// The bytes of a struct, piece by piece.
#[pyclass(module = "kafkastore._core")]
pub struct Pieces {
    stack: Vec<OpenStruct>,
    out: Vec<u8>,
}

#[pymethods]
impl Pieces {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        match self.fill(py) {
            Ok(()) if self.out.is_empty() => Ok(None),
            Ok(()) => {
                let piece = PyBytes::new(py, &self.out);
                self.out.clear();
                Ok(Some(piece))
            }
            Err(error) => {
                self.stack.clear();
                self.out.clear();
                Err(error)
            }
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for frame in &self.stack {
            match frame {
                OpenStruct::Struct { values, .. } => values.iter().flatten().try_for_each(|value| visit.call(value))?,
                OpenStruct::Array { items, make, .. } => {
                    visit.call(items)?;
                    visit.call(make)?;
                }
            }
        }
        Ok(())
    }

    fn __clear__(&mut self) {
        self.stack.clear();
    }
}

impl Pieces {
    /// Writes the next piece to `out`; nothing when all is written.
    fn fill(&mut self, py: Python<'_>) -> PyResult<()> {
        let over_at = Instant::now() + PIECE_TIME;
        let mut steps = 0;
        while !self.stack.is_empty() {
            let has_called_python = self.step(py)?;
            steps += 1;
            if self.out.len() >= PIECE_BYTES
                || ((has_called_python || steps % STEPS_A_LOOK == 0) && Instant::now() >= over_at)
            {
                break;
            }
        }
        Ok(())
    }

    /// Writes one field or one element, or the beginning or the end of a struct; whether code of the caller's ran.
    fn step(&mut self, py: Python<'_>) -> PyResult<bool> {
        match self.stack.last_mut() {
            None => Ok(false),
            Some(OpenStruct::Struct {
                writer,
                place,
                values,
                next,
            }) => {
                let (writer, place) = (*writer, *place);
                let layout = &writer.schema.layouts[place];
                if let Some(slot) = layout.slots.get(*next) {
                    let value = values.get_mut(*next).and_then(Option::take);
                    *next += 1;
                    self.field(py, writer, place, slot, value)?;
                } else {
                    let rest = values.split_off(layout.slots.len().min(values.len()));
                    self.stack.pop();
                    if writer.schema.is_flexible {
                        let rest = rest.into_iter().map(|value| value.map(|value| value.into_bound(py)));
                        writer.put_tags(&mut self.out, layout, &rest.collect::<Vec<_>>())?;
                    }
                }
                Ok(false)
            }
            Some(OpenStruct::Array {
                writer,
                place,
                slot,
                items,
                make,
                left,
            }) => {
                let (writer, place, slot) = (*writer, *place, *slot);
                let layout = &writer.schema.layouts[place];
                let name = FieldName(layout.of, slot.field.snake_name);
                let Some(item) = items.bind(py).clone().next() else {
                    let is_whole = *left == 0;
                    self.stack.pop();
                    return if is_whole { Ok(false) } else { Err(changed(&name)) };
                };
                *left = left.checked_sub(1).ok_or_else(|| changed(&name))?;
                let (item, has_called_python) = match make {
                    Some(make) => (make.bind(py).call1((item?,))?, true),
                    None => (item?, false),
                };
                match slot.field.kind {
                    Kind::Struct(part) => self.enter(writer, part, &item)?,
                    _ => writer.element(&mut self.out, layout, slot, &item)?,
                }
                Ok(has_called_python)
            }
        }
    }

    fn field(
        &mut self,
        py: Python<'_>,
        writer: ObjectWriter,
        place: usize,
        slot: &'static Slot,
        value: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let layout = &writer.schema.layouts[place];
        let Some(value) = value else {
            if !slot.is_optional {
                return Err(PyTypeError::new_err(
                    FieldName(layout.of, slot.field.snake_name).is("is not given"),
                ));
            }
            self.out.extend_from_slice(&slot.default_bytes);
            return Ok(());
        };
        let value = value.into_bound(py);
        if slot.field.is_array && !value.is_none() {
            return self.begin_array(writer, place, slot, &value);
        }
        match slot.field.kind {
            Kind::Struct(_) if value.is_none() => {
                put_null(&mut self.out, slot, &FieldName(layout.of, slot.field.snake_name))
            }
            Kind::Struct(part) if !slot.field.is_array => {
                if slot.is_nullable {
                    self.out.push(put::STRUCT);
                }
                self.enter(writer, part, &value)
            }
            _ => writer.field(&mut self.out, layout, slot, &value),
        }
    }

    fn begin_array(
        &mut self,
        writer: ObjectWriter,
        place: usize,
        slot: &'static Slot,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (items, make) = match value.cast_exact::<LazyRows>() {
            Ok(rows) => rows.get().parts(value.py()),
            Err(_) => (value.clone(), None),
        };
        let left = items.len()?;
        let name = FieldName(writer.schema.layouts[place].of, slot.field.snake_name);
        put_count(&mut self.out, slot, left, &name)?;
        self.stack.push(OpenStruct::Array {
            writer,
            place,
            slot,
            items: items.try_iter()?.unbind(),
            make: make.map(Bound::unbind),
            left,
        });
        Ok(())
    }

    /// Writes a struct, or begins it when it has arrays or structs.
    fn enter(&mut self, writer: ObjectWriter, place: usize, given: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(unwritten) = given.cast_exact::<Unwritten>() {
            let py = given.py();
            let (writer, place, values) = unwritten.get().parts();
            let values = values
                .iter()
                .map(|value| value.as_ref().map(|value| value.clone_ref(py)));
            self.stack.push(OpenStruct::Struct {
                writer,
                place,
                values: values.collect(),
                next: 0,
            });
            return Ok(());
        }
        if given.is_exact_instance_of::<PyBytes>() || writer.is_short(place, given)? {
            return writer.structure(&mut self.out, place, given);
        }
        let values = writer.values(place, given)?;
        self.stack.push(OpenStruct::Struct {
            writer,
            place,
            values,
            next: 0,
        });
        Ok(())
    }
}
