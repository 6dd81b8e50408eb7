//! Bringing a created log to disk.
//!
//! [`Log::create`] makes a log in memory only: thousands of partitions are created at once, and most are not written
//! for a while. Its directory comes into being with the first write, from the background, or when the log closes,
//! whichever is first. Until then the log is empty: reads find nothing, flushes have nothing to do, deleting it forgets
//! it.
//!
//! Steps, in this order: (a) the directory, (b) `partition.metadata`, (c) the segment's `.log`. A crash between them
//! leaves nothing, an empty directory or an empty log; a start opens the latter two and the control plane creates the
//! first anew. No batch is written before (c), so a directory with a batch knows its topic id. spec: R4.1, R4.2
//!
//! Durability: nothing is synced; the first flush does that, `partition.metadata` included. A failure poisons the log,
//! as a failed write that cannot be cut off does: the log directory goes offline and nothing is acknowledged. After a
//! shortage (see [`crate::error::shortage`]) the next attempt goes on from (b).

use super::format::PARTITION_METADATA;
use super::log::Log;
use super::partition_metadata::PartitionMetadata;
use super::state_file::{self, Durability};
use super::uuid::Uuid;
use crate::error::{Error, Result};

/// What a log needs to know to come to disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unmade {
    /// Written to `partition.metadata`, when the topic has one.
    pub(super) topic_id: Option<Uuid>,
    /// An attempt that was cut short has made the directory.
    pub(super) has_dir: bool,
}

impl Log {
    /// Whether it has a directory. Without one it was never written.
    pub fn is_materialised(&self) -> bool {
        self.standing.unmade().is_none()
    }

    /// Makes the directory and its files, unless they are there.
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
            made.map_err(|error| Error::io("create", &self.dir, error))?;
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
mod tests;
