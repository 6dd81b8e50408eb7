//! One hosted partition: its log, its lease, its offsets and who waits for it (spec: R0.10).
//!
//! Place: `produce`, `fetch` and the control plane's appends meet here; below is `storage::Log`.
//! Invariants: the lease and the log's end change only under the log's lock, so an append sees one lease from check to
//! write; `log_start ≤ last_stable ≤ high_watermark ≤ log_end`; the high watermark never moves back within a lease.
//! It knows no sockets and no clock, and decides nothing about leadership.

mod append;
mod closest;
mod future;
mod read;
mod refusals;
mod replication;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::{Mutex, MutexGuard};

use self::refusals::Refusals;
use super::figures::PartitionFigures;
use super::followers::Followers;
use super::lease::Lease;
use super::metrics::Meter;
#[cfg(feature = "simulator")]
use super::planted;
use super::registry::{NO_TOPIC_ID, TopicId};
use super::waiters::{WaitKind, Waiters};
use crate::error::{Error, ErrorCode, Result};
use crate::storage::producer_state::ProducerEntry;
use crate::storage::{FlushJob, Flushed, Log, Uuid};

pub use closest::ServedBy;
pub use future::{FutureLog, MoveFailure, Moved};
pub use read::{Isolation, ReadRequest, ReadResult};
pub use replication::{Cut, FetchPosition, Fetched, WantsFlush};

/// Offsets that readers see without the log's lock.
#[derive(Debug, Default)]
struct Offsets {
    log_start: AtomicI64,
    last_stable: AtomicI64,
    high_watermark: AtomicI64,
    log_end: AtomicI64,
    flushed: AtomicI64,
}

/// One consistent look at a partition's offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetsView {
    /// First offset that can be read.
    pub log_start: i64,
    /// First offset that `read_committed` may not see.
    pub last_stable: i64,
    /// First offset that consumers may not see.
    pub high_watermark: i64,
    /// Offset of the next record.
    pub log_end: i64,
}

/// A producer as `DescribeProducers` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerDescription {
    /// Producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i32,
    /// Sequence of its last record, -1 for none.
    pub last_sequence: i32,
    /// Timestamp of its last batch, ms.
    pub last_timestamp: i64,
    /// Epoch of the coordinator that wrote its last marker, -1 for none.
    pub coordinator_epoch: i32,
    /// Where its ongoing transaction begins, -1 for none.
    pub current_transaction_start_offset: i64,
}

/// What must happen before a produce is answered, beyond the local append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    /// The high watermark must reach this (acks = -1).
    pub high_watermark: Option<i64>,
    /// This much must be on disk (`flush.messages`).
    pub flushed: Option<i64>,
    /// A flush should begin: for the above, or since a segment was sealed.
    pub wants_flush: bool,
    /// In which [`Partition::term`] it was appended.
    term: u64,
}

impl Awaited {
    /// Whether the local append was all.
    pub fn is_nothing(self) -> bool {
        self.high_watermark.is_none() && self.flushed.is_none()
    }
}

/// How many replicas of a partition that this broker leads are in sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsrSize {
    /// Assigned.
    pub replicas: usize,
    /// In sync.
    pub members: usize,
    /// What `acks=all` needs.
    pub least: usize,
}

/// In-sync replicas that `acks=all` needs: `min.insync.replicas`, or all when there are fewer (KIP-966).
fn least_in_sync(log: &Log, lease: &Lease) -> usize {
    needed(log.config().min_insync_replicas, lease)
}

fn needed(min_insync_replicas: i32, lease: &Lease) -> usize {
    let wanted = usize::try_from(min_insync_replicas).unwrap_or(1);
    wanted.min(lease.replicas.len())
}

/// See the module.
pub struct Partition {
    topic: Arc<str>,
    /// Unset while its log knows none.
    topic_id: OnceLock<TopicId>,
    index: i32,
    node_id: i32,
    log_dir: ArcSwap<PathBuf>,
    log: Mutex<Log>,
    /// The log that will take its place; locked after the log, if both are.
    future: Mutex<Option<Arc<FutureLog>>>,
    lease: ArcSwapOption<Lease>,
    /// How often this broker has begun to lead; changes before the lease does, under the log's lock. What was appended in an earlier
    /// term may have been cut off since.
    term: AtomicU64,
    /// What stands before this offset an earlier leader has taken.
    term_start: AtomicI64,
    /// While this broker leads with others assigned; locked after the log, if both are.
    followers: Mutex<Option<Followers>>,
    offsets: Offsets,
    waiters: Waiters,
    /// When a consumer read here last while another broker led.
    reader_seen: Mutex<Option<Instant>>,
    is_offline: AtomicBool,
    is_flush_queued: AtomicBool,
    /// Flush jobs of one log run one after the other.
    flushing: Mutex<()>,
    /// When the oldest unflushed batch was appended, ms; 0 for none.
    unflushed_since_ms: AtomicI64,
    refusals: Refusals,
    meter: Meter,
}

impl Partition {
    /// Wraps an open log. `high_watermark` comes from the checkpoint (spec: R0.14).
    pub fn new(
        node_id: i32,
        topic: Arc<str>,
        topic_id: TopicId,
        index: i32,
        dir: PathBuf,
        log: Log,
        checkpoint: i64,
    ) -> Self {
        let offsets = Offsets::default();
        let high_watermark = checkpoint.clamp(log.log_start_offset(), log.log_end_offset());
        offsets.high_watermark.store(high_watermark, Ordering::Relaxed);
        let known = OnceLock::new();
        if topic_id != NO_TOPIC_ID {
            // It is the first to set it.
            let _ = known.set(topic_id);
        }
        let partition = Self {
            topic,
            topic_id: known,
            index,
            node_id,
            log_dir: ArcSwap::from_pointee(dir),
            log: Mutex::new(log),
            future: Mutex::default(),
            refusals: Refusals::default(),
            meter: Meter::default(),
            lease: ArcSwapOption::empty(),
            term: AtomicU64::new(0),
            term_start: AtomicI64::new(0),
            followers: Mutex::new(None),
            offsets,
            waiters: Waiters::default(),
            reader_seen: Mutex::default(),
            is_offline: AtomicBool::new(false),
            is_flush_queued: AtomicBool::new(false),
            flushing: Mutex::new(()),
            unflushed_since_ms: AtomicI64::new(0),
        };
        partition.publish_offsets(&partition.log.lock());
        partition
    }

    /// Counts for its topic from now on.
    #[must_use]
    pub fn counted_by(mut self, meter: Meter) -> Self {
        self.meter = meter;
        self
    }

    /// Its topic's counts.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The broker that hosts it.
    pub fn node_id(&self) -> i32 {
        self.node_id
    }

    /// Topic name.
    pub fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    /// Topic id; all zero while its log knows none.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id.get().copied().unwrap_or(NO_TOPIC_ID)
    }

    /// A log that knows no topic id, since a power loss took `partition.metadata`, is of this topic from now on. False when it
    /// knew one.
    pub(super) fn adopt_topic_id(&self, id: TopicId) -> Result<bool> {
        if self.topic_id.get().is_some() {
            return Ok(false);
        }
        self.log.lock().write_topic_id(Uuid(id))?;
        Ok(self.topic_id.set(id).is_ok())
    }

    /// Partition index.
    pub fn index(&self) -> i32 {
        self.index
    }

    /// The log directory (an entry of `log.dirs`) that holds it now.
    pub fn log_dir(&self) -> Arc<PathBuf> {
        self.log_dir.load_full()
    }

    /// The watch lists.
    pub fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// The log, locked. For housekeeping and control-plane calls; never held over a wait.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }

    /// The lease now.
    pub fn lease(&self) -> Option<Arc<Lease>> {
        self.lease.load_full()
    }

    /// The offsets now.
    pub fn offsets(&self) -> OffsetsView {
        OffsetsView {
            log_start: self.offsets.log_start.load(Ordering::Acquire),
            last_stable: self.offsets.last_stable.load(Ordering::Acquire),
            high_watermark: self.offsets.high_watermark.load(Ordering::Acquire),
            log_end: self.offsets.log_end.load(Ordering::Acquire),
        }
    }

    /// Its row of the metrics, and its replicas if this broker leads it.
    pub fn figures(&self) -> (PartitionFigures, Option<IsrSize>) {
        let (size, segments, min_insync_replicas) = {
            let log = self.log.lock();
            (log.size_bytes(), log.segment_count(), log.config().min_insync_replicas)
        };
        let offsets = self.offsets();
        let row = PartitionFigures {
            topic: Arc::clone(&self.topic),
            index: self.index,
            size,
            log_start: offsets.log_start,
            log_end: offsets.log_end,
            segments,
        };
        let lease = self.lease().filter(|lease| lease.leader == self.node_id);
        let in_sync = lease.map(|lease| IsrSize {
            replicas: lease.replicas.len(),
            members: lease.in_sync_replicas.len(),
            least: needed(min_insync_replicas, &lease),
        });
        (row, in_sync)
    }

    /// Whether its log directory failed.
    pub fn is_offline(&self) -> bool {
        self.is_offline.load(Ordering::Acquire)
    }

    /// Takes it out of service after a storage failure and answers everyone who waits.
    pub fn set_offline(&self) {
        self.is_offline.store(true, Ordering::Release);
        self.wake_everyone();
        self.waiters.wake_all(WaitKind::LowWatermark);
    }

    /// Takes the lease away.
    pub fn revoke(&self) {
        self.set_lease(None, Duration::ZERO, Instant::now());
    }

    /// Replaces the lease; `None` revokes. Waiters are called, since what they wait for may never come now. A follower has
    /// `most_lag` to catch up before it is out of sync.
    pub fn set_lease(&self, lease: Option<Lease>, most_lag: Duration, now: Instant) {
        {
            let mut log = self.log.lock();
            #[cfg(feature = "simulator")]
            self.cut_as_planted(&mut log, lease.as_ref());
            let leading = lease.as_ref().filter(|l| l.leader == self.node_id);
            if let Some(lease) = leading {
                log.begin_epoch(lease.leader_epoch);
                if !self.leads() {
                    self.term.fetch_add(1, Ordering::AcqRel);
                    self.term_start.store(log.log_end_offset(), Ordering::Release);
                }
            }
            self.take_followers(leading, log.log_end_offset(), most_lag, now);
            self.lease.store(lease.map(Arc::new));
            self.publish_offsets(&log);
        }
        self.wake_everyone();
        self.waiters.wake_all(WaitKind::LowWatermark);
    }

    /// See [`planted::Bug::TruncateToHighWatermark`].
    #[cfg(feature = "simulator")]
    fn cut_as_planted(&self, log: &mut Log, lease: Option<&Lease>) {
        let begins = |new: &&Lease| self.lease().is_none_or(|old| old.leader_epoch < new.leader_epoch);
        let follows = lease
            .filter(|l| l.leader != self.node_id && l.leader >= 0)
            .filter(begins);
        if planted::has(planted::Bug::TruncateToHighWatermark) && follows.is_some() {
            // A log that cannot be cut is left: nothing is planted then.
            let _ = log.truncate_to(self.offsets.high_watermark.load(Ordering::Acquire));
        }
    }

    fn leads(&self) -> bool {
        self.lease
            .load()
            .as_ref()
            .is_some_and(|lease| lease.leader == self.node_id)
    }

    fn wake_everyone(&self) {
        self.waiters.wake_all(WaitKind::Fetch);
        self.waiters.wake_all(WaitKind::Produce);
    }

    fn check_online(&self) -> Result<()> {
        if self.is_offline() {
            return Err(Error::rejected(
                ErrorCode::KAFKA_STORAGE_ERROR,
                format!(
                    "the log directory {} of {}-{} is offline",
                    self.log_dir().display(),
                    self.topic,
                    self.index
                ),
            ));
        }
        Ok(())
    }

    /// The lease, if it makes this broker the leader and the client's epoch agrees.
    pub fn leading(&self, current_leader_epoch: i32) -> Result<Arc<Lease>> {
        let lease = self.lease.load();
        self.leading_by(lease.as_ref(), current_leader_epoch).map(Arc::clone)
    }

    /// The same of a lease that was loaded.
    fn leading_by<'a>(&self, lease: Option<&'a Arc<Lease>>, current_leader_epoch: i32) -> Result<&'a Arc<Lease>> {
        self.check_online()?;
        match lease {
            Some(lease) if lease.leader == self.node_id => {
                lease.check_epoch(current_leader_epoch)?;
                Ok(lease)
            }
            _ => Err(self.not_leading()),
        }
    }

    #[cold]
    fn not_leading(&self) -> Error {
        let message = format!("this broker does not lead {}-{}", self.topic, self.index);
        Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message)
    }

    /// The leader and epoch that a refused client is told (KIP-951).
    pub fn current_leader(&self) -> Option<(i32, i32)> {
        self.lease.load().as_ref().map(|l| (l.leader, l.leader_epoch))
    }

    /// Something was appended now that is not on disk.
    fn note_unflushed(&self, now_ms: i64) {
        if self.unflushed_since_ms.load(Ordering::Relaxed) == 0 {
            self.unflushed_since_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Notes that a flush is wanted; false when one is queued already.
    pub fn mark_flush_queued(&self) -> bool {
        !self.is_flush_queued.swap(true, Ordering::AcqRel)
    }

    /// Brings everything appended so far to disk; appends go on meanwhile. A failure poisons the log.
    pub fn flush(&self) -> Result<()> {
        let _one_at_a_time = self.flushing.lock();
        self.is_flush_queued.store(false, Ordering::Release);
        let since_ms = self.unflushed_since_ms.swap(0, Ordering::Relaxed);
        let job = {
            let log = self.log.lock();
            if log.is_closed() {
                return Ok(());
            }
            if log.is_poisoned() {
                // A sync after a failed one says nothing: the pages that could not be written may be gone.
                return Err(Error::Poisoned {
                    path: log.dir().to_path_buf(),
                });
            }
            log.begin_flush()
        };
        let flushed = job.run();
        let mut log = self.log.lock();
        if log.is_closed() {
            return Ok(()); // deleted meanwhile: its files have other names now, and nobody needs them
        }
        log.complete_flush(flushed)
            .inspect_err(|_| self.note_unflushed(since_ms))?;
        self.publish_offsets(&log);
        drop(log);
        self.waiters.wake_all(WaitKind::Produce);
        Ok(())
    }

    /// First half of a stop: no flush runs any more and no append comes after; see [`Log::begin_close`].
    pub fn begin_close(&self) -> Result<Option<FlushJob>> {
        let _one_at_a_time = self.flushing.lock();
        self.log.lock().begin_close()
    }

    /// Second half; wakes everyone who waits for this log.
    pub fn complete_close(&self, flushed: Result<Flushed>) -> Result<()> {
        let closed = self.log.lock().complete_close(flushed);
        self.refresh();
        closed
    }

    /// Both halves of a stop, for a log whose first attempt met a shortage.
    pub fn close(&self) -> Result<()> {
        match self.begin_close()? {
            Some(job) => self.complete_close(job.run()),
            None => Ok(()),
        }
    }

    /// Makes the directory of a log that was created and not written since. False when there was nothing to do.
    pub fn materialise(&self) -> Result<bool> {
        let mut log = self.log.lock();
        if log.is_materialised() || log.is_closed() || self.is_offline() {
            return Ok(false);
        }
        log.materialise().map(|()| true)
    }

    /// Whether something has been unflushed for longer than `flush.ms`.
    pub fn is_flush_due(&self, now_ms: i64) -> bool {
        let since = self.unflushed_since_ms.load(Ordering::Relaxed);
        since > 0 && now_ms.saturating_sub(since) >= self.log.lock().config().flush_ms
    }

    /// Whether a produce has all that it waited for; an error when it never will.
    pub fn is_satisfied(&self, awaited: Awaited) -> Result<bool> {
        let reached = |wanted: Option<i64>, now: &AtomicI64| wanted.is_none_or(|w| now.load(Ordering::Acquire) >= w);
        // Before the lease is looked at: the offsets of the next leader's records say nothing of these.
        let is_reached = reached(awaited.flushed, &self.offsets.flushed)
            && reached(awaited.high_watermark, &self.offsets.high_watermark);
        let lease = self.leading(-1)?;
        if awaited.term != self.term.load(Ordering::Acquire) {
            let message = format!("another broker has led {}-{} meanwhile", self.topic, self.index);
            return Err(Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message));
        }
        let in_sync = lease.in_sync_replicas.len();
        // All are always enough, and asking the configuration waits for the log.
        let may_lack = awaited.high_watermark.is_some() && in_sync < lease.replicas.len();
        if may_lack && in_sync < least_in_sync(&self.log.lock(), &lease) {
            return Err(Error::rejected(
                ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
                format!("{}-{} lost in-sync replicas while it waited", self.topic, self.index),
            ));
        }
        Ok(is_reached)
    }

    /// Recomputes what readers see from the log and the lease; the log is locked by the caller.
    fn publish_offsets(&self, log: &Log) {
        self.publish_offsets_under(self.lease.load().as_ref(), log);
    }

    /// The same under the lease that was loaded while the log was locked.
    fn publish_offsets_under(&self, lease: Option<&Arc<Lease>>, log: &Log) {
        let end = log.log_end_offset();
        let start = log.log_start_offset();
        let mut high_watermark = self.offsets.high_watermark.load(Ordering::Relaxed).clamp(start, end);
        if let Some(lease) = lease.filter(|lease| lease.leader == self.node_id) {
            let required = least_in_sync(log, lease);
            #[cfg(feature = "simulator")]
            let required = if planted::has(planted::Bug::CommitBelowMinIsr) {
                0
            } else {
                required
            };
            high_watermark = match &*self.followers.lock() {
                Some(followers) => followers.high_watermark(high_watermark, end, required),
                None => end,
            };
        }
        self.offsets.log_end.store(end, Ordering::Release);
        self.offsets.high_watermark.store(high_watermark, Ordering::Release);
        self.offsets
            .last_stable
            .store(log.last_stable_offset(high_watermark), Ordering::Release);
        self.offsets.log_start.store(start, Ordering::Release);
        self.offsets.flushed.store(log.recovery_point(), Ordering::Release);
    }

    /// Publishes what a housekeeping call changed in the log, and calls those who wait.
    pub fn refresh(&self) {
        self.publish_offsets(&self.log.lock());
        self.wake_everyone();
    }

    /// Producers with state in this log.
    pub fn describe_producers(&self) -> Result<Vec<ProducerDescription>> {
        self.leading(-1)?;
        let log = self.log.lock();
        let describe = |(id, entry): (i64, &ProducerEntry)| ProducerDescription {
            producer_id: id,
            producer_epoch: i32::from(entry.producer_epoch),
            last_sequence: entry.last_sequence(),
            last_timestamp: entry.last_timestamp,
            coordinator_epoch: entry.coordinator_epoch,
            current_transaction_start_offset: entry.current_txn_first_offset.unwrap_or(-1),
        };
        Ok(log.producers().active_producers().map(describe).collect())
    }

    /// Moves the log start (spec: `DeleteRecords`); -1 means the high watermark. Returns the offset that was meant, which the low
    /// watermark reaches when all replicas have followed.
    pub fn delete_records(&self, before_offset: i64) -> Result<i64> {
        self.leading(-1)?;
        if !self.log.lock().config().is_deleted {
            return Err(Error::rejected(
                ErrorCode::POLICY_VIOLATION,
                format!(
                    "records of {}-{} are compacted, not deleted (cleanup.policy)",
                    self.topic, self.index
                ),
            ));
        }
        let high_watermark = self.offsets.high_watermark.load(Ordering::Acquire);
        let target = if before_offset == -1 {
            high_watermark
        } else {
            before_offset
        };
        if target < 0 || target > high_watermark {
            return Err(Error::rejected(
                ErrorCode::OFFSET_OUT_OF_RANGE,
                format!(
                    "{target} is not between 0 and the high watermark {high_watermark} of {}-{}",
                    self.topic, self.index
                ),
            ));
        }
        self.log.lock().advance_log_start_offset(target, high_watermark)?;
        self.refresh();
        Ok(target)
    }
}

#[cfg(test)]
mod tests;
