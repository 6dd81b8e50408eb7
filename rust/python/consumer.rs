//! A consumer without a group for Python. Records stay the bytes in which they came until Python asks for them.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::convert::millis;
use crate::errors::{OrRaise, Raise};
use ::consumer::{Consumer, ConsumerError, ConsumerOptions, FetchedRecords};
use base::error::ErrorCode;
use client::Properties;

create_exception!(
    _core,
    ClientError,
    PyException,
    "Why records are not read or written, in one sentence."
);

/// The exception of a sentence, with Kafka's error and whether the same may succeed later.
pub fn client_error(sentence: String, code: Option<ErrorCode>, is_retriable: bool) -> PyErr {
    let raised = ClientError::new_err(sentence);
    Python::attach(|py| {
        // fails only out of memory; then the text still says what happened
        let value = raised.value(py);
        let _ = value.setattr("code", code.map(|code| code.0));
        let _ = value.setattr("is_retriable", is_retriable);
    });
    raised
}

impl Raise for ConsumerError {
    fn raised(self) -> PyErr {
        client_error(self.sentence, self.code, self.is_retriable)
    }
}

/// A consumer without a group.
#[pyclass(frozen, name = "Consumer", module = "kafkastore._core")]
pub struct PyConsumer {
    consumer: Mutex<Consumer>,
    ignored: Vec<String>,
}

type Partitions = Vec<(String, i32)>;
type ByPartition<'py> = Vec<((Bound<'py, PyString>, i32), i64)>;

#[pymethods]
impl PyConsumer {
    #[new]
    fn new(py: Python<'_>, properties: HashMap<String, String>) -> PyResult<Self> {
        let properties = Properties::new(properties, "");
        let parsed = py.detach(|| ConsumerOptions::parse(&properties));
        let (options, ignored) = parsed.map_err(|error| PyValueError::new_err(error.sentence))?;
        Ok(Self {
            consumer: Mutex::new(Consumer::new(options)),
            ignored,
        })
    }

    #[getter]
    fn ignored(&self) -> Vec<String> {
        self.ignored.clone()
    }

    fn assign(&self, py: Python<'_>, partitions: BTreeMap<(String, i32), i64>) -> PyResult<()> {
        let assigned = py.detach(|| self.consumer.lock().assign(partitions));
        assigned.map_err(|error| PyValueError::new_err(error.sentence))
    }

    #[pyo3(signature = (timeout_ms, max_records = 500))]
    fn poll(&self, py: Python<'_>, timeout_ms: i64, max_records: usize) -> PyResult<Vec<PyFetchedRecords>> {
        let polled = py.detach(|| self.consumer.lock().poll(millis(timeout_ms), max_records));
        Ok(polled.or_raise()?.into_iter().map(PyFetchedRecords).collect())
    }

    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        by_partition(py, py.detach(|| self.consumer.lock().positions()))
    }

    fn high_watermarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        by_partition(py, py.detach(|| self.consumer.lock().high_watermarks()))
    }

    fn pause(&self, py: Python<'_>, partitions: Partitions) -> PyResult<()> {
        self.set_paused(py, partitions, true)
    }

    fn resume(&self, py: Python<'_>, partitions: Partitions) -> PyResult<()> {
        self.set_paused(py, partitions, false)
    }

    fn take_warnings(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.consumer.lock().take_warnings())
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.consumer.lock().close());
    }
}

impl PyConsumer {
    fn set_paused(&self, py: Python<'_>, partitions: Partitions, is_paused: bool) -> PyResult<()> {
        let set = py.detach(|| {
            let mut consumer = self.consumer.lock();
            let mut each = partitions.iter();
            each.try_for_each(|(topic, partition)| consumer.set_paused(topic, *partition, is_paused))
        });
        set.map_err(|error| PyValueError::new_err(error.sentence))
    }
}

/// A dictionary of numbers by topic and partition.
fn by_partition(py: Python<'_>, numbers: BTreeMap<(std::sync::Arc<str>, i32), i64>) -> PyResult<Bound<'_, PyAny>> {
    let pairs: ByPartition<'_> = numbers
        .into_iter()
        .map(|((topic, partition), number)| ((PyString::new(py, &topic), partition), number))
        .collect();
    let dict = pyo3::types::PyDict::new(py);
    for (key, number) in pairs {
        dict.set_item(key, number)?;
    }
    Ok(dict.into_any())
}

/// Records of one partition, in order.
#[pyclass(frozen, name = "FetchedRecords", module = "kafkastore._core")]
pub struct PyFetchedRecords(FetchedRecords);

#[pymethods]
impl PyFetchedRecords {
    #[getter]
    fn topic(&self) -> &str {
        &self.0.topic
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.0.partition
    }

    #[getter]
    fn count(&self) -> usize {
        self.0.count
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn first_offset(&self) -> i64 {
        self.0.first_offset.get()
    }

    #[getter]
    fn last_offset(&self) -> i64 {
        self.0.last_offset.get()
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let values: Vec<_> = self.0.records().map(|record| bytes_of(py, record.value)).collect();
        PyList::new(py, values)
    }

    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let keys: Vec<_> = self.0.records().map(|record| bytes_of(py, record.key)).collect();
        PyList::new(py, keys)
    }

    fn records(&self, py: Python<'_>) -> Vec<PyFetchedRecord> {
        let mut records = Vec::with_capacity(self.0.count);
        for run in &self.0.runs {
            let (timestamp_type, leader_epoch) = (run.timestamp_type(), run.leader_epoch().get());
            records.extend(run.records().map(|record| {
                PyFetchedRecord {
                    offset: record.offset.get(),
                    timestamp_ms: record.timestamp,
                    timestamp_type,
                    key: bytes_of(py, record.key).map(Bound::unbind),
                    value: bytes_of(py, record.value).map(Bound::unbind),
                    headers: record
                        .headers
                        .map(|(key, value)| {
                            let key = PyString::new(py, &String::from_utf8_lossy(key)).unbind();
                            (key, bytes_of(py, value).map(Bound::unbind))
                        })
                        .collect(),
                    leader_epoch,
                }
            }));
        }
        records
    }
}

fn bytes_of<'py>(py: Python<'py>, bytes: Option<&[u8]>) -> Option<Bound<'py, PyBytes>> {
    bytes.map(|bytes| PyBytes::new(py, bytes))
}

/// A record.
#[pyclass(frozen, name = "FetchedRecord", module = "kafkastore._core")]
pub struct PyFetchedRecord {
    #[pyo3(get)]
    offset: i64,
    #[pyo3(get)]
    timestamp_ms: i64,
    #[pyo3(get)]
    timestamp_type: &'static str,
    #[pyo3(get)]
    key: Option<Py<PyBytes>>,
    #[pyo3(get)]
    value: Option<Py<PyBytes>>,
    headers: Vec<(Py<PyString>, Option<Py<PyBytes>>)>,
    #[pyo3(get)]
    leader_epoch: i32,
}

#[pymethods]
impl PyFetchedRecord {
    #[getter]
    fn headers(&self, py: Python<'_>) -> Vec<(Py<PyString>, Option<Py<PyBytes>>)> {
        let headers = self.headers.iter();
        headers
            .map(|(key, value)| (key.clone_ref(py), value.as_ref().map(|value| value.clone_ref(py))))
            .collect()
    }
}
