//! The rows of a scan as Python values, for callers without an Arrow library: `kafkastore dump`, counts by key.
//!
//! A list of tuples for each record batch, columns in the scan's order: bytes, text, int, or None; timestamps are
//! microseconds; headers a list of (name, value). Much slower than Arrow, and meant for display.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parking_lot::Mutex;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::scan::PyScan;
use crate::errors::OrRaise;
use scan::ScanReader;

/// Iterates a scan once, from its beginning.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct Rows {
    reader: Mutex<ScanReader>,
}

#[pymethods]
impl Rows {
    #[new]
    fn new(py: Python<'_>, scan: &Bound<'_, PyScan>) -> PyResult<Self> {
        Ok(Self {
            reader: Mutex::new(scan.get().reader(py)?),
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        match py.detach(|| self.reader.lock().next_batch()) {
            Some(batch) => rows(py, &batch.or_raise()?).map(Some),
            None => Ok(None),
        }
    }
}

/// One tuple a row.
fn rows<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in 0..batch.num_rows() {
        let values: Vec<Bound<'py, PyAny>> = batch
            .columns()
            .iter()
            .map(|column| value(py, column, row))
            .collect::<PyResult<_>>()?;
        list.append(PyTuple::new(py, values)?)?;
    }
    Ok(list)
}

fn value<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Binary => PyBytes::new(py, column.as_binary::<i32>().value(row)).into_any(),
        DataType::Utf8 => column.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int32 => column
            .as_primitive::<Int32Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Int64 => column
            .as_primitive::<Int64Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::Timestamp(..) => column
            .as_primitive::<TimestampMicrosecondType>()
            .value(row)
            .into_pyobject(py)?
            .into_any(),
        DataType::List(_) => headers(py, &column.as_list::<i32>().value(row))?.into_any(),
        other => {
            return Err(PyNotImplementedError::new_err(format!(
                "no column has the type {other}"
            )));
        }
    })
}

/// (name, value) of each header.
fn headers<'py>(py: Python<'py>, elements: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for row in 0..elements.len() {
        let fields = elements.as_struct().columns();
        let values: Vec<Bound<'py, PyAny>> = fields
            .iter()
            .map(|field| value(py, field, row))
            .collect::<PyResult<_>>()?;
        list.append(PyTuple::new(py, values)?)?;
    }
    Ok(list)
}
