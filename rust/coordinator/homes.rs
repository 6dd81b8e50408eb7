//! [`Homes`]: the partitions of an internal topic that this broker coordinates, as the control plane published them;
//! each with the state that its log yields.
//!
//! Place: requests find the home of their key here; the control plane begins, activates and closes homes,
//! [`Homes::fold`] reads the log. After a partition is closed or begun anew, it has another [`Home`]: a request or a
//! load that still holds the earlier home does no harm. Locks: a home's state before its partition's log. This module
//! does not know the kind of the state, and never decides which broker coordinates a partition.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};

use super::partitioning::partition_for;
use base::error::{Error, ErrorCode, Result};
use base::place::LeaderEpoch;
use broker::{Broker, Partition, WaitKind, read_batches};
use record::{Batch, BatchError, Batches};

/// Bytes of a log that a load reads at once.
pub const READ_BYTES: usize = 1 << 20;
/// How often the progress of a load is logged.
const SAY_EVERY: Duration = Duration::from_secs(5);

/// A partition that this broker leads, and its state.
pub struct Home<S> {
    /// The number of the load; unique among the homes of this broker.
    pub number: u64,
    /// The partition that has its records.
    pub partition: Arc<Partition>,
    /// The leader epoch under which the home was loaded; under another leader epoch another broker may have changed the
    /// state.
    pub leader_epoch: LeaderEpoch,
    is_active: AtomicBool,
    /// Another home took its place, or none.
    is_replaced: AtomicBool,
    /// The end of the log that was loaded.
    loaded_to: AtomicI64,
    state: Mutex<S>,
}

impl<S> Home<S> {
    /// Whether all that was loaded is on all in-sync replicas. Before, another leader may come that lacks some of it.
    pub fn is_replicated(&self) -> bool {
        self.partition.offsets().high_watermark().get() >= self.loaded_to.load(Ordering::Acquire)
    }

    /// Whether this broker leads, and some of what was loaded is not on all in-sync replicas yet.
    pub fn waits_for_replicas(&self) -> bool {
        !self.is_replicated() && self.partition.leadership().leading(self.leader_epoch).is_ok()
    }

    /// The state for a request; `NOT_COORDINATOR` when another broker may have led the partition since the load.
    /// `settle` runs first, under the lock.
    pub fn serve(&self, settle: impl FnOnce(&mut S)) -> Result<MutexGuard<'_, S>, ErrorCode> {
        if !self.is_active.load(Ordering::Acquire) {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        let mut state = self.state.lock();
        settle(&mut state);
        if self.partition.leadership().leading(self.leader_epoch).is_err() {
            return Err(ErrorCode::NOT_COORDINATOR);
        }
        Ok(state)
    }

    /// Whether this is still the home of its partition.
    pub fn is_current(&self) -> bool {
        !self.is_replaced.load(Ordering::Acquire)
    }

    /// The state without these checks.
    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock()
    }
}

/// See the module.
pub struct Homes<S> {
    topic: &'static str,
    by_index: ArcSwap<HashMap<i32, Arc<Home<S>>>>,
    writer: Mutex<()>,
    last_number: AtomicU64,
    is_stopped: AtomicBool,
}

impl<S: Default> Homes<S> {
    /// The homes of an internal topic; none so far.
    pub fn new(topic: &'static str) -> Self {
        Self {
            topic,
            by_index: ArcSwap::default(),
            writer: Mutex::default(),
            last_number: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// The home of a key, or the error for requests of that key.
    pub fn find(&self, broker: &Broker, key: &str) -> Result<Arc<Home<S>>, ErrorCode> {
        if self.is_stopped.load(Ordering::Acquire) {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        let index = broker
            .image()
            .load()
            .topic(self.topic)
            .map(|topic| partition_for(key, topic));
        index.and_then(|index| self.of(index)).ok_or(ErrorCode::NOT_COORDINATOR)
    }

    /// The home of a partition, if this broker coordinates it.
    pub fn of(&self, index: i32) -> Option<Arc<Home<S>>> {
        self.by_index.load().get(&index).cloned()
    }

    /// All homes as they are now, by partition.
    pub fn all(&self) -> Arc<HashMap<i32, Arc<Home<S>>>> {
        self.by_index.load_full()
    }

    fn change(&self, edit: impl FnOnce(&mut HashMap<i32, Arc<Home<S>>>)) {
        let _writer = self.writer.lock();
        let mut homes = HashMap::clone(&self.by_index.load());
        edit(&mut homes);
        self.by_index.store(Arc::new(homes));
    }

    /// Runs `act` if the partition has no home; a home that is begun meanwhile is begun after it.
    pub fn while_absent<T>(&self, index: i32, act: impl FnOnce() -> T) -> Option<T> {
        let _writer = self.writer.lock();
        self.of(index).is_none().then(act)
    }

    // ---- the control plane's calls

    /// Begins a home for a partition that this broker leads; requests for its keys get `COORDINATOR_LOAD_IN_PROGRESS`.
    /// Returns the number of this load.
    ///
    /// # Errors
    /// `NOT_LEADER_OR_FOLLOWER` when this broker does not lead the partition any more.
    pub fn begin(&self, broker: &Broker, index: i32) -> Result<u64> {
        let partition = broker.partition(self.topic, index)?;
        let leader_epoch = partition.leadership().leading(LeaderEpoch::NONE)?.leader_epoch;
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let home = Home {
            number,
            partition,
            leader_epoch,
            is_active: AtomicBool::new(false),
            is_replaced: AtomicBool::new(false),
            loaded_to: AtomicI64::new(0),
            state: Mutex::default(),
        };
        self.replace(index, Some(Arc::new(home)));
        Ok(number)
    }

    /// Serves requests from now on: the partition is loaded, and the control plane has built its groups from it.
    pub fn activate(&self, index: i32, number: u64) {
        if let Some(home) = self.of(index).filter(|home| home.number == number) {
            home.is_active.store(true, Ordering::Release);
        }
    }

    /// Removes the home of a partition that another broker leads now.
    pub fn close(&self, index: i32) {
        self.replace(index, None);
    }

    /// Wakes the requests that wait for the home before: they get an error.
    fn replace(&self, index: i32, home: Option<Arc<Home<S>>>) {
        let mut before = None;
        self.change(|homes| {
            before = match home {
                Some(home) => homes.insert(index, home),
                None => homes.remove(&index),
            };
            if let Some(before) = &before {
                before.is_replaced.store(true, Ordering::Release);
            }
        });
        if let Some(before) = before {
            before.partition.waiters().wake_all(WaitKind::Produce);
        }
    }

    /// Stops serving requests, since the broker stops.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }

    /// Reads a home's log from its start to its end, batch by batch. False when the home was closed, or begun anew,
    /// before the end.
    ///
    /// # Errors
    /// Errors of the disk and of reading the log; `CORRUPT_MESSAGE` for a batch that cannot be read.
    pub fn fold(
        &self,
        broker: &Broker,
        home: &Home<S>,
        mut apply: impl FnMut(&Batch<'_>) -> Result<(), BatchError>,
    ) -> Result<bool> {
        let offsets = home.partition.offsets().view();
        let (mut next, end) = (offsets.log_start, offsets.log_end);
        home.loaded_to.store(end.get(), Ordering::Release);
        let mut bytes = Vec::new();
        let mut say_at = Instant::now() + SAY_EVERY;
        while next < end {
            read_batches(&home.partition, next, end, READ_BYTES, &mut bytes)?;
            let before = next;
            for batch in Batches::new(&bytes) {
                let batch = batch.map_err(|error| corrupt(&error))?;
                apply(&batch).map_err(|error| corrupt(&error))?;
                next = batch.header().next_offset();
            }
            if next <= before {
                break;
            }
            if Instant::now() >= say_at {
                say_at += SAY_EVERY;
                let (done, all) = (next - offsets.log_start, end - offsets.log_start);
                let (topic, index) = (self.topic, home.partition.index());
                broker.log(&format!("loading {topic}-{index}: {done} of {all} offsets"));
            }
            if !home.is_current() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn corrupt(error: &BatchError) -> Error {
    Error::rejected(ErrorCode::CORRUPT_MESSAGE, error.to_string())
}

#[cfg(test)]
#[path = "homes_tests.rs"]
mod tests;
