//! `Check`: a check of log directories as a Python object. Its progress is read by polling while `run` is in a thread.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::convert::path;
use crate::io::OsFileSystem;
use crate::scan::check::{Check, Finding, Options};

/// (partitions, segments, batches, records, bytes).
type TotalsTuple = (u64, u64, u64, u64, u64);
/// (severity, path, position or None, sentence).
type FindingTuple = (&'static str, String, Option<u64>, String);

/// A check of log directories.
#[pyclass(frozen, name = "Check", module = "kafkastore._core")]
pub struct PyCheck {
    check: Check,
}

#[pymethods]
impl PyCheck {
    #[new]
    #[pyo3(signature = (paths, *, topic=None, threads=1, deep=false))]
    fn new(paths: Vec<PathBuf>, topic: Option<String>, threads: usize, deep: bool) -> PyResult<Self> {
        if threads == 0 {
            return Err(PyValueError::new_err("threads=0 is less than 1"));
        }
        let options = Options {
            paths,
            topic,
            threads,
            is_deep: deep,
        };
        Ok(Self {
            check: Check::new(Arc::new(OsFileSystem), options),
        })
    }

    fn run(&self, py: Python<'_>) -> PyResult<(TotalsTuple, u64, Vec<FindingTuple>)> {
        let report = py
            .detach(|| self.check.run())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let it = report.totals;
        let totals = (it.partitions, it.segments, it.batches, it.records, it.bytes);
        Ok((totals, report.faults, report.findings.into_iter().map(row).collect()))
    }

    fn progress(&self) -> (u64, u64, u64, u64) {
        self.check.progress().read()
    }

    fn cancel(&self) {
        self.check.progress().cancel();
    }
}

fn row(finding: Finding) -> FindingTuple {
    (
        finding.severity.name(),
        path(&finding.path),
        finding.position,
        finding.message,
    )
}
