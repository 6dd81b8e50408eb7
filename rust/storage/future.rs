//! A *future* log: a copy of a log in another log directory, which follows the *current* one and takes its place.
//! KIP-113
//!
//! The future log follows as a replica does: it copies batches byte for byte, truncates by leader epochs, and starts
//! anew when the current log starts above its end. The current log must not be cleaned meanwhile: a key whose older
//! value is copied already would come back when its tombstone is cleaned away before it is copied. The swap has three
//! steps; a crash after any of them leaves one complete log:
//!
//! - (a) the current directory becomes `<topic>-<partition>.<unique>-delete`, with the unique id of the future one;
//! - (b) that name is made durable;
//! - (c) the future directory becomes `<topic>-<partition>`, durably.
//!
//! From (a) on the future log is the partition's log. When a start finds a `-delete` and a `-future` directory with the
//! same id and no directory with the plain name, the crash came between (a) and (c), and [`finish_swaps`] does (c). No
//! two directories ever have the plain name. The `-delete` directory is kept until (c) is done: a start that misses a
//! log directory removes no `-delete` directory.
//!
//! Durability: the caller flushes the future log before (a), and deletes nothing before (c) is durable.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::LogConfig;
use super::log::{Log, LogContext};
use super::log_dir::Listing;
use super::patience::patiently;
use super::read::ReadPlan;
use super::topic_partition::{DirKind, TopicPartition};
use super::uuid::Uuid;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::LeaderEpoch;

impl Log {
    /// A new, empty future log in `log_dir`, on disk at once: its directory records that the partition is to be moved.
    pub fn create_future(
        context: &LogContext,
        log_dir: &Path,
        topic_partition: TopicPartition,
        topic_id: Option<Uuid>,
        config: Arc<LogConfig>,
    ) -> Result<Self> {
        let dir = log_dir.join(topic_partition.dir_name(DirKind::Future, Uuid::random()));
        let mut log = Self::create(context, &dir, topic_partition, topic_id, config)?;
        if let Err(error) = log.materialise() {
            // The next start would take an incomplete directory for a move. It discards one that cannot be removed now.
            let _ = context.fs.remove_dir_all(&dir);
            return Err(error);
        }
        Ok(log)
    }

    /// The id in the name of a future log's directory.
    pub fn unique(&self) -> Option<Uuid> {
        let name = self.dir().file_name()?;
        TopicPartition::unique_of(name.to_str()?)
    }

    /// Truncates this log where it diverges from `current`, and starts it anew when `current` starts above its end.
    /// Returns the next read from `current`; `None` when this log holds all of it.
    pub fn plan_copy(&mut self, current: &Self) -> Result<Option<ReadPlan>> {
        self.cut_to(current)?;
        let (start, end) = (current.log_start_offset(), current.log_end_offset());
        if self.log_end_offset() < start {
            self.truncate_fully_and_start_at(start)?;
        }
        self.advance_log_start_offset(start, start)?;
        // The copy is as clean as the current log, which is not cleaned while it moves.
        let first_dirty = current.first_dirty_offset();
        self.offsets
            .cleaned_to(first_dirty.map(|offset| offset.min(self.offsets.end())));
        if self.log_end_offset() == end {
            return Ok(None);
        }
        current.plan_read(self.log_end_offset(), end).map(Some)
    }

    /// Truncates this log where it diverges from `current`. Each turn of the loop drops an epoch or is the last.
    fn cut_to(&mut self, current: &Self) -> Result<()> {
        let end = current.log_end_offset();
        while let Some(last_epoch) = self.epochs().latest_epoch() {
            let known = current.epochs().end_offset_for(last_epoch, end);
            // None: the current log was cut below that epoch.
            let (epoch, end_offset) =
                known.unwrap_or((current.epochs().latest_epoch().unwrap_or(LeaderEpoch::NONE), end));
            if epoch == last_epoch && end_offset >= self.log_end_offset() {
                return Ok(());
            }
            let before = self.log_end_offset();
            self.truncate_to_epoch((epoch, end_offset))?;
            if self.epochs().latest_epoch() == Some(last_epoch) && self.log_end_offset() == before {
                break;
            }
        }
        self.truncate_to(end).map(drop)
    }

    /// The sync that makes the name of the log's directory durable: step (b) for the log that was renamed away, the end
    /// of (c) for the future log.
    pub fn name_sync(&self) -> NameSync {
        NameSync {
            fs: self.fs(),
            dir: self.dir().to_path_buf(),
        }
    }

    /// Step (c) without its sync: renames the directory to the partition's plain name.
    pub fn become_current(&mut self) -> Result<()> {
        let to = self.dir().with_file_name(self.topic_partition().to_string());
        self.rename_dir(&to)
    }
}

/// What [`finish_swaps`] did.
#[derive(Debug, Default)]
pub struct FinishedSwaps {
    /// One sentence for each finished swap.
    pub lines: Vec<String>,
    /// Log directories in which a swap could not be finished, each with its first error: they go offline.
    pub failed: HashMap<PathBuf, Error>,
}

/// Finishes the swaps that a crash interrupted between (a) and (c); see the module. Must run before any log in the
/// directories is opened or removed.
pub fn finish_swaps(fs: &dyn FileSystem, log_dirs: &[&Path]) -> FinishedSwaps {
    let mut finished = FinishedSwaps::default();
    let mut listings: Vec<Listing> = Vec::new();
    for dir in log_dirs {
        match patiently(fs, || Listing::of(fs, dir)) {
            Ok(listing) => listings.push(listing),
            Err(error) if error.is_shortage() => drop(finished.failed.insert(dir.to_path_buf(), error)),
            Err(_) => {} // it goes offline later; without it nothing is known of the partitions in it
        }
    }
    let present: HashSet<&TopicPartition> = listings
        .iter()
        .flat_map(|listing| listing.partitions.iter().map(|(partition, _)| partition))
        .collect();
    let doomed: HashSet<&str> = listings
        .iter()
        .flat_map(|listing| &listing.deleted)
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    for (partition, path) in listings.iter().flat_map(|listing| &listing.future) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(unique) = TopicPartition::unique_of(name) else {
            continue;
        };
        let replaced = partition.dir_name(DirKind::Deleted, unique);
        if present.contains(partition) || !doomed.contains(replaced.as_str()) {
            continue;
        }
        let to = path.with_file_name(partition.to_string());
        let renamed = fs.rename(path, &to).map_err(|error| Error::io("rename", path, error));
        match renamed.and_then(|()| patiently(fs, || sync_parent(fs, &to))) {
            Ok(()) => finished.lines.push(format!(
                "{partition} is in {} now: the crash came while it took the place of the log in another directory",
                to.display()
            )),
            Err(error) => {
                let log_dir = path.parent().unwrap_or(path).to_path_buf();
                finished.failed.entry(log_dir).or_insert(error);
            }
        }
    }
    finished
}

/// A sync that needs no lock; see [`Log::name_sync`].
pub struct NameSync {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
}

impl NameSync {
    /// Syncs. May wait.
    pub fn run(self) -> Result<()> {
        patiently(&*self.fs, || sync_parent(&*self.fs, &self.dir))
    }
}

fn sync_parent(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let Some(parent) = dir.parent() else { return Ok(()) };
    fs.sync_dir(parent).map_err(|error| Error::io("fsync", parent, error))
}

#[cfg(test)]
#[path = "future_tests.rs"]
mod tests;
