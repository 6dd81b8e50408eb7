//! The builder of a bulk load for Python.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use parking_lot::Mutex;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{OrRaise, Raise};
use ::io::{FileSystem, OsFileSystem};
use load::{BuildSettings, LoadError, SegmentTarget, TopicBuilder, append_rows, codec_of};

create_exception!(
    _core,
    LoadBuildError,
    PyException,
    "Segments of a bulk load that cannot be written, or rows that cannot be read."
);

impl Raise for LoadError {
    fn raised(self) -> PyErr {
        match self {
            LoadError::Invalid(message) => PyValueError::new_err(message),
            other => LoadBuildError::new_err(other.to_string()),
        }
    }
}

/// Builds the segments of a topic's load.
#[pyclass(frozen, name = "LoadBuilder", module = "kafkastore._core")]
pub struct PyLoadBuilder {
    /// `None` once it has ended.
    builder: Mutex<Option<TopicBuilder>>,
    now_ms: i64,
}

#[pymethods]
impl PyLoadBuilder {
    #[new]
    #[pyo3(signature = (topic, targets, *, producer_id, producer_epoch, compression, level, batch_bytes,
        max_message_bytes, segment_bytes, needs_keys, now_ms, threads))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
    fn new(
        topic: &str,
        targets: Vec<(PathBuf, i32)>,
        producer_id: i64,
        producer_epoch: i16,
        compression: &str,
        level: Option<i32>,
        batch_bytes: usize,
        max_message_bytes: usize,
        segment_bytes: u64,
        needs_keys: bool,
        now_ms: i64,
        threads: usize,
    ) -> PyResult<Self> {
        let settings = BuildSettings {
            producer_id,
            producer_epoch,
            codec: codec_of(compression).or_raise()?,
            level,
            batch_bytes,
            max_message_bytes,
            segment_bytes,
            needs_keys,
        };
        let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
        let targets: Vec<SegmentTarget> = targets
            .into_iter()
            .map(|(dir, known)| SegmentTarget { dir, known })
            .collect();
        Ok(Self {
            builder: Mutex::new(Some(TopicBuilder::new(&fs, topic, settings, &targets, threads))),
            now_ms,
        })
    }

    /// Adds the rows of an Arrow stream; returns how many.
    #[expect(unsafe_code, reason = "the Arrow PyCapsule interface hands over a C structure")]
    fn append(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<u64> {
        let capsule = rows.call_method0("__arrow_c_stream__")?;
        let pointer = capsule
            .cast::<PyCapsule>()?
            .pointer_checked(Some(c"arrow_array_stream"))?
            .cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds a valid stream, by the Arrow PyCapsule interface. The stream is moved
        // out of it, and an empty one is left, which the capsule's destructor releases.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        py.detach(|| {
            let unread = |error: arrow_schema::ArrowError| LoadError::Rows(error.to_string());
            let mut builder = self.builder.lock();
            let Some(open) = builder.as_mut() else {
                return Err(LoadError::Invalid("the load has ended".to_owned()));
            };
            let mut count = 0;
            for batch in ArrowArrayStreamReader::try_new(stream).map_err(unread)? {
                let batch = batch.map_err(unread)?;
                append_rows(open, &batch, self.now_ms)?;
                count += batch.num_rows() as u64;
            }
            Ok(count)
        })
        .map_err(|error| {
            *self.builder.lock() = None; // no call may follow an error
            error.raised()
        })
    }

    /// Writes the rest; returns (records, bytes) of each partition.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<(i32, u64)>> {
        let Some(mut builder) = self.builder.lock().take() else {
            return Err(PyValueError::new_err("the load has ended"));
        };
        let built = py.detach(|| builder.finish()).or_raise()?;
        Ok(built.into_iter().map(|one| (one.records, one.bytes)).collect())
    }
}

/// Makes the directory of a task of a load, with a mark of whose it is.
#[pyfunction]
pub fn make_staging_dir(directory: PathBuf, load_id: &str, driver_epoch: i16) -> PyResult<()> {
    Ok(::load::make_staging_dir(
        &OsFileSystem,
        &directory,
        load_id,
        driver_epoch,
    )?)
}

/// Removes what tasks of earlier drivers of a load have staged.
#[pyfunction]
pub fn sweep_staged(py: Python<'_>, log_dirs: Vec<PathBuf>, load_id: &str, before: i16) {
    py.detach(|| ::load::sweep_staged(&OsFileSystem, log_dirs.iter().map(PathBuf::as_path), load_id, before));
}
