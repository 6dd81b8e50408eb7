//! Making the directory and files of a log that was created in memory.
//!
//! `Log::create` makes a log in memory only: thousands of partitions are created at once, and most are not written
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

use super::contents::Contents;
use super::format::PARTITION_METADATA;
use super::partition_metadata::PartitionMetadata;
use super::standing::{Standing, Unmade};
use super::state_file;
use base::error::{Error, Result};

/// Makes the directory and the files of a log that lacks them, or the files that an earlier attempt has not made.
pub(super) fn make_files(contents: &mut Contents, standing: &mut Standing, unmade: Unmade) -> Result<()> {
    let (fs, dir) = (&**contents.dir().fs(), contents.dir().path());
    if unmade.has_dir {
        state_file::remove(fs, &dir.join(PARTITION_METADATA))?; // of the attempt that was cut short
    } else {
        fs.create_dir(dir).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::Taken {
                path: dir.to_path_buf(),
            },
            _ => Error::io("create", dir, error),
        })?; // (a)
        standing.make(Some(Unmade {
            has_dir: true,
            ..unmade
        }));
    }
    if let Some(topic_id) = unmade.topic_id {
        PartitionMetadata { topic_id }.create(fs, dir)?; // (b)
    }
    contents.make_file()?; // (c)
    standing.make(None);
    Ok(())
}

#[cfg(test)]
#[path = "materialise_tests.rs"]
mod tests;
