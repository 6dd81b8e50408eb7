//! The small files beside the segments: they are read, and wrong files are reported.
//!
//! Each file is read whole; a file that vanished meanwhile counts as missing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use ::io::FileSystem;
use base::place::Offset;
use storage::checkpoint::decode_offsets;
use storage::format::{
    CLEANER_OFFSET_CHECKPOINT, LEADER_EPOCH_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, META_PROPERTIES,
    PARTITION_METADATA, RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT,
};
use storage::leader_epochs::{EpochEntry, decode_epochs};
use storage::meta_properties::MetaProperties;
use storage::partition_metadata::PartitionMetadata;
use storage::producer_state::ProducerEntry;
use storage::producer_state::snapshot::{self, SnapshotError};
use storage::state_file;
use storage::{TopicPartition, Uuid};

/// Lines of a checkpoint before its entries.
const FRAME_LINES: usize = 2;

/// The entry of a checkpoint for one partition.
#[derive(Debug, Clone)]
pub struct Checkpointed {
    /// The file.
    pub path: PathBuf,
    /// Where the entry's line begins.
    pub position: u64,
    /// The offset.
    pub offset: Offset,
    /// What the offset is, in words.
    pub what: &'static str,
    /// Records below it were durable or acknowledged.
    pub is_kept: bool,
}

/// The checkpoints of a log directory.
#[derive(Debug, Default)]
pub struct Checkpoints {
    /// By partition.
    pub of: HashMap<TopicPartition, Vec<Checkpointed>>,
    /// The cleaner's checkpoint cannot be parsed.
    pub is_cleaner_unreadable: bool,
}

/// A leader epoch checkpoint.
pub struct EpochFile {
    /// The file.
    pub path: PathBuf,
    /// The entries in the order of the file.
    pub entries: Vec<EpochEntry>,
    text: String,
}

impl EpochFile {
    /// Where the line of an entry begins.
    pub fn position(&self, entry: usize) -> u64 {
        line_position(&self.text, entry + FRAME_LINES)
    }
}

/// Reads state files; collects their faults, and their bytes for the totals.
pub struct StateFiles<'a> {
    /// The file system.
    pub fs: &'a dyn FileSystem,
    /// The faults found.
    pub found: Vec<Finding>,
    /// Bytes read.
    pub bytes: u64,
}

impl<'a> StateFiles<'a> {
    /// A reader that has not read a file yet.
    pub fn new(fs: &'a dyn FileSystem) -> Self {
        Self {
            fs,
            found: Vec::new(),
            bytes: 0,
        }
    }

    fn bad(&mut self, path: &Path, reason: &str) {
        self.found.push(Finding::whole(path, reason));
    }

    /// The bytes of a file; `None` when the file is missing, or cannot be read, which is a fault.
    pub fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        match state_file::read(self.fs, path) {
            Ok(bytes) => {
                self.bytes += bytes.as_ref().map_or(0, Vec::len) as u64;
                bytes
            }
            Err(error) => {
                self.bad(path, &format!("it cannot be read: {}", cause(&error)));
                None
            }
        }
    }

    fn text(&mut self, path: &Path) -> Option<String> {
        match String::from_utf8(self.read(path)?) {
            Ok(text) => Some(text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to() as u64;
                self.found.push(Finding::fault(path, at, "it is not UTF-8 text"));
                None
            }
        }
    }

    /// Checks `meta.properties`; returns its directory id, if there is one.
    pub fn meta_properties(&mut self, log_dir: &Path) -> Option<Uuid> {
        let path = log_dir.join(META_PROPERTIES);
        match MetaProperties::decode(&self.text(&path)?) {
            Ok(meta) => meta.directory_id,
            Err(reason) => {
                self.bad(&path, &reason);
                None
            }
        }
    }

    /// All offset checkpoints of a log directory.
    pub fn checkpoints(&mut self, log_dir: &Path) -> Checkpoints {
        let mut all = Checkpoints::default();
        for (name, what, is_kept) in [
            (RECOVERY_POINT_CHECKPOINT, "recovery point", true),
            (REPLICATION_OFFSET_CHECKPOINT, "high watermark", true),
            (LOG_START_OFFSET_CHECKPOINT, "log start offset", false),
            (CLEANER_OFFSET_CHECKPOINT, "cleaned offset", false),
        ] {
            let path = log_dir.join(name);
            let Some(text) = self.text(&path) else { continue };
            match decode_offsets(&text) {
                Ok(entries) => {
                    for (at, (partition, offset)) in entries.into_iter().enumerate() {
                        let position = line_position(&text, at + FRAME_LINES);
                        let path = path.clone();
                        let said = Checkpointed {
                            path,
                            position,
                            offset,
                            what,
                            is_kept,
                        };
                        all.of.entry(partition).or_default().push(said);
                    }
                }
                Err(reason) => {
                    all.is_cleaner_unreadable |= name == CLEANER_OFFSET_CHECKPOINT;
                    self.bad(&path, &reason);
                }
            }
        }
        all
    }

    /// `leader-epoch-checkpoint` of a partition directory.
    pub fn epochs(&mut self, dir: &Path) -> Option<EpochFile> {
        let path = dir.join(LEADER_EPOCH_CHECKPOINT);
        let text = self.text(&path)?;
        match decode_epochs(&text) {
            Ok(entries) => Some(EpochFile { path, entries, text }),
            Err(reason) => {
                self.bad(&path, &reason);
                None
            }
        }
    }

    /// `partition.metadata` of a partition directory.
    pub fn partition_metadata(&mut self, dir: &Path) {
        let path = dir.join(PARTITION_METADATA);
        let Some(text) = self.text(&path) else { return };
        if let Err(reason) = PartitionMetadata::decode(&text) {
            match PartitionMetadata::read(self.fs, dir) {
                Ok(None) => self.found.push(Finding::warning(&path, 0, "it was not written whole")),
                _ => self.bad(&path, &reason),
            }
        }
    }

    /// A producer snapshot of the state before `offset`, of a log that ends at `end`, if that is known.
    pub fn snapshot(&mut self, path: &Path, offset: Offset, end: Option<Offset>) {
        let Some(bytes) = self.read(path) else { return };
        if let Some(end) = end.filter(|end| offset > *end) {
            let message = format!("it is of offset {offset}, beyond the log's end {end}");
            self.found.push(Finding::whole(path, message));
            return;
        }
        match snapshot::decode(&bytes) {
            Ok(producers) => {
                let late = |entry: &ProducerEntry| {
                    entry
                        .last_data_offset()
                        .max(entry.current_txn_first_offset.unwrap_or(Offset::NONE))
                        >= offset
                };
                if let Some((id, _)) = producers.iter().find(|(_, entry)| late(entry)) {
                    let message = format!("producer {id} has an offset that is not below the snapshot's {offset}");
                    self.found.push(Finding::whole(path, message));
                }
            }
            Err(error) => {
                let position = match error {
                    SnapshotError::Version(_) => 0,
                    SnapshotError::Crc { .. } => 2,
                    SnapshotError::Length => bytes.len() as u64,
                };
                self.found.push(Finding::fault(path, position, error.to_string()));
            }
        }
    }
}

/// The system's reason alone, without the path.
pub fn cause(error: &base::error::Error) -> String {
    match error {
        base::error::Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Where a line begins, counted from 0.
fn line_position(text: &str, line: usize) -> u64 {
    text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() as u64
}
