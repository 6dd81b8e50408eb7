//! One partition's log: an ordered list of segments, of which the last is written, and the state derived from them.
//!
//! Four parts own its state: [`Contents`] (batches, and what follows from them), `Settings` (the configuration),
//! `Standing` (whether it may be written) and `Syncs` (what a flush must sync); the calls here say in which order they
//! change. A log never knows leases or other partitions; it knows high watermarks only as arguments.
//!
//! One writer: the caller holds a lock around every `&mut self` call and around the cheap `&self` calls. Slow work is
//! handed out as a job that needs no lock: [`ReadPlan`], [`FlushJob`], [`TimestampPlan`], [`Deletion`].
//!
//! Invariants: those of [`Contents`]; a log without a directory is empty. Once *poisoned* (an fsync failed, or a failed
//! write could not be cut off) nothing is written again. A truncation that fails half-way leaves memory and disk
//! different, so it poisons the log; one that met a shortage is finished by the next call, before that call does
//! anything else to the log.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::adopt::{self, Loaded};
use super::append::{self, AppendError, AppendOptions, Appended, Runs};
use super::config::LogConfig;
use super::contents::{Contents, PlacedBatch};
use super::context::LogContext;
use super::flush::{FlushJob, Flushed};
use super::leader_epochs::EpochCache;
use super::lookup::TimestampPlan;
use super::materialise::make_files;
use super::partition_metadata::PartitionMetadata;
use super::producer_state::ProducerState;
use super::read::ReadPlan;
use super::recovery::{LoadArgs, Note, Opened, RecoveryReport};
use super::retention::{self, Deletion};
use super::segment::Segment;
use super::segments::Segments;
use super::settings::Settings;
use super::staged::StagedSegment;
use super::standing::{Standing, Unfinished};
use super::state_file::Durability;
use super::syncs::Syncs;
use super::topic_partition::{DirKind, TopicPartition};
use super::uuid::Uuid;
use super::wait::Wait;
use ::io::Clock;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use record::{Origin, Rules, Validated, validate};

/// See the module.
pub struct Log {
    clock: Arc<dyn Clock>,
    contents: Contents,
    settings: Settings,
    standing: Standing,
    syncs: Syncs,
    report: RecoveryReport,
    /// The recovery-point checkpoint has an entry of the log.
    is_listed: bool,
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
        let contents = Contents::empty(context, dir, topic_partition);
        let mut log = Self::assemble(context, contents, Syncs::of_unmade(), config);
        log.standing = Standing::of_unmade(topic_id);
        Ok(log)
    }

    /// Opens the log in `dir`; see [`super::recovery`].
    pub fn open(
        context: &LogContext,
        dir: &Path,
        topic_partition: TopicPartition,
        config: Arc<LogConfig>,
        args: LoadArgs<'_>,
    ) -> Result<Self> {
        let opened = Opened::from_files(context, dir, topic_partition, &config, args)?;
        let mut log = Self::assemble(context, opened.contents, opened.syncs, config);
        log.report = opened.report;
        log.is_listed = args.extent.is_listed;
        Ok(log)
    }

    fn assemble(context: &LogContext, contents: Contents, syncs: Syncs, config: Arc<LogConfig>) -> Self {
        let mut log = Self {
            clock: Arc::clone(&context.clock),
            contents,
            settings: Settings::new(config),
            standing: Standing::default(),
            syncs,
            report: RecoveryReport::default(),
            is_listed: false,
        };
        log.choose_jitter();
        log
    }

    /// The batches, and what follows from them.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The segments.
    pub fn segments(&self) -> &Segments {
        self.contents.segments()
    }

    /// The offset that the next record gets.
    pub fn log_end_offset(&self) -> Offset {
        self.contents.offsets().end()
    }

    /// The first offset that may be read.
    pub fn log_start_offset(&self) -> Offset {
        self.contents.offsets().start()
    }

    /// The recovery point: all records below it are on disk. The `recovery-point-offset-checkpoint` holds it.
    pub fn recovery_point(&self) -> Offset {
        self.contents.offsets().recovery_point()
    }

    /// The leader epochs.
    pub fn epochs(&self) -> &EpochCache {
        self.contents.epochs()
    }

    /// The producers.
    pub fn producers(&self) -> &ProducerState {
        self.contents.producers()
    }

    /// The producers, to expire or verify them.
    pub fn producers_mut(&mut self) -> &mut ProducerState {
        self.contents.producers_mut()
    }

    /// The partition.
    pub fn topic_partition(&self) -> &TopicPartition {
        self.contents.dir().partition()
    }

    /// The log's directory.
    pub fn dir(&self) -> &Path {
        self.contents.dir().path()
    }

    /// A number that changes with each truncation: a plan made before a truncation may name records that are gone.
    pub fn truncations(&self) -> u64 {
        self.syncs.truncations()
    }

    /// The configuration.
    pub fn config(&self) -> &Arc<LogConfig> {
        self.settings.config()
    }

    /// The rules that validate a batch. A batch that was validated by other rules must be validated again.
    pub fn rules(&self) -> &Rules {
        self.settings.rules()
    }

    /// Replaces the configuration; the new one applies from the next call on.
    pub fn set_config(&mut self, config: Arc<LogConfig>) {
        self.settings = Settings::new(config);
        self.choose_jitter();
    }

    fn choose_jitter(&mut self) {
        let active = self.contents.segments().active();
        self.settings.choose_jitter(self.contents.dir().path(), active);
    }

    /// The recovery-point checkpoint that has an entry of this log is durable.
    pub fn note_listed(&mut self) {
        self.is_listed = true;
    }

    /// What opening the log had to repair.
    pub fn report(&self) -> &RecoveryReport {
        &self.report
    }

    /// The notes of the recovery report that an operator should read. Each note is returned once.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.report.notes)
    }

    /// Whether an earlier failure forbids writes.
    pub fn is_poisoned(&self) -> bool {
        self.standing.is_poisoned()
    }

    /// Whether the log was closed, or its directory taken out of use.
    pub fn is_closed(&self) -> bool {
        self.standing.is_closed()
    }

    /// Whether the log has its directory and files. A log without them was never written.
    pub fn is_materialised(&self) -> bool {
        self.standing.unmade().is_none()
    }

    /// Fails unless the log may be written.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.standing.check_writable(self.dir())
    }

    /// Whether the log may be written, and has no truncation to finish.
    pub(super) fn is_settled(&self) -> bool {
        self.standing.is_settled()
    }

    /// Fails unless the log may be written, and finishes a truncation that a shortage interrupted.
    #[inline]
    fn settle(&mut self) -> Result<()> {
        self.check_writable()?;
        let unfinished = self.standing.unfinished();
        unfinished.map_or(Ok(()), |truncation| self.truncate(truncation))
    }

    /// Makes the directory and its files, unless they exist.
    pub fn materialise(&mut self) -> Result<()> {
        let Some(unmade) = self.standing.unmade() else {
            return Ok(());
        };
        self.check_writable()?;
        let made = make_files(&mut self.contents, &mut self.standing, unmade);
        made.inspect_err(|error| self.standing.note_failure(error))?;
        self.syncs.note_made();
        Ok(())
    }

    /// Writes `partition.metadata` anew, durably: the file was lost.
    pub fn write_topic_id(&mut self, topic_id: Uuid) -> Result<()> {
        if self.standing.set_topic_id(topic_id) {
            return Ok(());
        }
        self.check_writable()?;
        PartitionMetadata { topic_id }.write(self.contents.fs(), self.dir(), Durability::Synced)
    }

    /// Notes the start of a leader's term at the log's end, before its first append.
    pub fn begin_epoch(&mut self, leader_epoch: LeaderEpoch) {
        self.contents.begin_epoch(leader_epoch);
    }

    /// Appends the one batch that fills `batch`, as the partition's leader. The bytes are patched in place.
    pub fn append_as_leader(
        &mut self,
        batch: &mut [u8],
        leader_epoch: LeaderEpoch,
        origin: Origin,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.settle()?;
        let validated = validate(batch, self.rules(), origin, now_ms)?;
        self.append_validated(batch, validated, AppendOptions::plain(leader_epoch, origin, now_ms))
    }

    /// Appends a batch that was validated by [`Self::rules`], as the partition's leader.
    pub fn append_validated(
        &mut self,
        batch: &mut [u8],
        mut validated: Validated,
        options: AppendOptions,
    ) -> Result<Appended, AppendError> {
        self.settle()?;
        let placed = append::place(batch, &mut validated, options, &self.contents, &self.settings)?;
        let mut appended = placed.appended;
        if let Some(batch) = &placed.batch {
            self.write(placed.bytes, std::slice::from_ref(batch), options.now_ms)?;
            appended.needs_flush = self.is_flush_due();
        }
        Ok(appended)
    }

    /// Whether the number of unflushed records has reached `flush.messages`.
    pub fn is_flush_due(&self) -> bool {
        self.settings.is_flush_due(self.contents.offsets())
    }

    /// Appends the batches that the leader sent, with the leader's offsets and epochs. The bytes may end within a
    /// batch, which is left out. Refuses batches that the log has already, but allows gaps (of compaction). An empty
    /// log may start within the first batch (`DeleteRecords` may have moved the leader's log start offset there): that
    /// batch is appended whole. Returns the last appended offset, if any.
    pub fn append_as_follower(&mut self, batches: &[u8]) -> Result<Option<Offset>, AppendError> {
        self.settle()?;
        let (start, now_ms) = (self.log_start_offset(), self.clock.now_ms());
        let first = append::check_sent(batches, self.contents.offsets())?;
        if first < start {
            self.truncate_fully_and_start_at(first)?;
        }
        let mut last_offset = None;
        let mut runs = Runs::of(batches);
        while let Some(bytes) = runs.next(self.contents.segments().active(), &self.settings, now_ms)? {
            self.write(bytes, runs.batches(), now_ms)?;
            last_offset = runs.batches().last().map(|batch| batch.header.last_offset());
        }
        if first < start {
            self.advance_log_start_offset(start, start)?;
        }
        Ok(last_offset)
    }

    /// Writes batches with one call into one segment. `run` has the batches in `bytes`.
    fn write(&mut self, bytes: &[u8], run: &[PlacedBatch], now_ms: i64) -> Result<()> {
        let Some(last) = run.last().map(|batch| &batch.header) else {
            return Ok(());
        };
        self.materialise()?;
        let check = self.settings.roll_check(bytes.len(), last, now_ms);
        if self.contents.segments().active().should_roll(&check) {
            // After a jump of offsets the log end offset may lie more than an i32 below; the new segment then begins
            // higher.
            let base_offset = self.log_end_offset().max(last.last_offset() - i64::from(i32::MAX));
            self.roll_to(base_offset, now_ms)?;
        }
        let interval = self.settings.config().index_interval_bytes;
        let written = self.contents.append(bytes, run, interval);
        written.map_err(|(error, is_ruined)| {
            if is_ruined {
                self.standing.poison();
            }
            error
        })
    }

    /// Adopts the segment, as the partition's leader; see [`super::adopt`]. `before` is what the log has of the load,
    /// for a producer that the log does not know any more.
    pub fn adopt(
        &mut self,
        staged: &mut StagedSegment,
        before: Loaded,
        leader_epoch: LeaderEpoch,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.settle()?;
        adopt::check_next(staged, self.producers(), before)?;
        self.materialise()?;
        let appended = adopt::take_in(staged, leader_epoch, now_ms, &mut self.contents, &self.settings)?;
        self.syncs.note_name();
        self.choose_jitter();
        Ok(appended)
    }

    /// Seals the active segment and begins a new segment at the log's end. Does nothing while the active segment is
    /// empty. The next flush syncs the old segment's files and moves the recovery point past it.
    pub fn roll(&mut self, now_ms: i64) -> Result<()> {
        self.settle()?;
        self.roll_to(self.log_end_offset(), now_ms)
    }

    fn roll_to(&mut self, base_offset: Offset, now_ms: i64) -> Result<()> {
        if base_offset == self.segments().active().base_offset() {
            return Ok(());
        }
        if self.config().is_compacted && !self.is_listed {
            // A start after a crash takes every gap of such a log for compaction, so a power loss must leave none.
            let flushed = self.begin_flush().run();
            self.complete_flush(flushed)?;
        }
        self.contents.roll_to(base_offset, now_ms)?;
        self.syncs.note_name();
        self.choose_jitter();
        Ok(())
    }

    /// Plans a read from `offset` to `upper_bound` (exclusive: a high watermark, last stable offset or the log's end).
    /// `OFFSET_OUT_OF_RANGE` outside of log start offset..=log end offset.
    pub fn plan_read(&self, offset: Offset, upper_bound: Offset) -> Result<ReadPlan> {
        ReadPlan::of(&self.contents, offset, upper_bound, Wait::Yes)
    }

    /// The first record, from the log start offset on, whose timestamp is at least `target`.
    pub fn lookup_timestamp(&self, target: i64) -> Result<TimestampPlan> {
        TimestampPlan::at_least(&self.contents, target)
    }

    /// The record with the greatest timestamp from the log start offset on, the earliest of them.
    pub fn max_timestamp(&self) -> Result<TimestampPlan> {
        TimestampPlan::latest(&self.contents)
    }

    /// Makes the job for the unflushed files. Cheap. While a truncation is unfinished no record is flushed: the
    /// truncation is going to remove records.
    pub fn begin_flush(&self) -> FlushJob {
        let end = match self.standing.unfinished() {
            Some(_) => self.recovery_point(),
            None => self.log_end_offset(),
        };
        FlushJob::of(&self.contents, &self.syncs, end, self.is_materialised())
    }

    /// Records the outcome of a job. Returns its error, which poisons the log. A job that a truncation overtook does
    /// not move the recovery point.
    pub fn complete_flush(&mut self, flushed: Result<Flushed>) -> Result<()> {
        let flushed = flushed.inspect_err(|error| self.standing.note_failure(error))?;
        if let Some(epochs) = flushed.epochs() {
            self.contents.complete_epochs(epochs);
        }
        if self.syncs.complete(flushed.mark()) {
            self.contents.flushed_to(flushed.offset());
        }
        Ok(())
    }

    /// All three steps, for callers that may wait under the lock.
    pub fn flush(&mut self) -> Result<()> {
        self.settle()?;
        let flushed = self.begin_flush().run();
        self.complete_flush(flushed)
    }

    /// Refuses writes from now on, completes the index files and takes a snapshot of the producer state. Returns the
    /// job that must run, if any; [`complete_close`](Self::complete_close) must follow it. May be repeated after an
    /// error. A log without unflushed records costs no sync.
    pub fn begin_close(&mut self) -> Result<Option<FlushJob>> {
        if self.is_closed() && !self.is_poisoned() {
            return Ok(None);
        }
        self.settle()?;
        match self.materialise() {
            Err(Error::Taken { .. }) => {
                self.standing.close(); // it has no record and no file
                return Ok(None);
            }
            made => made?,
        }
        self.contents.prepare_close()?;
        self.standing.close();
        // The epochs of an empty log are not worth two syncs for each of thousands of idle partitions.
        let has_epochs = self.epochs().is_dirty() && self.log_start_offset() < self.log_end_offset();
        if self.recovery_point() >= self.log_end_offset() && !has_epochs {
            return Ok(None);
        }
        Ok(Some(self.begin_flush().with_indexes_of(self.segments().active())))
    }

    /// Records the outcome of the sync. Returns its error, which poisons the log, unless it is a shortage: then the log
    /// is open again, and the close may be repeated.
    pub fn complete_close(&mut self, flushed: Result<Flushed>) -> Result<()> {
        let closed = self.complete_flush(flushed);
        if closed.as_ref().is_err_and(Error::is_shortage) {
            self.standing.reopen();
        }
        closed
    }

    /// Closes the log and syncs everything. No call may follow.
    pub fn close(&mut self) -> Result<()> {
        match self.begin_close()? {
            Some(job) => self.complete_close(job.run()),
            None => Ok(()),
        }
    }

    /// Closes the log without touching its files: their disk has failed.
    pub fn abandon(&mut self) {
        self.standing.close();
    }

    /// Removes every batch that holds `offset` or a later offset; returns whether there was any. The recovery point is
    /// lowered too; the caller writes its checkpoint soon after, and before it fetches again. An epoch that begins at
    /// the log's end is dropped in any case.
    pub fn truncate_to(&mut self, offset: Offset) -> Result<bool> {
        self.settle()?;
        if offset >= self.log_end_offset() {
            self.contents.drop_empty_epochs();
            return Ok(false);
        }
        if self.segments().first().base_offset() > offset {
            self.truncate_fully_and_start_at(offset)?;
        } else {
            self.begin_truncation(Unfinished::CutAt(offset), offset)?;
        }
        Ok(true)
    }

    /// Cuts the log where it diverges from another log, by [`EpochCache::common_end`]. Returns the offset of the cut.
    pub fn truncate_to_epoch(&mut self, epoch: LeaderEpoch, end_offset: Offset) -> Result<Offset> {
        let cut = self.epochs().common_end(epoch, end_offset, self.log_end_offset());
        self.truncate_to(cut)?;
        Ok(cut)
    }

    /// Removes all records and starts an empty log at `offset`.
    pub fn truncate_fully_and_start_at(&mut self, offset: Offset) -> Result<()> {
        self.settle()?;
        self.materialise()?;
        self.begin_truncation(Unfinished::StartAnewAt(offset), offset)
    }

    /// Makes every flush that began earlier void, lowers the recovery point to `offset`, and truncates.
    fn begin_truncation(&mut self, truncation: Unfinished, offset: Offset) -> Result<()> {
        self.syncs.note_truncation();
        self.contents.distrust_from(offset);
        self.truncate(truncation)
    }

    #[cold]
    fn truncate(&mut self, truncation: Unfinished) -> Result<()> {
        self.standing.truncate(Some(truncation));
        let now_ms = self.clock.now_ms();
        let truncated = match truncation {
            Unfinished::CutAt(offset) => self.contents.cut_batches(offset, now_ms).and_then(|end| {
                // The batch that held `offset` is gone: a repetition cuts at that batch's base offset, not at `offset`.
                self.standing.truncate(Some(Unfinished::CutAt(end)));
                self.contents.end_at(end, now_ms)
            }),
            Unfinished::StartAnewAt(offset) => {
                let restarted = self.contents.restart_at(offset, now_ms);
                restarted.map(|()| self.syncs.note_name())
            }
        };
        truncated.inspect_err(|error| self.standing.note_failure(error))?;
        self.standing.truncate(None);
        Ok(())
    }

    /// Raises the log start offset (for `DeleteRecords`, or to the leader's); returns whether it moved.
    /// `OFFSET_OUT_OF_RANGE` above the high watermark. The segments go with [`Self::delete_old_segments`].
    pub fn advance_log_start_offset(&mut self, offset: Offset, high_watermark: Offset) -> Result<bool> {
        self.settle()?;
        if offset > high_watermark {
            let partition = self.topic_partition();
            let message = format!(
                "Cannot increment the log start offset to {offset} of partition {partition} since it is larger than \
                 the high watermark {high_watermark}"
            );
            return Err(Error::rejected(ErrorCode::OFFSET_OUT_OF_RANGE, message));
        }
        Ok(self.contents.raise_start(offset))
    }

    /// Deletes the segments that retention no longer keeps.
    pub fn delete_old_segments(&mut self, now_ms: i64, high_watermark: Offset) -> Result<Deletion> {
        self.settle()?;
        let count = retention::count_old(&self.contents, self.config(), now_ms, high_watermark)?;
        if count > 0 && count == self.segments().count() {
            self.roll_to(self.log_end_offset(), now_ms)?;
        }
        let paths = self.contents.delete_oldest(count)?;
        let (fs, delay_ms) = (self.contents.dir().fs(), self.config().file_delete_delay_ms);
        Ok(Deletion::new(Arc::clone(fs), paths, count, now_ms, delay_ms))
    }

    /// See [`Contents::replace`]. An error or a refusal poisons the log.
    pub(super) fn replace(&mut self, old: Range<Offset>, new: Segment, from: &str) -> Result<Option<Vec<PathBuf>>> {
        let replaced = self.contents.replace(old, new, from);
        if !matches!(replaced, Ok(Some(_))) {
            self.standing.poison();
        }
        replaced
    }

    /// The log is compacted below `offset`; `None` for a log that was never cleaned. The caller writes the checkpoint.
    pub fn set_first_dirty_offset(&mut self, offset: Option<Offset>) {
        self.contents.cleaned_to(offset);
    }

    /// Renames the directory to a name of another role, for example `<topic>-<partition>.<unique>-delete`, closes the
    /// log without syncing it, and returns the new path; who removes it is up to the caller. Open files stay readable
    /// until dropped. A log without a directory is only closed. No call may follow.
    pub fn rename_away(&mut self, kind: DirKind, unique: Uuid) -> Result<Option<PathBuf>> {
        // A failed attempt to make the directory may have left a part of it, which is renamed like a whole directory.
        let has_no_dir = self.standing.unmade().is_some_and(|unmade| !unmade.has_dir);
        if has_no_dir && !self.is_poisoned() {
            self.standing.close();
            return Ok(None);
        }
        let to = self.dir().with_file_name(self.topic_partition().dir_name(kind, unique));
        self.contents.rename_dir(&to)?;
        self.segments().all().for_each(|segment| segment.log().file.retire());
        self.standing.close();
        Ok(Some(to))
    }

    /// Renames the directory of a future log to the partition's plain name, without syncing the name.
    pub fn become_current(&mut self) -> Result<()> {
        let to = self.dir().with_file_name(self.topic_partition().to_string());
        self.contents.rename_dir(&to)
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
