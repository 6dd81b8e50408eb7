//! The state in which a clean stop left each log of a log directory: the next start sees whether files have changed
//! since.
//!
//! ```text
//! file  := version "\n" count "\n" line*                                                   kafkastore-closed-logs
//! line  := topic " " partition " " first_base " " log_start " " log_end " " bytes " " digest "\n"
//! ```
//! The digest is over base offset, size and time of the last change of every `.log` file. The file counts only with a
//! clean-shutdown marker that carries the file's CRC-32C: a run of Apache Kafka in between writes its own marker,
//! without a CRC. The file is durable when [`write`] returns, before the marker is written. Kafka ignores the file.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use super::checkpoint::{decode_lines, encode_lines};
use super::contents::Contents;
use super::format::CLOSED_LOGS;
use super::segments::Segments;
use super::state_file::{self, Durability};
use super::topic_partition::TopicPartition;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::Offset;
use record::crc32c;

/// One log as it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedLog {
    /// Base offset of the first segment.
    pub first_base: Offset,
    /// Log start offset.
    pub log_start: Offset,
    /// Log end offset.
    pub log_end: Offset,
    /// Bytes in all `.log` files.
    pub bytes: u64,
    /// The digest of the `.log` files; see the module.
    pub digest: u64,
}

impl ClosedLog {
    /// The log as its files are now.
    pub fn of(log: &Contents) -> Result<Self> {
        let (bytes, digest) = digest_of(log.segments(), log.fs())?;
        Ok(Self {
            first_base: log.segments().first().base_offset(),
            log_start: log.offsets().start(),
            log_end: log.offsets().end(),
            bytes,
            digest,
        })
    }

    /// Whether the files of a log that has just been opened are those that were closed.
    pub fn is_of(&self, segments: &Segments, fs: &dyn FileSystem) -> Result<bool> {
        let (bytes, digest) = digest_of(segments, fs)?;
        Ok(bytes == self.bytes && digest == self.digest)
    }
}

fn digest_of(segments: &Segments, fs: &dyn FileSystem) -> Result<(u64, u64)> {
    let (mut bytes, mut digest) = (0, Fnv::default());
    for segment in segments.all() {
        let path = &segment.log().path;
        let metadata = fs.metadata(path).map_err(|error| Error::io("stat", path, error))?;
        bytes += metadata.len;
        digest.add(segment.base_offset().get() as u64);
        digest.add(metadata.len);
        digest.add(metadata.modified_ms as u64);
    }
    Ok((bytes, digest.0))
}

/// FNV-1a: the digest need not resist an attacker.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, number: u64) {
        for byte in number.to_be_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Replaces the file of a log directory; returns the CRC for the marker.
pub fn write(fs: &dyn FileSystem, log_dir: &Path, logs: &[(TopicPartition, ClosedLog)]) -> Result<u32> {
    let text = encode(logs);
    state_file::replace(fs, &log_dir.join(CLOSED_LOGS), text.as_bytes(), Durability::Synced)?;
    Ok(crc32c(text.as_bytes()))
}

/// The logs as they were closed; `None` unless the file has the marker's CRC.
pub fn read(
    fs: &dyn FileSystem,
    log_dir: &Path,
    crc: Option<u32>,
) -> Result<Option<HashMap<TopicPartition, ClosedLog>>> {
    let Some(crc) = crc else { return Ok(None) };
    let Some(bytes) = state_file::read(fs, &log_dir.join(CLOSED_LOGS))? else {
        return Ok(None);
    };
    if crc32c(&bytes) != crc {
        return Ok(None);
    }
    Ok(std::str::from_utf8(&bytes).ok().and_then(|text| decode(text).ok()))
}

fn encode(logs: &[(TopicPartition, ClosedLog)]) -> String {
    encode_lines(logs.len(), |text| {
        for (partition, log) in logs {
            let ClosedLog {
                first_base,
                log_start,
                log_end,
                bytes,
                digest,
            } = log;
            let (topic, number) = (&partition.topic, partition.partition);
            let _ = writeln!(
                text,
                "{topic} {number} {first_base} {log_start} {log_end} {bytes} {digest}"
            );
        }
    })
}

fn decode(text: &str) -> Result<HashMap<TopicPartition, ClosedLog>, String> {
    let logs = decode_lines(text, |line| {
        let mut words = line.split_ascii_whitespace();
        let partition = TopicPartition::new(words.next()?, words.next()?.parse().ok()?);
        let log = ClosedLog {
            first_base: Offset(words.next()?.parse().ok()?),
            log_start: Offset(words.next()?.parse().ok()?),
            log_end: Offset(words.next()?.parse().ok()?),
            bytes: words.next()?.parse().ok()?,
            digest: words.next()?.parse().ok()?,
        };
        Some((partition, log))
    })?;
    Ok(logs.into_iter().collect())
}

#[cfg(test)]
#[path = "closed_logs_tests.rs"]
mod tests;
