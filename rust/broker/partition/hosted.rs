//! [`Partition`]: the parts of one hosted partition, and what is published when its log or its lease changes.
//!
//! The children of `partition` that append, read and replicate use the parts through the accessors here.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};

use super::flushing::Flushing;
use super::future::FutureSlot;
use super::leadership::Leadership;
use super::lease::Lease;
use super::offsets::Offsets;
use super::readers::Readers;
use super::refusals::Refusals;
use crate::metrics::Meter;
use crate::planted;
use crate::published::topic_id::{NO_TOPIC_ID, TopicId};
use crate::requests::waiters::{WaitKind, Waiters};
use base::error::Result;
use base::place::Offset;
use storage::{Log, TopicPartition, Uuid};

/// See the module. The lease and the log's end change only under the log's lock.
pub struct Partition {
    name: TopicPartition,
    /// Unset while the log has no topic id.
    topic_id: OnceLock<TopicId>,
    log_dir: ArcSwap<PathBuf>,
    log: Mutex<Log>,
    future: FutureSlot,
    flushing: Flushing,
    leadership: Leadership,
    offsets: Offsets,
    waiters: Waiters,
    readers: Readers,
    refusals: Refusals,
    /// A bulk load is being adopted.
    is_adopting: AtomicBool,
    meter: Meter,
}

impl Partition {
    /// Wraps an open log. `high_watermark` comes from the checkpoint.
    pub fn new(node_id: i32, topic_id: TopicId, log_dir: PathBuf, log: Log, checkpoint: Offset) -> Self {
        let high_watermark = checkpoint.clamp(log.log_start_offset(), log.log_end_offset());
        let known = OnceLock::new();
        if topic_id != NO_TOPIC_ID {
            // The cell is new, so this is its first value.
            let _ = known.set(topic_id);
        }
        let name = log.topic_partition().clone();
        let partition = Self {
            leadership: Leadership::new(node_id, name.clone()),
            name,
            topic_id: known,
            log_dir: ArcSwap::from_pointee(log_dir),
            log: Mutex::new(log),
            future: FutureSlot::default(),
            flushing: Flushing::default(),
            offsets: Offsets::with_high_watermark(high_watermark),
            waiters: Waiters::default(),
            readers: Readers::default(),
            refusals: Refusals::default(),
            is_adopting: AtomicBool::new(false),
            meter: Meter::default(),
        };
        partition.publish_offsets(&partition.log.lock());
        partition
    }

    /// Adds the partition's counts to `meter`, that of its topic, from now on.
    #[must_use]
    pub fn counted_by(mut self, meter: Meter) -> Self {
        self.meter = meter;
        self
    }

    /// The counts of the partition's topic.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Topic and index.
    pub fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// Topic name.
    pub fn topic(&self) -> &Arc<str> {
        &self.name.topic
    }

    /// Partition index.
    pub fn index(&self) -> i32 {
        self.name.partition
    }

    /// Topic id; all zero while the log has none.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id.get().copied().unwrap_or(NO_TOPIC_ID)
    }

    /// Gives this topic id to a log that has none, since a power loss took `partition.metadata`. False when the log had
    /// a topic id.
    pub(crate) fn adopt_topic_id(&self, id: TopicId) -> Result<bool> {
        if self.topic_id.get().is_some() {
            return Ok(false);
        }
        self.log.lock().write_topic_id(Uuid(id))?;
        Ok(self.topic_id.set(id).is_ok())
    }

    /// The log directory (an entry of `log.dirs`) that has the partition now.
    pub fn log_dir(&self) -> Arc<PathBuf> {
        self.log_dir.load_full()
    }

    /// The partition has moved; the caller has the log's lock.
    pub(super) fn set_log_dir(&self, log_dir: PathBuf) {
        self.log_dir.store(Arc::new(log_dir));
    }

    /// The log, locked. For housekeeping and control-plane calls; never held over a wait.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }

    /// The lease, and what it allows.
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// The offsets that readers see.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// The watch lists.
    pub fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// The consumers that read here while this broker is a follower.
    pub fn readers(&self) -> &Readers {
        &self.readers
    }

    /// The state of the log's flushes.
    pub fn flushing(&self) -> &Flushing {
        &self.flushing
    }

    /// The place of the log that will take this log's place, while the partition moves.
    pub fn future(&self) -> &FutureSlot {
        &self.future
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    pub(super) fn is_adopting(&self) -> &AtomicBool {
        &self.is_adopting
    }

    /// Takes the partition out of service after a storage failure, and wakes all operations that wait for it.
    pub fn set_offline(&self) {
        self.leadership.set_offline(self.log_dir());
        self.wake_everyone();
        self.waiters.wake_all(WaitKind::LowWatermark);
    }

    /// Replaces the lease; `None` revokes. Wakes all waiters, since the event that they wait for may never come now. A
    /// follower has `max_lag` to catch up before it is out of sync.
    pub fn set_lease(&self, lease: Option<Lease>, max_lag: Duration, now: Instant) {
        {
            let mut log = self.log.lock();
            let node_id = self.leadership.node_id();
            let (old, high_watermark) = (self.leadership.load(), self.offsets.high_watermark());
            planted::cut_new_follower(&mut log, node_id, old.as_deref(), lease.as_ref(), high_watermark);
            drop(old);
            self.leadership.replace(lease, &mut log, max_lag, now);
            self.publish_offsets(&log);
        }
        self.wake_everyone();
        self.waiters.wake_all(WaitKind::LowWatermark);
    }

    /// Revokes the lease.
    pub fn revoke(&self) {
        self.set_lease(None, Duration::ZERO, Instant::now());
    }

    pub(super) fn wake_everyone(&self) {
        self.waiters.wake_all(WaitKind::Fetch);
        self.waiters.wake_all(WaitKind::Produce);
    }

    /// Recomputes the published offsets from the log and the lease. The caller has locked the log. Returns whether the
    /// high watermark has passed records that were there before, as it may whatever the caller has changed: a follower
    /// for which it waited has fallen behind since. Then everyone is to be woken once the log is unlocked.
    pub(super) fn publish_offsets(&self, log: &Log) -> bool {
        self.publish_offsets_under(self.leadership.load().as_ref(), log)
    }

    /// As [`Self::publish_offsets`], with a lease that the caller loaded while the log was locked.
    pub(super) fn publish_offsets_under(&self, lease: Option<&Arc<Lease>>, log: &Log) -> bool {
        let (start, end) = (log.log_start_offset(), log.log_end_offset());
        let (before, end_before) = (self.offsets.high_watermark(), self.offsets.log_end());
        let known = before.clamp(start, end);
        let high_watermark = self.leadership.high_watermark(lease, log, known, end);
        self.offsets.publish(log, high_watermark);
        before < high_watermark.min(end_before)
    }

    /// Publishes the offsets that a housekeeping call changed in the log, and wakes the operations that wait.
    pub fn refresh(&self) {
        self.publish_offsets(&self.log.lock());
        self.wake_everyone();
    }
}
