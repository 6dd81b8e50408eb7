//! Scans for Python: splits, their rows as an Arrow stream, and a scan's errors.
//!
//! The stream uses no Python object: its consumer may call it with or without the GIL, and the scan's threads never
//! need the GIL.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::fmt::Display;
use std::io::ErrorKind;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError, PyNotADirectoryError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::{convert, value_spec};
use crate::errors::{OrRaise, Raise};
use base::place::Offset;
use planner::requests;
use scan::{self, Column, Failure, LostRanges, Predicate, ScanOptions, ScanReader, ScanStream, Split};

create_exception!(
    _core,
    ScanError,
    PyException,
    "A scan that cannot go on; `path` and `position` say where, when it is a file."
);
create_exception!(
    _core,
    DataLossError,
    ScanError,
    "Records of the planned range are gone: offsets [`start_offset`, `end_offset`)."
);

impl Raise for scan::ScanError {
    fn raised(self) -> PyErr {
        (&self).raised()
    }
}

impl Raise for &scan::ScanError {
    fn raised(self) -> PyErr {
        let text = self.to_string();
        match self {
            scan::ScanError::Invalid(_) => PyValueError::new_err(text),
            scan::ScanError::NotFound(_) => PyFileNotFoundError::new_err(text),
            scan::ScanError::Io { source, .. } if source.kind() == ErrorKind::NotADirectory => {
                PyNotADirectoryError::new_err(text)
            }
            scan::ScanError::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                PyPermissionError::new_err(text)
            }
            scan::ScanError::Io { path, .. } => scan_error(text, Some(convert::path(path)), None),
            scan::ScanError::Corrupt { path, position, .. } | scan::ScanError::CorruptBatch { path, position, .. } => {
                scan_error(text, Some(convert::path(path)), Some(position.get()))
            }
            scan::ScanError::Storage(_) | scan::ScanError::BadValue { .. } | scan::ScanError::Values(_) => {
                scan_error(text, None, None)
            }
            scan::ScanError::Lost {
                topic,
                partition,
                from,
                to,
                ..
            } => {
                let raised = located(DataLossError::new_err(text), None, None);
                Python::attach(|py| {
                    let value = raised.value(py);
                    // Setting attributes fails only out of memory; then the text still says what happened.
                    let _ = value.setattr("topic", topic);
                    let _ = value.setattr("partition", partition);
                    let _ = value.setattr("start_offset", from.get());
                    let _ = value.setattr("end_offset", to.get());
                });
                raised
            }
        }
    }
}

fn scan_error(text: String, path: Option<String>, position: Option<u64>) -> PyErr {
    located(ScanError::new_err(text), path, position)
}

/// The exception with the path and position of the error.
fn located(raised: PyErr, path: Option<String>, position: Option<u64>) -> PyErr {
    Python::attach(|py| {
        let value = raised.value(py);
        // As above.
        let _ = value.setattr("path", path);
        let _ = value.setattr("position", position);
    });
    raised
}

/// One task's share of a partition.
#[pyclass(frozen, name = "Split", module = "kafkastore._core")]
pub struct PySplit(pub Arc<Split>);

#[pymethods]
impl PySplit {
    #[getter]
    fn topic(&self) -> &str {
        &self.0.topic
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.0.partition
    }

    #[getter]
    fn start_offset(&self) -> i64 {
        self.0.start_offset.get()
    }

    #[getter]
    fn end_offset(&self) -> i64 {
        self.0.end_offset.get()
    }

    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    /// The part of the split in `[start_offset, end_offset)`.
    fn within(&self, start_offset: i64, end_offset: i64) -> Self {
        Self(Arc::new(self.0.within(Offset(start_offset), Offset(end_offset))))
    }

    /// The split that `encode` gave as text.
    #[staticmethod]
    fn decode(text: &str) -> PyResult<Self> {
        Ok(Self(Arc::new(Split::decode(text).or_raise()?)))
    }

    /// The split as JSON.
    fn encode(&self) -> PyResult<String> {
        self.0.encode().or_raise()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("decode")?, (self.encode()?,)))
    }

    fn __repr__(&self) -> String {
        let split = &self.0;
        let (topic, partition) = (&split.topic, split.partition);
        format!(
            "Split({topic}-{partition}, offsets {} to {}, {} bytes)",
            split.start_offset,
            split.end_offset,
            split.size_bytes()
        )
    }
}

/// Splits read as Arrow.
#[pyclass(frozen, name = "Scan", module = "kafkastore._core")]
pub struct PyScan {
    splits: Arc<[Arc<Split>]>,
    options: Arc<ScanOptions>,
    lost: LostRanges,
    failure: Failure,
}

#[pymethods]
impl PyScan {
    #[new]
    #[pyo3(signature = (splits, columns, *, min_timestamp_ms=None, end_timestamp_ms=None, keys=None, check_crcs=true,
        threads=1, batch_rows=65536, batch_bytes=1_048_576, fail_on_data_loss=true,
        ignore_corrupt_batches=false, values=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
    fn new(
        splits: Vec<PyRef<'_, PySplit>>,
        columns: Vec<String>,
        min_timestamp_ms: Option<i64>,
        end_timestamp_ms: Option<i64>,
        keys: Option<Vec<Option<Vec<u8>>>>,
        check_crcs: bool,
        threads: i64,
        batch_rows: i64,
        batch_bytes: i64,
        fail_on_data_loss: bool,
        ignore_corrupt_batches: bool,
        values: Option<&str>,
    ) -> PyResult<Self> {
        let columns = columns
            .iter()
            .map(|name| Column::parse(name))
            .collect::<Result<Vec<_>, _>>()
            .or_raise()?;
        let mut options = ScanOptions::new(&columns).or_raise()?;
        if let Some(spec) = values {
            options = options.with_values(value_spec::decoded(spec)?, None).or_raise()?;
        }
        options.predicate = Predicate {
            min_timestamp_ms,
            end_timestamp_ms,
            keys: keys.map(Into::into),
        };
        options.check_crcs = check_crcs;
        options.threads = at_least_one("threads", threads)?;
        options.batch_rows = at_least_one("batch_rows", batch_rows)?;
        options.batch_bytes = at_least_one("batch_bytes", batch_bytes)?;
        options.fail_on_data_loss = fail_on_data_loss;
        options.ignore_corrupt_batches = ignore_corrupt_batches;
        Ok(Self {
            splits: splits.iter().map(|split| Arc::clone(&split.0)).collect(),
            options: Arc::new(options),
            lost: LostRanges::default(),
            failure: Failure::default(),
        })
    }

    /// The scan of a share that `plan_read` has cut.
    #[staticmethod]
    fn open(request: &str) -> PyResult<Self> {
        let (splits, options) = requests::open(request).or_raise()?;
        Ok(Self {
            splits,
            options: Arc::new(options),
            lost: LostRanges::default(),
            failure: Failure::default(),
        })
    }

    /// The rows as a stream. A stream may ignore the requested schema; consumers cast.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = ScanStream::new(self.reader(py)?, Arc::clone(&self.failure));
        let stream = FFI_ArrowArrayStream::new(Box::new(stream));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.options.schema().as_ref()).map_err(invalid)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The records that streams skipped because they were gone.
    #[getter]
    fn lost(&self) -> Vec<(String, i32, i64, i64)> {
        let lost = self.lost.lock();
        lost.iter()
            .map(|range| {
                (
                    range.topic.to_string(),
                    range.partition,
                    range.from.get(),
                    range.to.get(),
                )
            })
            .collect()
    }

    /// The exception of the stream that ended early.
    #[getter]
    fn failure(&self) -> Option<PyErr> {
        self.failure.lock().as_ref().map(Raise::raised)
    }
}

impl PyScan {
    /// A scan from the beginning.
    pub(super) fn reader(&self, py: Python<'_>) -> PyResult<ScanReader> {
        let (splits, options, lost) = (
            Arc::clone(&self.splits),
            Arc::clone(&self.options),
            Arc::clone(&self.lost),
        );
        py.detach(|| ScanReader::new(splits, options, lost)).or_raise()
    }
}

fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Converts a limit that must be at least 1.
fn at_least_one(name: &str, value: i64) -> PyResult<usize> {
    match usize::try_from(value) {
        Ok(limit) if limit > 0 => Ok(limit),
        _ => Err(PyValueError::new_err(format!(
            "{name}: {value} is below 1; give 1 or more"
        ))),
    }
}
