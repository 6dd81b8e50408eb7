//! What a check has to read: partition directories, their segments, and the contents of their state files.
//!
//! A path may be a log directory, a partition's directory, or one `.log` file. State files are read here, before any
//! segment: a live broker only ever moves the log's end beyond the offsets in them. Sizes are those of the listing and
//! decide only the order of work.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::finding::Finding;
use super::state::{Checkpointed, Checkpoints, EpochFile, StateFiles};
use super::transactions::{self, Claim};
use crate::{Result, ScanError};
use ::io::{DirEntry, FileSystem};
use base::error::Error;
use base::place::Offset;
use storage::TopicPartition;
use storage::cut_files::is_cut_file;
use storage::format::{
    CLEAN_SHUTDOWN, CLEANER_OFFSET_CHECKPOINT, CLOSED_LOGS, INDEX_SUFFIX, LEADER_EPOCH_CHECKPOINT, LOCK_FILE,
    LOG_START_OFFSET_CHECKPOINT, LOG_SUFFIX, META_PROPERTIES, PARTITION_METADATA, RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT, SNAPSHOT_SUFFIX, TEMP_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX, file_path,
    parse_file_name,
};
use storage::swap_rules::Passing;
use storage::topic_partition::DirKind;

/// Files of a log directory that belong to kafkastore or Kafka.
const KNOWN_IN_LOG_DIR: [&str; 8] = [
    LOCK_FILE,
    META_PROPERTIES,
    CLEAN_SHUTDOWN,
    CLOSED_LOGS,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
];
/// Prefix of kafkastore's own files: the metadata store with the files of its engine, its mark, the configurations kept
/// beside the logs.
const OUR_PREFIX: &str = "kafkastore-";
/// Kafka's controller keeps these beside its log, and `.checkpoint` files.
const QUORUM_STATE: &str = "quorum-state";
const CONTROLLER_SUFFIX: &str = ".checkpoint";
const SEGMENT_SUFFIXES: [&str; 5] = [
    LOG_SUFFIX,
    INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
];

/// One segment.
pub struct SegmentPlan {
    /// The base offset in the file's name.
    pub base_offset: Offset,
    /// The next segment's; `None` for the active one.
    pub next_base: Option<Offset>,
    /// The `.log` file.
    pub path: PathBuf,
    /// Its size when it was listed.
    pub size: u64,
    /// The transaction index's bytes, when there is one.
    pub txn_index: Option<Vec<u8>>,
}

/// One partition directory.
pub struct PartitionPlan {
    /// The directory.
    pub dir: PathBuf,
    /// The segments to check, by base offset.
    pub segments: Vec<SegmentPlan>,
    /// Producer snapshots.
    pub snapshots: Vec<(Offset, PathBuf)>,
    /// The leader epoch checkpoint.
    pub epochs: Option<EpochFile>,
    /// The first offsets that transaction indexes claim, by offset.
    pub claims: Vec<Claim>,
    /// The entries of the log directory's checkpoints for this partition.
    pub checkpoints: Vec<Checkpointed>,
    /// The broker stopped cleanly.
    pub is_clean: bool,
    /// The cleaner has compacted the log, or may have.
    pub is_compacted: bool,
    /// Not all segments are to be checked, so the log's ends are not known.
    pub is_partial: bool,
}

/// The whole plan of a check.
pub struct Plan {
    /// By path.
    pub partitions: Vec<PartitionPlan>,
    /// Findings made while planning.
    pub found: Vec<Finding>,
    /// Bytes of state files.
    pub bytes: u64,
}

struct Planner<'a> {
    fs: &'a dyn FileSystem,
    topic: Option<&'a str>,
    state: StateFiles<'a>,
    partitions: Vec<PartitionPlan>,
    seen_dirs: HashSet<PathBuf>,
    seen_partitions: HashMap<TopicPartition, PathBuf>,
    directory_ids: HashMap<[u8; 16], PathBuf>,
}

/// Lists what the paths hold. An error is the caller's mistake, or a directory that cannot be listed.
pub fn plan(fs: &dyn FileSystem, paths: &[PathBuf], topic: Option<&str>) -> Result<Plan> {
    let mut planner = Planner {
        fs,
        topic,
        state: StateFiles::new(fs),
        partitions: Vec::new(),
        seen_dirs: HashSet::new(),
        seen_partitions: HashMap::new(),
        directory_ids: HashMap::new(),
    };
    for path in paths {
        planner.path(path)?;
    }
    if let Some(topic) = topic.filter(|_| planner.partitions.is_empty()) {
        return Err(ScanError::NotFound(format!(
            "topic {topic}: no partition of it is in the given paths"
        )));
    }
    Ok(Plan {
        partitions: planner.partitions,
        found: planner.state.found,
        bytes: planner.state.bytes,
    })
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

impl Planner<'_> {
    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let mut entries = self.fs.read_dir(dir).map_err(|error| Error::io("list", dir, error))?;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn path(&mut self, path: &Path) -> Result<()> {
        let metadata = match self.fs.metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let message = format!("{}: there is no such file or directory", path.display());
                return Err(ScanError::NotFound(message));
            }
            Err(error) => return Err(Error::io("look at", path, error).into()),
        };
        let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if !metadata.is_dir {
            return self.one_segment(path);
        }
        let entries = self.list(path)?;
        let is_partition = entries.iter().any(|entry| {
            !entry.is_dir
                && (entry.name == PARTITION_METADATA || entry.name == LEADER_EPOCH_CHECKPOINT || is_log(&entry.name))
        });
        if is_partition {
            let state = path.parent().map(|parent| self.checkpoints_beside(parent));
            let name = TopicPartition::parse_dir_name(name_of(path)).map(|(partition, _)| partition);
            return self.partition(path, name.as_ref(), &state.unwrap_or_default());
        }
        let is_log_dir = entries.iter().any(|entry| {
            KNOWN_IN_LOG_DIR.contains(&entry.name.as_str())
                || entry.is_dir && TopicPartition::parse_dir_name(&entry.name).is_some()
        });
        if !is_log_dir {
            return Err(ScanError::Invalid(format!(
                "{}: neither a log directory nor a partition's; name an entry of log.dirs, a directory in it, or a \
                 .log file",
                path.display()
            )));
        }
        self.log_dir(path, &entries)
    }

    fn one_segment(&mut self, path: &Path) -> Result<()> {
        let Some((dir, (base_offset, _))) = path
            .parent()
            .zip(parse_file_name(name_of(path)).filter(|(_, suffix)| *suffix == LOG_SUFFIX))
        else {
            return Err(ScanError::Invalid(format!(
                "{}: not a segment; name a file of 20 digits that ends in .log, or a directory",
                path.display()
            )));
        };
        let name = TopicPartition::parse_dir_name(name_of(dir)).map(|(partition, _)| partition);
        let state = dir.parent().map(|parent| self.checkpoints_beside(parent));
        self.partition(dir, name.as_ref(), &state.unwrap_or_default())?;
        if let Some(last) = self.partitions.last_mut().filter(|last| last.dir == dir) {
            last.segments.retain(|segment| segment.base_offset == base_offset);
            last.claims.clear();
            last.is_partial = true;
        }
        Ok(())
    }

    /// The state of a log directory of which only a part is checked: findings in its state files are not reported.
    fn checkpoints_beside(&mut self, log_dir: &Path) -> LogDirState {
        let mut quiet = StateFiles::new(self.fs);
        LogDirState {
            checkpoints: quiet.checkpoints(log_dir),
            is_clean: self.fs.exists(&log_dir.join(CLEAN_SHUTDOWN)),
        }
    }

    fn log_dir(&mut self, path: &Path, entries: &[DirEntry]) -> Result<()> {
        if let Some(id) = self.state.meta_properties(path)
            && let Some(other) = self
                .directory_ids
                .insert(id.0, path.to_path_buf())
                .filter(|other| other != path)
        {
            let message = format!(
                "directory.id={id} is also that of {}: one is a copy of the other",
                other.display()
            );
            self.state
                .found
                .push(Finding::whole(&path.join(META_PROPERTIES), message));
        }
        let state = LogDirState {
            is_clean: entries.iter().any(|entry| entry.name == CLEAN_SHUTDOWN),
            checkpoints: self.state.checkpoints(path),
        };
        for entry in entries {
            if !entry.is_dir {
                let is_known = KNOWN_IN_LOG_DIR.contains(&entry.name.as_str())
                    || entry.name.starts_with(OUR_PREFIX)
                    || entry.name.ends_with(CONTROLLER_SUFFIX)
                    || entry.name.ends_with(TEMP_SUFFIX);
                if !is_known {
                    self.note(&entry.path, "it is none of Kafka's files; it was not looked at");
                }
                continue;
            }
            match TopicPartition::parse_dir_name(&entry.name) {
                None => self.note(&entry.path, "its name is no partition's; it was not looked at"),
                Some((_, DirKind::Deleted)) => self.note(&entry.path, "it is to be deleted; it was not looked at"),
                Some((_, DirKind::Stray)) => self.note(&entry.path, "it was set aside as stray; it was not looked at"),
                Some((partition, DirKind::Future)) if self.is_wanted(&partition) => {
                    self.partition(&entry.path, None, &LogDirState::default())?;
                }
                Some((partition, DirKind::Current)) if self.is_wanted(&partition) => {
                    self.partition(&entry.path, Some(&partition), &state)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn is_wanted(&self, partition: &TopicPartition) -> bool {
        self.topic.is_none_or(|topic| *partition.topic == *topic)
    }

    fn note(&mut self, path: &Path, message: &str) {
        self.state.found.push(Finding::note(path, message));
    }

    fn partition(&mut self, dir: &Path, name: Option<&TopicPartition>, state: &LogDirState) -> Result<()> {
        if !self.seen_dirs.insert(dir.to_path_buf()) {
            return Ok(());
        }
        let entries = match self.list(dir) {
            Err(ScanError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        if let Some(name) = name
            && let Some(other) = self.seen_partitions.insert(name.clone(), dir.to_path_buf())
        {
            let message = format!(
                "partition {name} is in {} too; remove the older of the two",
                other.display()
            );
            self.state.found.push(Finding::whole(dir, message));
        }
        self.state.partition_metadata(dir);
        let epochs = self.state.epochs(dir);
        let files = self.files(dir, &entries);
        let (segments, claims) = self.segments(dir, &files);
        let said = name.and_then(|name| state.checkpoints.of.get(name));
        let checkpoints = said.cloned().unwrap_or_default();
        let first_base = segments.first().map_or(Offset(0), |segment| segment.base_offset);
        let is_cleaned = |it: &Checkpointed| it.path.ends_with(CLEANER_OFFSET_CHECKPOINT) && it.offset > first_base;
        self.partitions.push(PartitionPlan {
            dir: dir.to_path_buf(),
            segments,
            snapshots: files.snapshots,
            epochs,
            claims,
            is_compacted: state.checkpoints.is_cleaner_unreadable || checkpoints.iter().any(is_cleaned),
            checkpoints,
            is_clean: state.is_clean,
            is_partial: false,
        });
        Ok(())
    }

    /// Sorts the files of a partition directory by their names; wrong names are reported.
    fn files(&mut self, dir: &Path, entries: &[DirEntry]) -> Files {
        let mut files = Files::default();
        for entry in entries {
            let name = entry.name.as_str();
            if entry.is_dir {
                self.note(&entry.path, "a directory within a partition's; it was not looked at");
                continue;
            }
            if Passing::of(name).is_some() {
                self.note(
                    &entry.path,
                    "a leftover that the next start brings to an end; it was not looked at",
                );
                continue;
            }
            match parse_file_name(name) {
                Some((offset, LOG_SUFFIX)) => {
                    files.logs.insert(offset, entry.path.clone());
                }
                Some((offset, SNAPSHOT_SUFFIX)) => files.snapshots.push((offset, entry.path.clone())),
                Some((offset, suffix)) if SEGMENT_SUFFIXES.contains(&suffix) => {
                    files.indexes.push((offset, entry.path.clone()));
                }
                _ => self.other_name(entry),
            }
        }
        for (offset, path) in &files.indexes {
            // A listing is not atomic: it may show the index of a segment that was created meanwhile.
            if !files.logs.contains_key(offset)
                && !self.fs.exists(&file_path(dir, *offset, LOG_SUFFIX))
                && self.fs.exists(path)
            {
                let message = "an index without its log";
                self.state.found.push(Finding::whole(path, message));
            }
        }
        files
    }

    fn other_name(&mut self, entry: &DirEntry) {
        let name = entry.name.as_str();
        let is_known = [PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT, QUORUM_STATE].contains(&name)
            || name.ends_with(CONTROLLER_SUFFIX);
        if is_known {
            return;
        }
        if is_cut_file(name) {
            self.note(
                &entry.path,
                "recovery cut it out of the log and kept it; it was not looked at",
            );
        } else if SEGMENT_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
            let message = "the name is not an offset of 20 digits, so no broker reads the file";
            self.state.found.push(Finding::whole(&entry.path, message));
        } else {
            self.note(&entry.path, "it is none of Kafka's files; it was not looked at");
        }
    }

    fn segments(&mut self, dir: &Path, files: &Files) -> (Vec<SegmentPlan>, Vec<Claim>) {
        let mut claims = Vec::new();
        let mut segments: Vec<SegmentPlan> = Vec::with_capacity(files.logs.len());
        for (&base_offset, path) in files.logs.iter().rev() {
            let txn_path = file_path(dir, base_offset, TXN_INDEX_SUFFIX);
            let has_txn_index = files.indexes.iter().any(|(_, it)| *it == txn_path);
            let txn_index = has_txn_index.then(|| self.state.read(&txn_path)).flatten();
            if let Some(bytes) = &txn_index {
                claims.extend(transactions::claims(&Arc::from(txn_path), bytes));
                self.state.bytes -= bytes.len() as u64; // counted with its segment
            }
            segments.push(SegmentPlan {
                base_offset,
                next_base: segments.last().map(|next| next.base_offset),
                size: self.fs.metadata_len(path).unwrap_or(0),
                path: path.clone(),
                txn_index,
            });
        }
        segments.reverse();
        claims.sort_by_key(|claim| claim.first_offset);
        (segments, claims)
    }
}

/// The contents of the state files of a log directory.
#[derive(Default)]
struct LogDirState {
    checkpoints: Checkpoints,
    is_clean: bool,
}

#[derive(Default)]
struct Files {
    logs: BTreeMap<Offset, PathBuf>,
    indexes: Vec<(Offset, PathBuf)>,
    snapshots: Vec<(Offset, PathBuf)>,
}

fn is_log(name: &str) -> bool {
    parse_file_name(name).is_some_and(|(_, suffix)| suffix == LOG_SUFFIX)
}
