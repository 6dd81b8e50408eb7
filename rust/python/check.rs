//! `Check`: a check of log directories as a Python object. Its progress is read by polling while `run` is in a thread.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::convert::path;
use ::io::OsFileSystem;
use scan::check::{Check, Finding, Options};

/// The result of a check: its totals and its findings.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct CheckReport {
    partitions: u64,
    segments: u64,
    batches: u64,
    records: u64,
    bytes: u64,
    faults: u64,
    findings: Vec<Py<CheckFinding>>,
}

/// A finding of a check.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct CheckFinding {
    severity: &'static str,
    path: String,
    position: Option<u64>,
    message: String,
}

/// How far a check is.
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct CheckProgress {
    bytes_walked: u64,
    bytes_in_all: u64,
    segments_done: u64,
    segments_in_all: u64,
}

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

    fn run(&self, py: Python<'_>) -> PyResult<CheckReport> {
        let report = py
            .detach(|| self.check.run())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let it = report.totals;
        let findings = report.findings.into_iter().map(|finding| Py::new(py, row(finding)));
        Ok(CheckReport {
            partitions: it.partitions,
            segments: it.segments,
            batches: it.batches,
            records: it.records,
            bytes: it.bytes,
            faults: report.faults,
            findings: findings.collect::<PyResult<_>>()?,
        })
    }

    fn progress(&self) -> CheckProgress {
        let (bytes_walked, bytes_in_all, segments_done, segments_in_all) = self.check.progress().read();
        CheckProgress {
            bytes_walked,
            bytes_in_all,
            segments_done,
            segments_in_all,
        }
    }

    fn cancel(&self) {
        self.check.progress().cancel();
    }
}

fn row(finding: Finding) -> CheckFinding {
    CheckFinding {
        severity: finding.severity.name(),
        path: path(&finding.path),
        position: finding.position,
        message: finding.message,
    }
}
