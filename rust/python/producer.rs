//! A producer of records for Python: rows go in by the block, reports come out by the batch.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList};

use crate::broker_offsets::unless_interrupted;
use crate::consumer::client_error;
use crate::convert::millis;
use crate::errors::{OrRaise, Raise};
use ::producer::{DeliveryReport, Producer, ProducerError, ProducerOptions, Result, RowFields, put_row};
use client::Properties;

impl Raise for ProducerError {
    fn raised(self) -> PyErr {
        client_error(self.to_string(), None, false)
    }
}

/// A row: key, value, headers, partition, timestamp in ms.
type Row = (
    Option<PyBackedBytes>,
    Option<PyBackedBytes>,
    Option<Vec<(PyBackedStr, Option<PyBackedBytes>)>>,
    Option<i32>,
    Option<i64>,
);

/// A producer, of which one call runs at a time.
#[pyclass(frozen, name = "Producer", module = "kafkastore._core")]
pub struct PyProducer {
    /// `None` once it is closed. Calls that may wait for long run on threads of their own.
    producer: Arc<Mutex<Option<Producer>>>,
    ignored: Vec<String>,
}

#[pymethods]
impl PyProducer {
    #[new]
    fn new(py: Python<'_>, properties: HashMap<String, String>) -> PyResult<Self> {
        let properties = Properties::new(properties, "");
        let parsed = py.detach(|| ProducerOptions::of_properties(&properties));
        let (options, ignored) = parsed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self {
            producer: Arc::new(Mutex::new(Some(Producer::new(Arc::new(options))))),
            ignored,
        })
    }

    #[getter]
    fn ignored(&self) -> Vec<String> {
        self.ignored.clone()
    }

    fn send(&self, py: Python<'_>, topic: &str, rows: Vec<Row>) -> PyResult<bool> {
        let mut block = Vec::new();
        let mut row_headers: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
        for (key, value, headers, partition, timestamp_ms) in &rows {
            let fields = RowFields {
                partition: partition
                    .map(|partition| check("partition", partition.into()))
                    .transpose()?,
                timestamp_ms: timestamp_ms.map(|time| check("timestamp_ms", time)).transpose()?,
                key: key.as_deref(),
                value: value.as_deref(),
            };
            row_headers.clear();
            let headers = headers.iter().flatten();
            row_headers.extend(headers.map(|(name, value)| (name.as_bytes(), value.as_deref())));
            put_row(&mut block, &fields, &row_headers);
        }
        self.send_block(py, topic, &block)
    }

    fn send_values(&self, py: Python<'_>, topic: &str, values: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mut block = Vec::new();
        let mut put = |value: &Bound<'_, PyAny>| -> PyResult<()> {
            let value = Some(value.cast::<PyBytes>()?.as_bytes());
            put_row(
                &mut block,
                &RowFields {
                    value,
                    ..RowFields::default()
                },
                &[],
            );
            Ok(())
        };
        match values.cast::<PyList>() {
            Ok(list) => list.iter().try_for_each(|value| put(&value))?,
            Err(_) => values.try_iter()?.try_for_each(|value| put(&value?))?,
        }
        self.send_block(py, topic, &block)
    }

    fn poll(&self, py: Python<'_>, timeout_ms: i64) -> PyResult<Vec<Delivery>> {
        let reports = self.call(py, |producer| producer.poll_reports(millis(timeout_ms)))?;
        Ok(reports.into_iter().map(Delivery::from).collect())
    }

    fn flush(&self, py: Python<'_>, timeout_ms: i64) -> PyResult<bool> {
        self.call(py, |producer| producer.flush_reports(millis(timeout_ms)))
    }

    fn pending(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.call(py, |producer| Ok(producer.pending()))
    }

    fn init_transactions(&self, py: Python<'_>) -> PyResult<()> {
        self.call_waiting(py, Producer::init_transactions)
    }

    fn begin_transaction(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, Producer::begin_transaction)
    }

    fn commit_transaction(&self, py: Python<'_>) -> PyResult<()> {
        while !self.flush(py, 100)? {
            py.check_signals()?;
        }
        self.call_waiting(py, Producer::commit_transaction)
    }

    fn abort_transaction(&self, py: Python<'_>) -> PyResult<()> {
        self.call_waiting(py, Producer::abort_transaction)
    }

    fn send_offsets_to_transaction(
        &self,
        py: Python<'_>,
        group: String,
        offsets: HashMap<(String, i32), i64>,
    ) -> PyResult<()> {
        let offsets: Vec<(String, i32, i64)> = offsets
            .into_iter()
            .map(|((topic, partition), offset)| (topic, partition, offset))
            .collect();
        self.call_waiting(py, move |producer| producer.send_offsets(&group, &offsets))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            // one that a call still holds ends with that call
            if let Some(mut producer) = self.producer.try_lock() {
                *producer = None;
            }
        });
    }
}

impl PyProducer {
    fn send_block(&self, py: Python<'_>, topic: &str, block: &[u8]) -> PyResult<bool> {
        if !self.call(py, |producer| Ok(producer.knows(topic)))? {
            let topic = topic.to_owned();
            self.call_waiting(py, move |producer| producer.find(&topic))?;
        }
        self.call(py, |producer| producer.send_rows(topic, block))
    }

    fn call<T: Send>(&self, py: Python<'_>, call: impl FnOnce(&mut Producer) -> Result<T> + Send) -> PyResult<T> {
        py.detach(|| with_open(&self.producer, call)).or_raise()
    }

    /// A call that may wait for longer than Ctrl-C should.
    fn call_waiting(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Producer) -> Result<()> + Send + 'static,
    ) -> PyResult<()> {
        let producer = Arc::clone(&self.producer);
        unless_interrupted(py, move || with_open(&producer, call))?.or_raise()
    }
}

fn with_open<T>(producer: &Mutex<Option<Producer>>, call: impl FnOnce(&mut Producer) -> Result<T>) -> Result<T> {
    match &mut *producer.lock() {
        Some(producer) => call(producer),
        None => Err(ProducerError::Invalid(
            "the producer is closed; make another one".to_owned(),
        )),
    }
}

fn check<T: TryFrom<i64>>(name: &str, number: i64) -> PyResult<T> {
    let checked = (number >= 0).then(|| T::try_from(number).ok()).flatten();
    checked.ok_or_else(|| PyValueError::new_err(format!("{name}: {number} is less than 0; leave it out instead")))
}

/// What became of the records of a batch.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct Delivery {
    topic: String,
    partition: i32,
    base_offset: i64,
    count: u64,
    bytes: u64,
    waited: Vec<(f64, i32)>,
    error: Option<&'static str>,
    message: Option<String>,
}

impl From<DeliveryReport> for Delivery {
    fn from(report: DeliveryReport) -> Self {
        let waited = report.waited.iter();
        let (base_offset, error, message) = match report.end {
            Ok(base_offset) => (base_offset, None, None),
            Err((code, sentence)) => (-1, Some(code.name()), Some(sentence)),
        };
        Self {
            topic: report.topic.to_string(),
            partition: report.partition,
            base_offset,
            count: report.count,
            bytes: report.bytes,
            waited: waited
                .map(|(time, count)| (time.as_secs_f64() * 1000.0, *count))
                .collect(),
            error,
            message,
        }
    }
}
