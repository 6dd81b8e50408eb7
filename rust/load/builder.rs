//! The segments of one partition's load: batches of magic 2 of one idempotent producer, in files of at most
//! `segment.bytes`.
//!
//! A retried load writes only what the log lacks: the first records are counted and not written, so the same rows in
//! the same order give the same sequences.
//!
//! Durability: none. A file that ends early is refused by the broker, since the load has more records then.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{LoadError, Result};
use ::io::{File, FileSystem, OpenMode};
use base::error::Error;
use base::place::{LeaderEpoch, Offset};
use record::{BATCH_HEADER, BatchBuilder, Codec, Header};
use storage::format::{LOG_SUFFIX, file_path};
use storage::staged::MAX_BATCHES;

/// The most bytes that the fixed parts of a record take: its lengths, deltas and counts.
const RECORD_OVERHEAD: usize = 40;
/// The most bytes that the lengths of a header take.
const HEADER_OVERHEAD: usize = 10;

/// How batches and files are made.
#[derive(Debug, Clone, Copy)]
pub struct BuildSettings {
    /// The load's producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The codec.
    pub codec: Codec,
    /// Its level; its default otherwise.
    pub level: Option<i32>,
    /// Bytes of a batch, before compression, that has several records.
    pub batch_bytes: usize,
    /// `max.message.bytes` of the topic.
    pub max_message_bytes: usize,
    /// `segment.bytes` of the topic.
    pub segment_bytes: u64,
    /// The topic is compacted, so that each record needs a key.
    pub needs_keys: bool,
}

/// The codec of this name.
///
/// # Errors
/// `Invalid` for a name of none.
pub fn codec_of(name: &str) -> Result<Codec> {
    Codec::from_name(name)
        .ok_or_else(|| LoadError::Invalid(format!("compression is {name:?}; give none, gzip, snappy, lz4 or zstd")))
}

/// One record to write.
#[derive(Debug, Clone, Copy)]
pub struct RecordRow<'a> {
    /// Milliseconds.
    pub timestamp: i64,
    /// `None` for a null key.
    pub key: Option<&'a [u8]>,
    /// `None` for a tombstone.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: &'a [Header<'a>],
}

/// What was built for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltPartition {
    /// Records of the whole load, those that the log has already included.
    pub records: i32,
    /// Bytes of batches that were written.
    pub bytes: u64,
}

struct OpenSegment {
    file: Arc<dyn File>,
    path: PathBuf,
    size: u64,
    batches: usize,
}

/// See the module.
pub struct PartitionBuilder {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    settings: BuildSettings,
    /// Records that the log has already.
    known: i32,
    /// The sequence of the next record.
    next: i32,
    batch: Option<BatchBuilder>,
    /// The memory of the last batch.
    spare: Vec<u8>,
    open: Option<OpenSegment>,
    bytes: u64,
}

impl PartitionBuilder {
    /// Begins a load in a directory of its own, which must not exist; it is made with the first record. The log has the
    /// first `known` records already.
    pub fn new(fs: &Arc<dyn FileSystem>, dir: &Path, settings: BuildSettings, known: i32) -> Self {
        Self {
            fs: Arc::clone(fs),
            dir: dir.to_path_buf(),
            settings,
            known,
            next: 0,
            batch: None,
            spare: Vec::new(),
            open: None,
            bytes: 0,
        }
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// `LoadError::Invalid` for a record that the topic cannot take; `LoadError::Storage` when a write fails. No call
    /// may follow an error.
    pub fn append(&mut self, row: &RecordRow<'_>) -> Result<()> {
        if self.settings.needs_keys && row.key.is_none() {
            return Err(LoadError::Invalid(format!(
                "record {} has no key, and the topic is compacted (cleanup.policy): give every record a key",
                self.next
            )));
        }
        let Some(following) = self.next.checked_add(1) else {
            let message = "a load has at most 2147483647 records for a partition: split it into several loads";
            return Err(LoadError::Invalid(message.to_owned()));
        };
        if self.next < self.known {
            self.next = following;
            return Ok(());
        }
        let bytes = record_bytes(row.key, row.value, row.headers);
        let most = self.settings.max_message_bytes;
        if self.settings.codec == Codec::None && BATCH_HEADER + bytes - RECORD_OVERHEAD > most {
            return Err(LoadError::Invalid(format!(
                "record {} has {bytes} bytes, and max.message.bytes of the topic is {most}: raise it, or compress",
                self.next
            )));
        }
        let is_full = |batch: &BatchBuilder| batch.size_bytes() + bytes > self.settings.batch_bytes;
        if self.batch.as_ref().is_some_and(is_full) {
            self.write()?;
        }
        let batch = self.batch.get_or_insert_with(|| {
            let BuildSettings {
                producer_id,
                producer_epoch,
                codec,
                level,
                ..
            } = self.settings;
            BatchBuilder::new(codec)
                .level(level)
                .producer(producer_id, producer_epoch, self.next)
                .within(std::mem::take(&mut self.spare))
        });
        batch.append(row.timestamp, row.key, row.value, row.headers);
        self.next = following;
        Ok(())
    }

    /// What was built; complete after [`Self::write`].
    pub fn built(&self) -> BuiltPartition {
        BuiltPartition {
            records: self.next,
            bytes: self.bytes,
        }
    }

    /// Writes the batch that is being made; the last call of a load.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn write(&mut self) -> Result<()> {
        let Some(batch) = self.batch.take() else { return Ok(()) };
        let first_sequence = self.next - batch.record_count();
        let bytes = batch.build(Offset(i64::from(first_sequence)), LeaderEpoch::NONE);
        if bytes.len() > self.settings.max_message_bytes {
            return Err(LoadError::Invalid(format!(
                "the batch of record {first_sequence} has {} bytes, and max.message.bytes of the topic is {}: raise it",
                bytes.len(),
                self.settings.max_message_bytes
            )));
        }
        let size = bytes.len() as u64;
        let is_full =
            |open: &OpenSegment| open.size + size > self.settings.segment_bytes || open.batches == MAX_BATCHES;
        if self.open.as_ref().is_some_and(is_full) {
            self.open = None;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(begin_file(&*self.fs, &self.dir, first_sequence)?),
        };
        let written = open.file.write_all_at(&bytes, open.size);
        written.map_err(|error| Error::io("write", &open.path, error))?;
        (open.size, open.batches) = (open.size + size, open.batches + 1);
        self.bytes += size;
        self.spare = bytes;
        Ok(())
    }
}

fn begin_file(fs: &dyn FileSystem, dir: &Path, first_sequence: i32) -> Result<OpenSegment> {
    let made = fs.create_dir_all(dir);
    made.map_err(|error| Error::io("create", dir, error))?;
    let path = file_path(dir, Offset(i64::from(first_sequence)), LOG_SUFFIX);
    let opened = fs.open(&path, OpenMode::CreateNew);
    Ok(OpenSegment {
        file: opened.map_err(|error| Error::io("create", &path, error))?,
        path,
        size: 0,
        batches: 0,
    })
}

/// The most bytes that a record takes in a batch.
pub fn record_bytes(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) -> usize {
    let of = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let headers = headers.iter();
    let headers: usize = headers
        .map(|(key, value)| key.len() + of(*value) + HEADER_OVERHEAD)
        .sum();
    RECORD_OVERHEAD + of(key) + of(value) + headers
}

#[cfg(test)]
#[path = "builder_tests.rs"]
pub(super) mod tests;
