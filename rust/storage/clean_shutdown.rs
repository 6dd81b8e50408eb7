//! `.kafka_cleanshutdown`: exists only between a clean stop and the next start, so that the start need not recover.
//!
//! ```text
//! file := "{\"version\":0,\"brokerEpoch\":" epoch [",\"kafkastoreClosedLogs\":" crc] "}"
//! ```
//! The CRC ties [`super::closed_logs`] to the marker; Kafka ignores fields that it does not know. A stop was clean if
//! the marker exists; the epoch (KIP-966) may be missing, as in files that older brokers wrote. Order: every log is
//! synced before the marker is written, and the marker is durably removed before the start reads or writes a log.

use std::path::Path;

use super::format::CLEAN_SHUTDOWN;
use super::state_file::{self, Durability};
use ::io::FileSystem;
use base::error::{Error, Result};

const CLOSED_LOGS_FIELD: &str = "kafkastoreClosedLogs";

/// How the last run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shutdown {
    /// The marker existed.
    pub is_clean: bool,
    /// The broker epoch in it.
    pub broker_epoch: Option<i64>,
    /// The CRC-32C of the file of closed logs that belongs to it.
    pub closed_logs: Option<u32>,
}

/// Reads the marker of a log directory and removes it; the removal is durable on return.
pub fn take(fs: &dyn FileSystem, log_dir: &Path) -> Result<Shutdown> {
    let path = log_dir.join(CLEAN_SHUTDOWN);
    let Some(bytes) = state_file::read(fs, &path)? else {
        return Ok(Shutdown::default());
    };
    state_file::remove(fs, &path)?;
    fs.sync_dir(log_dir)
        .map_err(|error| Error::io("fsync", log_dir, error))?;
    Ok(Shutdown {
        is_clean: true,
        broker_epoch: decode(&bytes),
        closed_logs: number_of(&bytes, CLOSED_LOGS_FIELD).and_then(|crc| u32::try_from(crc).ok()),
    })
}

/// Writes the marker; durable when it returns. Only after every log of the directory is closed and synced.
pub fn write(fs: &dyn FileSystem, log_dir: &Path, broker_epoch: i64, closed_logs: Option<u32>) -> Result<()> {
    state_file::replace(
        fs,
        &log_dir.join(CLEAN_SHUTDOWN),
        encode(broker_epoch, closed_logs).as_bytes(),
        Durability::Synced,
    )
}

/// The marker's text.
pub fn encode(broker_epoch: i64, closed_logs: Option<u32>) -> String {
    let more = closed_logs.map_or_else(String::new, |crc| format!(",\"{CLOSED_LOGS_FIELD}\":{crc}"));
    format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}{more}}}")
}

/// The broker epoch in a marker's text, if one can be read.
pub fn decode(bytes: &[u8]) -> Option<i64> {
    number_of(bytes, "brokerEpoch")
}

fn number_of(bytes: &[u8], field: &str) -> Option<i64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (_, after) = text.split_once(&format!("\"{field}\""))?;
    let after = after.trim_start().strip_prefix(':')?.trim_start();
    let end = after.find([',', '}'])?;
    after.get(..end)?.trim_end().parse().ok()
}

#[cfg(test)]
#[path = "clean_shutdown_tests.rs"]
mod tests;
