//! Plans of scans for Python: the partitions on disk, the range that a scan reads, and its splits.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use super::convert;
use super::scan::PySplit;
use crate::errors::OrRaise;
use ::io::{FileSystem, OsFileSystem};
use base::place::Offset;
use scan::{self, Bound, Isolation, PartitionPlan, ScanError, ScanRequest, TimeLimits, Watermarks};

/// Bounds by partition: (kind, value).
type BoundRows = HashMap<i32, (String, i64)>;

/// The closed range of one partition.
#[pyclass(frozen, name = "PartitionPlan", module = "kafkastore._core")]
pub struct PyPartitionPlan(PartitionPlan);

#[pymethods]
impl PyPartitionPlan {
    #[getter]
    fn topic(&self) -> &str {
        &self.0.partition.topic
    }

    #[getter]
    fn partition(&self) -> i32 {
        self.0.partition.partition
    }

    #[getter]
    fn path(&self) -> String {
        convert::path(&self.0.path)
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
    fn log_start_offset(&self) -> i64 {
        self.0.log_start_offset.get()
    }

    #[getter]
    fn end_limit(&self) -> i64 {
        self.0.end_limit.get()
    }

    #[getter]
    fn is_overtaken(&self) -> bool {
        self.0.is_overtaken
    }

    #[getter]
    fn leader_epoch(&self) -> i32 {
        self.0.leader_epoch.get()
    }

    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    #[getter]
    fn segments(&self) -> usize {
        self.0.segment_count()
    }

    #[getter]
    fn lost(&self) -> Vec<(i64, i64)> {
        self.0.lost.iter().map(|(from, to)| (from.get(), to.get())).collect()
    }

    fn splits(&self, py: Python<'_>, split_bytes: u64) -> PyResult<Vec<PySplit>> {
        let splits = py.detach(|| self.0.splits(split_bytes)).or_raise()?;
        Ok(splits.into_iter().map(|split| PySplit(Arc::new(split))).collect())
    }

    #[pyo3(signature = (*, min_timestamp_ms=None, end_timestamp_ms=None))]
    fn count(&self, py: Python<'_>, min_timestamp_ms: Option<i64>, end_timestamp_ms: Option<i64>) -> PyResult<u64> {
        let limits = TimeLimits {
            min_ms: min_timestamp_ms,
            end_ms: end_timestamp_ms,
        };
        Ok(py.detach(|| self.0.summary(limits)).or_raise()?.records)
    }

    fn __repr__(&self) -> String {
        let plan = &self.0;
        format!(
            "PartitionPlan({}, offsets {} to {}, {} bytes)",
            plan.partition,
            plan.start_offset,
            plan.end_offset,
            plan.size_bytes()
        )
    }
}

/// A partition found on disk.
#[pyclass(frozen, get_all, name = "TopicPartitionFiles", module = "kafkastore._core")]
pub struct PyTopicPartitionFiles {
    topic: String,
    partition: i32,
    log_dir: String,
    path: String,
    segments: usize,
    size_bytes: u64,
    log_start_offset: i64,
    end_offset: i64,
    log_end_offset: i64,
    first_timestamp_ms: i64,
    max_timestamp_ms: i64,
}

/// Every partition below the log directories.
#[pyfunction]
#[pyo3(signature = (log_dirs, topic=None))]
pub fn list_partitions(
    py: Python<'_>,
    log_dirs: Vec<PathBuf>,
    topic: Option<&str>,
) -> PyResult<Vec<PyTopicPartitionFiles>> {
    let found = py
        .detach(|| scan::list_partitions(&OsFileSystem, &log_dirs, topic))
        .or_raise()?;
    let row = |it: scan::TopicPartitionFiles| PyTopicPartitionFiles {
        topic: it.partition.topic.to_string(),
        partition: it.partition.partition,
        log_dir: convert::path(&it.log_dir),
        path: convert::path(&it.path),
        segments: it.segments,
        size_bytes: it.size_bytes,
        log_start_offset: it.log_start_offset.get(),
        end_offset: it.end_offset.get(),
        log_end_offset: it.log_end_offset.get(),
        first_timestamp_ms: it.first_timestamp_ms,
        max_timestamp_ms: it.max_timestamp_ms,
    };
    Ok(found.into_iter().map(row).collect())
}

/// Fixes what a scan of a topic reads.
#[pyfunction]
#[pyo3(signature = (
    log_dirs, topic, *, partitions=None, start=None, end=None, isolation_level="read_uncommitted", watermarks=None,
    fail_on_data_loss=true, ignore_corrupt_batches=false, keep_open=true
))]
#[expect(clippy::too_many_arguments, reason = "named arguments of a Python function")]
pub fn plan_scan(
    py: Python<'_>,
    log_dirs: Vec<PathBuf>,
    topic: String,
    partitions: Option<Vec<i32>>,
    start: Option<BoundRows>,
    end: Option<BoundRows>,
    isolation_level: &str,
    watermarks: Option<HashMap<i32, (i64, i64, i64)>>,
    fail_on_data_loss: bool,
    ignore_corrupt_batches: bool,
    keep_open: bool,
) -> PyResult<Vec<PyPartitionPlan>> {
    let given = |(log_start_offset, high_watermark, last_stable_offset)| Watermarks {
        log_start_offset: Offset(log_start_offset),
        high_watermark: Offset(high_watermark),
        last_stable_offset: Offset(last_stable_offset),
    };
    let request = ScanRequest {
        log_dirs,
        topic,
        partitions,
        start: bounds("start", start).or_raise()?,
        end: bounds("end", end).or_raise()?,
        isolation: Isolation::parse(isolation_level).or_raise()?,
        watermarks: watermarks
            .unwrap_or_default()
            .into_iter()
            .map(|(partition, it)| (partition, given(it)))
            .collect(),
        fail_on_data_loss,
        ignore_corrupt_batches,
        allow_short_logs: false,
        keep_open,
        link_dir: None,
    };
    let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
    let plans = py.detach(|| scan::plan_scan(&fs, &request)).or_raise()?;
    Ok(plans.into_iter().map(PyPartitionPlan).collect())
}

fn bounds(which: &str, given: Option<BoundRows>) -> Result<HashMap<i32, Bound>, ScanError> {
    let parse = |(partition, (kind, value)): (i32, (String, i64))| Ok((partition, Bound::parse(which, &kind, value)?));
    given.unwrap_or_default().into_iter().map(parse).collect()
}
