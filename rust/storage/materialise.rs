//! Making the directory and files of a log that was created in memory.
//!
//! [`Log::create`] makes a log in memory only: thousands of partitions are created at once, and most are not written
//! for a while. The first write, a background task or the close makes the log's directory, whichever comes first. Until
//! then the log is empty: a read finds no records, a flush has nothing to do, and a deletion touches no file.
//!
//! Steps, in this order: (a) the directory, (b) `partition.metadata`, (c) the segment's `.log`. A crash between them
//! leaves nothing, an empty directory or an empty log. A start opens an empty directory or log; the control plane
//! creates a missing log again. No batch is written before (c), so a directory with a batch has its topic id.
//!
//! Durability: nothing here syncs; the first flush syncs all files, `partition.metadata` included. A failure poisons
//! the log, like a failed write that cannot be cut off: the log directory goes offline and no write is acknowledged.
//! After a shortage (see [`base::error::shortage`]) the next attempt goes on from (b).

use std::io::ErrorKind;

use super::format::PARTITION_METADATA;
use super::log::Log;
use super::partition_metadata::PartitionMetadata;
use super::state_file::{self, Durability};
use super::uuid::Uuid;
use base::error::{Error, Result};

/// The facts that a log without files needs to make them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unmade {
    /// Written to `partition.metadata`, when the topic has one.
    pub(super) topic_id: Option<Uuid>,
    /// An attempt that was cut short has made the directory.
    pub(super) has_dir: bool,
}

impl Log {
    /// Whether the log has its directory and files. A log without them was never written.
    pub fn is_materialised(&self) -> bool {
        self.standing.unmade().is_none()
    }

    /// Makes the directory and its files, unless they exist.
    pub fn materialise(&mut self) -> Result<()> {
        let Some(unmade) = self.standing.unmade() else {
            return Ok(());
        };
        self.check_writable()?;
        let made = self.make_files(unmade);
        if let Err(error) = &made {
            self.standing.note_failure(error);
        }
        made
    }

    /// Writes `partition.metadata` anew, durably: the file was lost.
    pub fn write_topic_id(&mut self, topic_id: Uuid) -> Result<()> {
        if let Some(unmade) = self.standing.unmade() {
            self.standing.make(Some(Unmade {
                topic_id: Some(topic_id),
                ..unmade
            }));
            return Ok(());
        }
        self.check_writable()?;
        PartitionMetadata { topic_id }.write(&*self.fs(), &self.dir, Durability::Synced)
    }

    fn make_files(&mut self, unmade: Unmade) -> Result<()> {
        let fs = self.fs();
        if unmade.has_dir {
            state_file::remove(&*fs, &self.dir.join(PARTITION_METADATA))?; // of the attempt that was cut short
        } else {
            let made = fs.create_dir(&self.dir); // (a)
            made.map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => Error::Taken { path: self.dir.clone() },
                _ => Error::io("create", &self.dir, error),
            })?;
            self.standing.make(Some(Unmade {
                has_dir: true,
                ..unmade
            }));
        }
        if let Some(topic_id) = unmade.topic_id {
            PartitionMetadata { topic_id }.create(&*fs, &self.dir)?; // (b)
        }
        self.segments.active_mut().make_file(&*fs)?; // (c)
        self.standing.make(None);
        self.syncs.note_made();
        Ok(())
    }
}

#[cfg(test)]
#[path = "materialise_tests.rs"]
mod tests;
