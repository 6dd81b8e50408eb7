//! How far a topic may be read, asked from its leaders, for scans of files.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use client::Security;
use planner::{Brokers, OffsetLookup};

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
#[expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]
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
    let found = py.detach(|| {
        let brokers = Brokers::parse(bootstrap_servers, security, timeout)?.pooled();
        brokers.partitions(topic, partitions.as_deref())
    });
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
