//! How far a topic may be read, asked from its leaders, for scans of files.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use client::Security;
use planner::{Brokers, OffsetLookup};

/// How often signals are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Host and port of each server of `bootstrap_servers`.
#[pyfunction]
pub fn parse_servers(bootstrap_servers: &str) -> PyResult<Vec<(String, u16)>> {
    client::parse_servers(bootstrap_servers).map_err(|error| {
        let (text, fix) = (error.text.escape_debug(), error.fix);
        PyValueError::new_err(format!("bootstrap_servers: '{text}' is no server; {fix}"))
    })
}

/// (log start offset, high watermark, last stable offset) of each partition.
#[pyfunction]
#[pyo3(signature = (bootstrap_servers, topic, partitions, timeout_s, properties))]
pub fn broker_offsets(
    py: Python<'_>,
    bootstrap_servers: &str,
    topic: &str,
    partitions: Option<Vec<i32>>,
    timeout_s: f64,
    properties: HashMap<String, String>,
) -> PyResult<BTreeMap<i32, (i64, i64, i64)>> {
    let timeout = Duration::try_from_secs_f64(timeout_s).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let security = Security::kept(properties).map_err(PyValueError::new_err)?;
    let (servers, topic) = (bootstrap_servers.to_owned(), topic.to_owned());
    let found = unless_interrupted(py, move || {
        let brokers = Brokers::parse(&servers, security, timeout)?.pooled();
        brokers.partitions(&topic, partitions.as_deref())
    })?;
    Ok(found
        .or_raise()?
        .into_iter()
        .map(|(partition, live)| {
            let seen = live.watermarks;
            let offsets = (
                seen.log_start_offset.get(),
                seen.high_watermark.get(),
                seen.last_stable_offset.get(),
            );
            (partition, offsets)
        })
        .collect())
}

/// Does the work on another thread. A signal, as of Ctrl-C, raises at once; the thread then ends at its own limits.
pub fn unless_interrupted<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (done, mut result) = mpsc::channel();
    let thread = thread::Builder::new()
        .name("kafkastore-brokers".into())
        .spawn(move || {
            // nobody waits for it after a signal
            let _ = done.send(work());
        })?;
    loop {
        let waited;
        (waited, result) = py.detach(move || (result.recv_timeout(LOOK_EVERY), result));
        match waited {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().err();
                let message = panic.map_or_else(String::new, |panic| broker::message_of(&*panic).to_owned());
                return Err(PyRuntimeError::new_err(format!("panic: {message}")));
            }
        }
    }
}
