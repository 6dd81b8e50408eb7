//! The batches of a file, for `kafkastore dump`. The rows that it shows come from `rows.rs`.

use std::path::Path;

use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use record::TimestampType;
use scan::{self, BatchList, Listed};

/// Batches handed to Python at a time, so that the crossing is a small part of the cost of a listing.
const CHUNK: usize = 1024;

/// The batches of one segment file, in chunks.
#[pyclass(frozen, module = "kafkastore._core")]
pub struct BatchHeaders {
    list: Mutex<BatchList>,
}

/// One batch, in the words of `kafka-dump-log`.
#[expect(clippy::struct_excessive_bools, reason = "they are what a batch's header says")]
#[pyclass(frozen, get_all, module = "kafkastore._core")]
pub struct BatchDescription {
    position: u64,
    size_bytes: u64,
    base_offset: i64,
    last_offset: i64,
    count: i32,
    base_sequence: i32,
    last_sequence: i32,
    producer_id: i64,
    producer_epoch: i16,
    partition_leader_epoch: i32,
    is_transactional: bool,
    is_control: bool,
    delete_horizon_ms: Option<i64>,
    is_log_append_time: bool,
    max_timestamp_ms: i64,
    magic: i8,
    codec: &'static str,
    crc: u32,
    is_valid: bool,
}

impl From<Listed> for BatchDescription {
    fn from(listed: Listed) -> Self {
        let header = listed.header;
        Self {
            position: listed.position.get(),
            size_bytes: header.size_bytes() as u64,
            base_offset: header.base_offset.get(),
            last_offset: header.last_offset().get(),
            count: header.record_count,
            base_sequence: header.base_sequence,
            last_sequence: header.last_sequence(),
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            partition_leader_epoch: header.partition_leader_epoch.get(),
            is_transactional: header.is_transactional(),
            is_control: header.is_control(),
            delete_horizon_ms: header.has_delete_horizon().then_some(header.base_timestamp),
            is_log_append_time: header.timestamp_type() == TimestampType::LogAppendTime,
            max_timestamp_ms: header.max_timestamp,
            magic: header.magic,
            codec: header.codec().map_or("unknown", record::Codec::name),
            crc: header.crc,
            is_valid: listed.is_valid,
        }
    }
}

#[pymethods]
impl BatchHeaders {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        let list = py.detach(|| BatchList::open(Path::new(path))).or_raise()?;
        Ok(Self { list: Mutex::new(list) })
    }

    /// The next chunk; empty at the end.
    fn next_chunk(&self, py: Python<'_>) -> PyResult<Vec<BatchDescription>> {
        let listed = py
            .detach(|| -> scan::Result<Vec<Listed>> {
                let mut list = self.list.lock();
                let mut chunk = Vec::new();
                while chunk.len() < CHUNK {
                    match list.next_batch() {
                        Ok(Some(listed)) => chunk.push(listed),
                        Err(error) if chunk.is_empty() => return Err(error),
                        Ok(None) | Err(_) => break, // the next call meets the error again, after these batches
                    }
                }
                Ok(chunk)
            })
            .or_raise()?;
        Ok(listed.into_iter().map(BatchDescription::from).collect())
    }

    /// Bytes after the last whole batch, once the end is reached.
    #[getter]
    fn rest_bytes(&self) -> u64 {
        self.list.lock().rest()
    }
}
