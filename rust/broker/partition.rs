//! One hosted partition: its log, its lease, its offsets and the requests that wait for it.
//!
//! Place: `produce`, `fetch` and the control plane's appends call a partition; a partition calls `storage::Log`.
//! Invariants: the lease and the log's end change only under the log's lock, so an append sees one lease from check to
//! write; `log_start ≤ last_stable ≤ high_watermark ≤ log_end`; the high watermark never moves back within a lease. It
//! knows no sockets and no clock, and decides nothing about leadership.

mod adopt;
mod append;
mod awaited;
mod closest;
mod describe;
mod flushing;
pub mod followers;
mod future;
mod leadership;
pub mod lease;
pub mod low_watermark;
mod message_set;
mod offsets;
mod read;
mod refusals;
mod replication;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};

use self::closest::Readers;
use self::flushing::Flushing;
use self::future::FutureSlot;
use self::leadership::Leadership;
use self::offsets::Offsets;
use self::refusals::Refusals;
use crate::metrics::Meter;
use crate::partition::lease::Lease;
use crate::published::registry::{NO_TOPIC_ID, TopicId};
use crate::requests::waiters::{WaitKind, Waiters};
use base::error::{Error, ErrorCode, Result};
use base::place::Offset;
use storage::{Log, Uuid};

pub use adopt::AdoptionTurn;
pub use append::Marker;
pub use awaited::Awaited;
pub use closest::ServedBy;
pub use describe::ProducerDescription;
pub use future::{FutureLog, MoveFailure, Moved};
pub use leadership::IsrSize;
pub use offsets::OffsetsView;
pub use read::{Isolation, ReadRequest, ReadResult};
pub use replication::{Cut, FetchPosition, Fetched, WantsFlush};

/// See the module.
pub struct Partition {
    topic: Arc<str>,
    /// Unset while the log has no topic id.
    topic_id: OnceLock<TopicId>,
    index: i32,
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
    is_offline: AtomicBool,
    meter: Meter,
}

impl Partition {
    /// Wraps an open log. `high_watermark` comes from the checkpoint.
    pub fn new(
        node_id: i32,
        topic: Arc<str>,
        topic_id: TopicId,
        index: i32,
        dir: PathBuf,
        log: Log,
        checkpoint: Offset,
    ) -> Self {
        let high_watermark = checkpoint.clamp(log.log_start_offset(), log.log_end_offset());
        let known = OnceLock::new();
        if topic_id != NO_TOPIC_ID {
            // The cell is new, so this is its first value.
            let _ = known.set(topic_id);
        }
        let partition = Self {
            topic,
            topic_id: known,
            index,
            log_dir: ArcSwap::from_pointee(dir),
            log: Mutex::new(log),
            future: FutureSlot::default(),
            flushing: Flushing::default(),
            leadership: Leadership::new(node_id),
            offsets: Offsets::with_high_watermark(high_watermark),
            waiters: Waiters::default(),
            readers: Readers::default(),
            refusals: Refusals::default(),
            is_adopting: AtomicBool::new(false),
            is_offline: AtomicBool::new(false),
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

    /// The broker that hosts it.
    pub fn node_id(&self) -> i32 {
        self.leadership.node_id()
    }

    /// Topic name.
    pub fn topic(&self) -> &Arc<str> {
        &self.topic
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

    /// Partition index.
    pub fn index(&self) -> i32 {
        self.index
    }

    /// The log directory (an entry of `log.dirs`) that has the partition now.
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

    /// The offsets now.
    pub fn offsets(&self) -> OffsetsView {
        self.offsets.view()
    }

    /// Whether its log directory failed.
    pub fn is_offline(&self) -> bool {
        self.is_offline.load(Ordering::Acquire)
    }

    /// Takes the partition out of service after a storage failure, and wakes all operations that wait for it.
    pub fn set_offline(&self) {
        self.is_offline.store(true, Ordering::Release);
        self.wake_everyone();
        self.waiters.wake_all(WaitKind::LowWatermark);
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

    /// Recomputes the published offsets from the log and the lease. The caller has locked the log. Returns whether the
    /// high watermark has passed records that were there before, as it may whatever the caller has changed: a follower
    /// for which it waited has fallen behind since. Then everyone is to be woken once the log is unlocked.
    fn publish_offsets(&self, log: &Log) -> bool {
        self.publish_offsets_under(self.leadership.lease().as_ref(), log)
    }

    /// As [`Self::publish_offsets`], with a lease that the caller loaded while the log was locked.
    fn publish_offsets_under(&self, lease: Option<&Arc<Lease>>, log: &Log) -> bool {
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

#[cfg(test)]
mod tests;
