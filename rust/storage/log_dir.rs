//! One entry of `log.dirs`: a locked directory of partitions with its checkpoints.
//!
//! Opening makes the directory when missing, takes `.lock` (against a second kafkastore or Apache Kafka broker), and
//! checks or writes `meta.properties`. The lock is held as long as the value lives. A directory whose disk fails is
//! left out and the others go on; a wrong cluster, a wrong node or a running broker refuses the start. Checkpoint
//! writes are durable when they return; two writes of the same checkpoint may not overlap. Never opens a log.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::checkpoint::{encode_offsets, read_offset_checkpoint, write_offset_checkpoint};
use super::clean_shutdown::{self, Shutdown};
use super::closed_logs::{self, ClosedLog};
use super::format::{
    CLEAN_SHUTDOWN, CLEANER_OFFSET_CHECKPOINT, CLOSED_LOGS, DELETED_LOGS, LOCK_FILE, LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES, RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT,
};
use super::meta_properties::MetaProperties;
use super::state_file::{self, Durability, bad_format};
use super::topic_partition::{DirKind, TopicPartition};
use super::uuid::Uuid;
use ::io::{FileSystem, LockGuard, Volume};
use base::error::{Error, Result};
use base::place::Offset;

/// The log of Kafka's own controllers, which a combined node keeps beside the partitions. This broker does not serve
/// it.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// The files that are replaced whole while the directory is open.
const WRITTEN: [&str; 8] = [
    META_PROPERTIES,
    CLEAN_SHUTDOWN,
    CLOSED_LOGS,
    DELETED_LOGS,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
];

/// The broker's cluster and node ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The cluster; `None` means the directory's cluster id, or a new id when the directory has none.
    pub cluster_id: Option<String>,
    /// `node.id`.
    pub node_id: i32,
}

/// The offset checkpoints of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checkpoint {
    /// The offset up to which each log is flushed.
    RecoveryPoint,
    /// High watermarks.
    Replication,
    /// Log start offsets.
    LogStart,
    /// The offset up to which each compacted log is cleaned.
    Cleaner,
}

impl Checkpoint {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::RecoveryPoint, Self::Replication, Self::LogStart, Self::Cleaner];

    const fn file_name(self) -> &'static str {
        match self {
            Self::RecoveryPoint => RECOVERY_POINT_CHECKPOINT,
            Self::Replication => REPLICATION_OFFSET_CHECKPOINT,
            Self::LogStart => LOG_START_OFFSET_CHECKPOINT,
            Self::Cleaner => CLEANER_OFFSET_CHECKPOINT,
        }
    }
}

/// The directories in a log directory, by what their names say.
#[derive(Debug, Default)]
pub struct Listing {
    /// Partitions to serve.
    pub partitions: Vec<(TopicPartition, PathBuf)>,
    /// `-delete`: to be removed.
    pub deleted: Vec<PathBuf>,
    /// `-future`: partitions being moved here.
    pub future: Vec<(TopicPartition, PathBuf)>,
    /// `-stray`: set aside.
    pub stray: Vec<PathBuf>,
    /// Directories that are none of Kafka's (`lost+found`); left alone.
    pub unknown: Vec<PathBuf>,
}

impl Listing {
    /// The directories in `path`, which need not be locked; each list in the order of names.
    pub fn of(fs: &dyn FileSystem, path: &Path) -> Result<Self> {
        let mut entries = fs.read_dir(path).map_err(|error| Error::io("list", path, error))?;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut listing = Self::default();
        for entry in entries.into_iter().filter(|entry| entry.is_dir) {
            match TopicPartition::parse_dir_name(&entry.name) {
                None => listing.unknown.push(entry.path),
                Some((partition, _)) if &*partition.topic == METADATA_TOPIC => {}
                Some((partition, DirKind::Current)) => listing.partitions.push((partition, entry.path)),
                Some((partition, DirKind::Future)) => listing.future.push((partition, entry.path)),
                Some((_, DirKind::Deleted)) => listing.deleted.push(entry.path),
                Some((_, DirKind::Stray)) => listing.stray.push(entry.path),
            }
        }
        Ok(listing)
    }
}

/// An open log directory.
pub struct LogDir {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    cluster_id: String,
    directory_id: Uuid,
    _lock: Box<dyn LockGuard>,
    /// Opened at the start, so that its sync reports every failed write since then.
    volume: Option<Arc<dyn Volume>>,
    /// The checkpoints that this process has written; their files are durable.
    written: Mutex<HashSet<Checkpoint>>,
}

/// The result of opening several directories.
pub struct OpenedDirs {
    /// The directories that can be used, in the order given.
    pub online: Vec<LogDir>,
    /// The directories whose disk failed.
    pub offline: Vec<(PathBuf, Error)>,
}

impl LogDir {
    /// Opens one directory; `now_ms` dates a new `meta.properties`.
    pub fn open(fs: Arc<dyn FileSystem>, path: &Path, identity: &Identity, now_ms: i64) -> Result<Self> {
        fs.create_dir_all(path)
            .map_err(|error| Error::io("create", path, error))?;
        let lock_path = path.join(LOCK_FILE);
        let lock = fs.lock_exclusive(&lock_path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Error::InUse {
                path: path.to_path_buf(),
            },
            _ => Error::io("lock", &lock_path, error),
        })?;
        for name in WRITTEN {
            state_file::check_aside(&*fs, &path.join(name))?;
        }
        let found = MetaProperties::read(&*fs, path)?.unwrap_or_default();
        let meta_path = path.join(META_PROPERTIES);
        check_identity(&found, identity).map_err(|reason| bad_format(&meta_path, reason))?;
        let new_cluster_id = || {
            identity
                .cluster_id
                .clone()
                .unwrap_or_else(|| Uuid::random().to_string())
        };
        let cluster_id = found.cluster_id.clone().unwrap_or_else(new_cluster_id);
        let directory_id = found.directory_id.unwrap_or_else(Uuid::random);
        let complete = MetaProperties {
            cluster_id: Some(cluster_id.clone()),
            node_id: Some(identity.node_id),
            directory_id: Some(directory_id),
        };
        if complete != found {
            complete.write(&*fs, path, now_ms)?;
        }
        let volume = fs.open_volume(path).map_err(|error| Error::io("open", path, error))?;
        Ok(Self {
            fs,
            path: path.to_path_buf(),
            cluster_id,
            directory_id,
            _lock: lock,
            volume,
            written: Mutex::default(),
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file system it was opened in.
    pub fn file_system(&self) -> &Arc<dyn FileSystem> {
        &self.fs
    }

    /// The cluster that it belongs to.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The directory's id, which stays the same when the directory is mounted elsewhere.
    pub const fn directory_id(&self) -> Uuid {
        self.directory_id
    }

    /// Its directories, each list in the order of names.
    pub fn list(&self) -> Result<Listing> {
        Listing::of(&*self.fs, &self.path)
    }

    /// A checkpoint's offsets; empty when it was never written.
    pub fn read_checkpoint(&self, checkpoint: Checkpoint) -> Result<HashMap<TopicPartition, Offset>> {
        let offsets = read_offset_checkpoint(&*self.fs, &self.path.join(checkpoint.file_name()))?;
        Ok(offsets.into_iter().collect())
    }

    /// Replaces a checkpoint, unless the file has the same content already: an idle broker then writes nothing.
    pub fn write_checkpoint(&self, checkpoint: Checkpoint, offsets: &[(TopicPartition, Offset)]) -> Result<()> {
        let path = self.path.join(checkpoint.file_name());
        let text = encode_offsets(offsets);
        let is_durable = self.written.lock().remove(&checkpoint);
        if !is_durable || !state_file::read(&*self.fs, &path).is_ok_and(|old| old.as_deref() == Some(text.as_bytes())) {
            state_file::replace(&*self.fs, &path, text.as_bytes(), Durability::Synced)?;
        }
        self.written.lock().insert(checkpoint);
        Ok(())
    }

    /// The logs that were deleted after the last write of the checkpoints, which may still have their rows.
    pub fn read_deleted_logs(&self) -> Result<Vec<TopicPartition>> {
        let rows = read_offset_checkpoint(&*self.fs, &self.path.join(DELETED_LOGS))?;
        Ok(rows.into_iter().map(|(partition, _)| partition).collect())
    }

    /// Replaces the list of deleted logs; durable when it returns. The file has the format of a checkpoint, with 0
    /// instead of offsets.
    pub fn write_deleted_logs(&self, partitions: &[TopicPartition]) -> Result<()> {
        let rows: Vec<_> = partitions
            .iter()
            .map(|partition| (partition.clone(), Offset(0)))
            .collect();
        write_offset_checkpoint(&*self.fs, &self.path.join(DELETED_LOGS), &rows)
    }

    /// The volume of the directory; `None` when the system does not report failed writes.
    pub fn volume(&self) -> Option<&Arc<dyn Volume>> {
        self.volume.as_ref()
    }

    /// Reads the clean-shutdown marker and removes it, before any log is opened.
    pub fn take_clean_shutdown(&self) -> Result<Shutdown> {
        clean_shutdown::take(&*self.fs, &self.path)
    }

    /// Writes the file of closed logs and the clean-shutdown marker, after every log is closed and the checkpoints are
    /// written.
    pub fn write_clean_shutdown(&self, broker_epoch: i64, closed: &[(TopicPartition, ClosedLog)]) -> Result<()> {
        let crc = closed_logs::write(&*self.fs, &self.path, closed)?;
        clean_shutdown::write(&*self.fs, &self.path, broker_epoch, Some(crc))
    }

    /// The logs as the last run closed them; `None` unless a kafkastore broker stopped cleanly.
    pub fn read_closed_logs(&self, shutdown: &Shutdown) -> Result<Option<HashMap<TopicPartition, ClosedLog>>> {
        closed_logs::read(&*self.fs, &self.path, shutdown.closed_logs)
    }

    /// When a checkpoint was written, in ms; `None` when it never was.
    pub fn checkpoint_written_ms(&self, checkpoint: Checkpoint) -> Option<i64> {
        let metadata = self.fs.metadata(&self.path.join(checkpoint.file_name()));
        metadata.ok().map(|metadata| metadata.modified_ms)
    }

    /// Opens all of `log.dirs`. A disk that fails leaves its directory offline; any other error refuses the start, and
    /// so do two directories with the same id (one is a copy).
    pub fn open_all(
        fs: &Arc<dyn FileSystem>,
        paths: &[PathBuf],
        identity: &Identity,
        now_ms: i64,
    ) -> Result<OpenedDirs> {
        let mut opened = OpenedDirs {
            online: Vec::new(),
            offline: Vec::new(),
        };
        let mut identity = identity.clone();
        if identity.cluster_id.is_none() {
            // A new directory joins the cluster of an older one, wherever it stands in the list.
            let mut known = paths
                .iter()
                .filter_map(|path| MetaProperties::read(&**fs, path).ok().flatten());
            identity.cluster_id = known.find_map(|meta| meta.cluster_id);
        }
        for path in paths {
            match Self::open(Arc::clone(fs), path, &identity, now_ms) {
                Ok(dir) => {
                    if let Some(twin) = opened
                        .online
                        .iter()
                        .find(|other| other.directory_id == dir.directory_id)
                    {
                        return Err(duplicate_id(twin, &dir));
                    }
                    identity.cluster_id = Some(dir.cluster_id.clone());
                    opened.online.push(dir);
                }
                Err(error) if error.is_disk_failure() => opened.offline.push((path.clone(), error)),
                Err(error) => return Err(error),
            }
        }
        Ok(opened)
    }
}

fn duplicate_id(one: &LogDir, other: &LogDir) -> Error {
    let reason = format!(
        "directory.id={} is also that of {}; one is a copy of the other: name only one of them in log.dirs",
        other.directory_id,
        one.path.display()
    );
    bad_format(&other.path.join(META_PROPERTIES), reason)
}

fn check_identity(found: &MetaProperties, identity: &Identity) -> Result<(), String> {
    if let (Some(stored), Some(ours)) = (&found.cluster_id, &identity.cluster_id)
        && stored != ours
    {
        return Err(format!(
            "cluster.id={stored} is stored here, but this broker belongs to cluster {ours}; name another log \
             directory or the right cluster"
        ));
    }
    match found.node_id {
        Some(stored) if stored != identity.node_id => Err(format!(
            "node.id={stored} is stored here, but this broker has node.id={}; set the right node.id or name another \
             log directory",
            identity.node_id
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "log_dir_tests.rs"]
mod tests;
