//! One partition's log: an ordered list of segments, of which the last is written, and the state derived from them.
//!
//! One writer: the caller holds a lock around every `&mut self` call and around the cheap `&self` calls. Slow work is
//! handed out as a job that needs no lock: [`super::read::ReadPlan`], [`super::flush::FlushJob`],
//! [`super::lookup::TimestampPlan`], [`super::retention::Deletion`].
//!
//! Invariants: those of [`Segments`]; log start offset ≤ recovery point's segment's end ≤ log
//! end offset; offsets below the log end offset are in the file completely; a log without a directory is empty. Once
//! *poisoned* (an fsync failed, or a failed write could not be cut off) nothing is written again.
//!
//! Each operation has a file of its own: `materialise`, `append`, `read`, `lookup`, `roll`, `flush`, `truncate`,
//! `retention`, `recovery` (opening), `close`. A log never knows leases or other partitions; it knows high watermarks
//! only as arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::LogConfig;
use super::leader_epochs::EpochCache;
use super::materialise::Unmade;
use super::offsets::Offsets;
use super::producer_state::{ProducerState, ProducerStateConfig};
use super::recovery::{Note, RecoveryReport};
use super::segment::Segment;
use super::segments::Segments;
use super::standing::Standing;
use super::syncs::Syncs;
use super::topic_partition::{DirKind, TopicPartition};
use super::uuid::Uuid;
use super::wait::Wait;
use ::io::{Clock, Descriptors, FileSystem, KeptFileSystem, OsFileSystem, SystemClock};
use base::error::{Error, Result};
use base::place::{LeaderEpoch, Offset};
use index::AbortedTxn;
use record::Rules;

/// What all logs of a broker share.
#[derive(Clone)]
pub struct LogContext {
    /// The disk.
    pub fs: Arc<dyn FileSystem>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Producer expiry and transaction verification.
    pub producers: ProducerStateConfig,
}

impl LogContext {
    /// As [`Self::system`], with as many files open at a time as the process has descriptors for.
    pub fn of_process() -> Self {
        let fs = Arc::new(KeptFileSystem::new(Arc::new(OsFileSystem), Descriptors::of_process()));
        Self { fs, ..Self::system() }
    }

    /// The machine's files and clock, Kafka's defaults.
    pub fn system() -> Self {
        Self {
            fs: Arc::new(OsFileSystem),
            clock: Arc::new(SystemClock),
            producers: ProducerStateConfig::default(),
        }
    }
}

/// See the module.
pub struct Log {
    pub(super) context: LogContext,
    pub(super) dir: PathBuf,
    pub(super) topic_partition: TopicPartition,
    pub(super) config: Arc<LogConfig>,
    pub(super) rules: Rules,
    pub(super) segments: Segments,
    pub(super) offsets: Offsets,
    pub(super) epochs: EpochCache,
    pub(super) producers: ProducerState,
    /// Subtracted from `segment.ms` for the active segment.
    pub(super) roll_jitter_ms: i64,
    pub(super) syncs: Syncs,
    pub(super) standing: Standing,
    pub(super) report: RecoveryReport,
    /// The recovery-point checkpoint has an entry of the log.
    pub(super) is_listed: bool,
}

impl Log {
    /// A new, empty log that starts at offset 0. Makes nothing on disk yet, see [`super::materialise`]. A directory
    /// that exists at `dir` already is an error.
    pub fn create(
        context: &LogContext,
        dir: &Path,
        topic_partition: TopicPartition,
        topic_id: Option<Uuid>,
        config: Arc<LogConfig>,
    ) -> Result<Self> {
        if context.fs.exists(dir) {
            return Err(Error::Taken {
                path: dir.to_path_buf(),
            });
        }
        let segments = Segments::new(Segment::unmade(dir, Offset(0), context.clock.now_ms()));
        let mut log = Self::assemble(context, dir, topic_partition, config, segments, EpochCache::default());
        log.standing = Standing::of_unmade(Unmade {
            topic_id,
            has_dir: false,
        });
        log.syncs = Syncs::of_unmade();
        Ok(log)
    }

    pub(super) fn assemble(
        context: &LogContext,
        dir: &Path,
        topic_partition: TopicPartition,
        config: Arc<LogConfig>,
        segments: Segments,
        epochs: EpochCache,
    ) -> Self {
        let mut log = Self {
            context: context.clone(),
            dir: dir.to_path_buf(),
            topic_partition,
            rules: rules_of(&config),
            config,
            segments,
            offsets: Offsets::default(),
            epochs,
            producers: ProducerState::new(context.producers),
            roll_jitter_ms: 0,
            syncs: Syncs::of_opened(),
            standing: Standing::default(),
            report: RecoveryReport::default(),
            is_listed: false,
        };
        log.choose_jitter();
        log
    }

    /// The recovery-point checkpoint that has an entry of this log is durable.
    pub fn note_listed(&mut self) {
        self.is_listed = true;
    }

    /// The file system that holds the log's files.
    pub fn file_system(&self) -> Arc<dyn FileSystem> {
        self.fs()
    }

    pub(super) fn fs(&self) -> Arc<dyn FileSystem> {
        Arc::clone(&self.context.fs)
    }

    /// The first offset of the log's files: the log start offset or one before it. Records between the two are deleted
    /// for readers, but the producer state still counts them (KIP-360): else a repeated batch would pass as a new one.
    pub(super) fn first_offset(&self) -> Offset {
        self.segments.first().base_offset().min(self.offsets.start())
    }

    pub(super) fn check_writable(&self) -> Result<()> {
        self.standing.check_writable(&self.dir)
    }

    /// The partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.topic_partition
    }

    /// The log's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The offset that the next record gets.
    pub fn log_end_offset(&self) -> Offset {
        self.offsets.end()
    }

    /// The first offset that may be read.
    pub fn log_start_offset(&self) -> Offset {
        self.offsets.start()
    }

    /// The recovery point: all records below it are on disk. The `recovery-point-offset-checkpoint` holds it.
    pub fn recovery_point(&self) -> Offset {
        self.offsets.recovery_point()
    }

    /// The first dirty offset: the log is compacted below it. `None` for a log that was never cleaned. The
    /// `cleaner-offset-checkpoint` holds it.
    pub fn first_dirty_offset(&self) -> Option<Offset> {
        self.offsets.first_dirty()
    }

    /// A number that changes with each truncation: a plan made before a truncation may name records that are gone.
    pub fn truncations(&self) -> u64 {
        self.syncs.truncations()
    }

    /// Bytes of record batches in all segments.
    pub fn size_bytes(&self) -> u64 {
        self.segments.size_bytes()
    }

    /// How many segments there are.
    pub fn segment_count(&self) -> usize {
        self.segments.count()
    }

    /// Base offsets and `.log` paths of the segments, oldest first, with their sizes.
    pub fn segments(&self) -> impl Iterator<Item = (Offset, &Path, u64)> {
        self.segments
            .all()
            .map(|segment| (segment.base_offset(), segment.log().path.as_path(), segment.size()))
    }

    /// The leader epochs.
    pub fn epochs(&self) -> &EpochCache {
        &self.epochs
    }

    /// Notes the start of a leader's term at the log's end, before its first append.
    pub fn begin_epoch(&mut self, leader_epoch: LeaderEpoch) {
        self.epochs.assign(leader_epoch, self.offsets.end());
    }

    /// The producers.
    pub fn producers(&self) -> &ProducerState {
        &self.producers
    }

    /// The producers, to expire or verify them.
    pub fn producers_mut(&mut self) -> &mut ProducerState {
        &mut self.producers
    }

    /// The configuration.
    pub fn config(&self) -> &Arc<LogConfig> {
        &self.config
    }

    /// Replaces the configuration; the new one applies from the next call on.
    pub fn set_config(&mut self, config: Arc<LogConfig>) {
        self.rules = Rules {
            inflate_to_validate: self.rules.inflate_to_validate,
            ..rules_of(&config)
        };
        self.config = config;
        self.choose_jitter();
    }

    /// Whether an earlier failure forbids writes.
    pub fn is_poisoned(&self) -> bool {
        self.standing.is_poisoned()
    }

    /// Whether the log was closed, or its directory taken out of use.
    pub fn is_closed(&self) -> bool {
        self.standing.is_closed()
    }

    /// Forbids writes from now on: the log directory has failed.
    pub fn poison(&mut self) {
        self.standing.poison();
    }

    /// What opening the log had to repair.
    pub fn report(&self) -> &RecoveryReport {
        &self.report
    }

    /// The notes of the recovery report that an operator should read. Each note is returned once.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.report.notes)
    }

    /// Up to where a `read_committed` reader may read. Of an open transaction whose first records are deleted, only the
    /// records from the log start offset on hold readers back.
    pub fn last_stable_offset(&self, high_watermark: Offset) -> Offset {
        let unstable = self.producers.first_unstable_offset(high_watermark);
        unstable.map_or(high_watermark, |first| {
            first.max(self.offsets.start()).min(high_watermark)
        })
    }

    /// The transactions whose records a `read_committed` reader of `from..to` must skip.
    pub fn aborted_transactions(&self, from: Offset, to: Offset) -> Result<Vec<AbortedTxn>> {
        self.aborted_at(from, to, Wait::Yes)
    }

    pub(super) fn aborted_at(&self, from: Offset, to: Offset, wait: Wait) -> Result<Vec<AbortedTxn>> {
        let mut found = Vec::new();
        for segment in self.segments.all_from(self.segments.place_of(from)) {
            if wait == Wait::No {
                segment.txn_index.check_at_hand()?;
            }
            if segment.txn_index.collect(&*self.context.fs, from, to, &mut found)? {
                break;
            }
        }
        Ok(found)
    }

    /// Renames the directory to a name of another role, for example `<topic>-<partition>.<unique>-delete`, closes the
    /// log without syncing it, and returns the new path. The loader or the caller removes a deleted directory later.
    /// Open files stay readable until dropped. A log without a directory is only closed. No call may follow.
    pub fn rename_away(&mut self, kind: DirKind) -> Result<Option<PathBuf>> {
        self.rename_away_as(kind, Uuid::random())
    }

    /// [`rename_away`](Self::rename_away) with an id that ties the directory to another one.
    pub fn rename_away_as(&mut self, kind: DirKind, unique: Uuid) -> Result<Option<PathBuf>> {
        // A failed attempt to make the directory may have left a part of it, which is renamed like a whole directory.
        let has_no_dir = self.standing.unmade().is_some_and(|unmade| !unmade.has_dir);
        if has_no_dir && !self.standing.is_poisoned() {
            self.standing.close();
            return Ok(None);
        }
        let to = self.dir.with_file_name(self.topic_partition.dir_name(kind, unique));
        self.rename_dir(&to)?;
        self.segments.all().for_each(|segment| segment.log().file.retire());
        self.standing.close();
        Ok(Some(to))
    }

    /// Renames the directory within its parent directory. Open files stay as they are.
    pub(super) fn rename_dir(&mut self, to: &Path) -> Result<()> {
        let fs = self.fs();
        let _names = fs.hold_names();
        let rename = fs.rename(&self.dir, to);
        rename.map_err(|error| Error::io("rename", &self.dir, error))?;
        self.dir = to.to_path_buf();
        self.segments.move_to(to);
        Ok(())
    }
}

fn rules_of(config: &LogConfig) -> Rules {
    Rules {
        max_message_bytes: config.max_message_bytes,
        timestamp_type: config.message_timestamp_type,
        timestamp_before_max_ms: config.message_timestamp_before_max_ms,
        timestamp_after_max_ms: config.message_timestamp_after_max_ms,
        compacted: config.is_compacted,
        codec: config.codec(),
        ..Rules::default()
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
