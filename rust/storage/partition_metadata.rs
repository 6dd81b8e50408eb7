//! `partition.metadata`: the topic id that a partition directory was made for.
//!
//! ```text
//! file := "version: 0\n" "topic_id: " id            id in base64; no newline at the end
//! ```
//! Written once, before the first batch. It tells a topic that was deleted and made again from the old one.

use std::path::Path;

use super::format::PARTITION_METADATA;
use super::state_file::{self, Durability, bad_format};
use super::uuid::Uuid;
use ::io::{FileSystem, OpenMode};
use base::error::{Error, Result};

/// 16 bytes in base64 without padding.
const ID_CHARACTERS: usize = 22;

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// The topic's id.
    pub topic_id: Uuid,
}

impl PartitionMetadata {
    /// Reads the file of a partition directory; `None` when there is none, or one that was not written whole: its
    /// directory was made right before a crash, and no record in it was ever flushed.
    pub fn read(fs: &dyn FileSystem, dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(PARTITION_METADATA);
        let Some(text) = state_file::read_text(fs, &path)? else {
            return Ok(None);
        };
        if is_torn(text.trim_end_matches('\0')) {
            return Ok(None);
        }
        Self::decode(&text)
            .map(Some)
            .map_err(|reason| bad_format(&path, reason))
    }

    /// Makes the file of a new partition directory: three calls, nothing synced. A crash may leave the file empty or
    /// torn; [`read`](Self::read) returns `None` for such a file.
    pub fn create(&self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        let path = dir.join(PARTITION_METADATA);
        let file = fs
            .open(&path, OpenMode::CreateNew)
            .map_err(|error| Error::io("create", &path, error))?;
        file.write_all_at(self.encode().as_bytes(), 0)
            .map_err(|error| Error::io("write", &path, error))
    }

    /// Replaces the file of a partition directory.
    pub fn write(&self, fs: &dyn FileSystem, dir: &Path, durability: Durability) -> Result<()> {
        state_file::replace(fs, &dir.join(PARTITION_METADATA), self.encode().as_bytes(), durability)
    }

    /// The text.
    pub fn encode(&self) -> String {
        format!("version: 0\ntopic_id: {}", self.topic_id)
    }

    /// Reads the text; the error says what is wrong.
    pub fn decode(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        match lines
            .next()
            .and_then(|line| line.strip_prefix("version:"))
            .map(str::trim)
        {
            Some("0") => {}
            Some(other) => return Err(format!("version {other} is not known; 0 is")),
            None => return Err("line 1 is not \"version: 0\"".to_owned()),
        }
        let id = lines
            .next()
            .and_then(|line| line.strip_prefix("topic_id:"))
            .and_then(|id| Uuid::parse(id.trim()));
        match id {
            Some(Uuid::ZERO) | None => Err("line 2 is not \"topic_id: \" and a base64 id".to_owned()),
            Some(topic_id) => Ok(Self { topic_id }),
        }
    }
}

/// Whether the text is a proper beginning of what [`PartitionMetadata::encode`] writes: its write was cut short.
fn is_torn(text: &str) -> bool {
    const BEFORE_ID: &str = "version: 0\ntopic_id: ";
    match text.strip_prefix(BEFORE_ID) {
        Some(id) => id.len() < ID_CHARACTERS && id.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it)),
        None => BEFORE_ID.starts_with(text),
    }
}

#[cfg(test)]
#[path = "partition_metadata_tests.rs"]
mod tests;
