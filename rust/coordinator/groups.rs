//! [`Groups`]: the partitions of `__consumer_offsets` whose groups this broker coordinates, as the control plane published them.
//!
//! Place: requests find the partition of their group here; the control plane begins, loads, activates and closes partitions. A
//! partition that is closed, or begun anew, is another [`Home`]: a request or a load that still holds the one before does no harm.
//! Locks: a shard's before its partition's log. Never: decides who coordinates what.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};

use super::partitioning::partition_for;
use super::shard::Shard;
use crate::broker::{Broker, Event, Partition, Waiter};
use crate::error::{ErrorCode, Result};
use crate::record::Codec;

/// The topic that keeps groups and their offsets.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// A session that ends this much earlier than the next timer is not worth waking a loop for.
const TIMER_GRAIN: Duration = Duration::from_millis(50);

/// The broker's configuration of groups, as far as requests depend on it.
#[derive(Debug, Clone, Copy)]
pub struct GroupSettings {
    /// `offset.metadata.max.bytes`: UTF-16 code units, as Kafka counts them.
    pub offset_metadata_max_bytes: usize,
    /// `offsets.commit.timeout.ms`.
    pub commit_timeout: Duration,
    /// `offsets.topic.compression.codec`.
    pub codec: Codec,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self {
            offset_metadata_max_bytes: 4096,
            commit_timeout: Duration::from_secs(5),
            codec: Codec::None,
        }
    }
}

/// A partition of `__consumer_offsets` that this broker leads.
pub struct Home {
    /// Unique among those of this broker.
    pub number: u64,
    /// Where its records are.
    pub partition: Arc<Partition>,
    /// The leader epoch under which it was loaded; under another one its groups may have changed elsewhere.
    pub leader_epoch: i32,
    is_active: AtomicBool,
    shard: Mutex<Shard>,
}

impl Home {
    /// Its groups with what is durable; `NOT_COORDINATOR` when another broker may have had them.
    pub fn groups(&self, broker: &Broker) -> Result<MutexGuard<'_, Shard>, ErrorCode> {
        if !self.is_active.load(Ordering::Acquire) {
            return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
        }
        let groups = self.settled(broker);
        if self.partition.leading(self.leader_epoch).is_err() {
            return Err(ErrorCode::NOT_COORDINATOR);
        }
        Ok(groups)
    }

    /// The same for whoever knows that it may.
    pub fn settled(&self, broker: &Broker) -> MutexGuard<'_, Shard> {
        let mut shard = self.shard.lock();
        self.settle(&mut shard, broker);
        shard
    }

    /// Folds what has become durable into its groups.
    pub fn settle(&self, shard: &mut Shard, broker: &Broker) {
        shard.settle(self.partition.offsets().high_watermark);
        self.report(shard, broker);
    }

    /// As it is, not settled.
    pub fn lock(&self) -> MutexGuard<'_, Shard> {
        self.shard.lock()
    }

    /// Tells the control plane of groups that came by their first commit.
    pub fn report(&self, shard: &mut Shard, broker: &Broker) {
        let created = shard.take_created();
        if !created.is_empty() && super::groups(broker).has(self) {
            let index = self.partition.index();
            broker.events.push(Event::GroupsCreated { index, groups: created });
        }
    }
}

/// See the module.
pub struct Groups {
    homes: ArcSwap<HashMap<i32, Arc<Home>>>,
    writer: Mutex<()>,
    last_number: AtomicU64,
    settings: ArcSwap<GroupSettings>,
    is_stopped: AtomicBool,
    begin: Instant,
    /// Microseconds after `begin` at which a session may be over; the greatest while there is none.
    next_timer: AtomicU64,
    timekeeper: OnceLock<Waiter>,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            homes: ArcSwap::default(),
            writer: Mutex::default(),
            last_number: AtomicU64::new(0),
            settings: ArcSwap::default(),
            is_stopped: AtomicBool::new(false),
            begin: Instant::now(),
            next_timer: AtomicU64::new(u64::MAX),
            timekeeper: OnceLock::new(),
        }
    }
}

impl Groups {
    /// The configuration now.
    pub fn settings(&self) -> GroupSettings {
        **self.settings.load()
    }

    /// Replaces the configuration.
    pub fn configure(&self, settings: GroupSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// Serves no more: the broker stops.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }

    /// Where a group is kept, or what its requests are answered.
    pub fn home(&self, broker: &Broker, group_id: &str) -> Result<Arc<Home>, ErrorCode> {
        if self.is_stopped.load(Ordering::Acquire) {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        let count = broker
            .image
            .load()
            .topic(OFFSETS_TOPIC)
            .map(|topic| topic.partitions.len());
        let Some(count) = count.and_then(|count| i32::try_from(count).ok()) else {
            return Err(ErrorCode::NOT_COORDINATOR);
        };
        self.of(partition_for(group_id, count))
            .ok_or(ErrorCode::NOT_COORDINATOR)
    }

    /// A partition that is coordinated here.
    pub fn of(&self, index: i32) -> Option<Arc<Home>> {
        self.homes.load().get(&index).cloned()
    }

    /// Whether a home is one still.
    pub fn has(&self, home: &Home) -> bool {
        self.of(home.partition.index())
            .is_some_and(|now| now.number == home.number)
    }

    fn change(&self, edit: impl FnOnce(&mut HashMap<i32, Arc<Home>>)) {
        let _writer = self.writer.lock();
        let mut homes = HashMap::clone(&self.homes.load());
        edit(&mut homes);
        self.homes.store(Arc::new(homes));
    }

    // ---- the control plane's calls

    /// This broker leads a partition: requests for its groups are told that they load. The number of this load.
    ///
    /// # Errors
    /// `NOT_LEADER_OR_FOLLOWER` when it does not lead it any more.
    pub fn begin(&self, broker: &Broker, index: i32) -> Result<u64> {
        let partition = broker.partition(OFFSETS_TOPIC, index)?;
        let leader_epoch = partition.leading(-1)?.leader_epoch;
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let home = Home {
            number,
            partition,
            leader_epoch,
            is_active: AtomicBool::new(false),
            shard: Mutex::default(),
        };
        self.change(|homes| {
            homes.insert(index, Arc::new(home));
        });
        Ok(number)
    }

    /// The partition is loaded and its groups have their leases: they are served from now on.
    pub fn activate(&self, index: i32, number: u64) {
        if let Some(home) = self.of(index).filter(|home| home.number == number) {
            home.is_active.store(true, Ordering::Release);
        }
    }

    /// Another broker has the partition.
    pub fn close(&self, index: i32) {
        self.change(|homes| {
            homes.remove(&index);
        });
    }

    // ---- sessions

    /// Who is woken when a session may be over earlier than it knows.
    pub fn set_timekeeper(&self, waiter: Waiter) {
        // The first network loop keeps the time; there is one server for each `Groups`.
        let _ = self.timekeeper.set(waiter);
    }

    /// When sessions are to be looked at.
    pub fn next_timer(&self) -> Option<Instant> {
        let micros = self.next_timer.load(Ordering::Acquire);
        (micros != u64::MAX).then(|| self.begin + Duration::from_micros(micros))
    }

    /// Sessions of a shard may be over when its first timer comes up.
    pub fn note_timers(&self, shard: &Shard) {
        if let Some(at) = shard.next_timer() {
            self.note_timer(at);
        }
    }

    /// A session may be over at this time.
    pub fn note_timer(&self, at: Instant) {
        let micros =
            |at: Instant| u64::try_from(at.saturating_duration_since(self.begin).as_micros()).unwrap_or(u64::MAX);
        let before = self.next_timer.fetch_min(micros(at), Ordering::AcqRel);
        if micros(at + TIMER_GRAIN) < before
            && let Some(waiter) = self.timekeeper.get()
        {
            waiter.owner.wake(waiter.operation);
        }
    }

    /// Tells the control plane whose session is over, all in one event.
    pub fn expire_sessions(&self, broker: &Broker, now: Instant) {
        if self.next_timer().is_none_or(|at| at > now) {
            return;
        }
        self.next_timer.store(u64::MAX, Ordering::Release);
        let mut expired = Vec::new();
        for (index, home) in self.homes.load().iter() {
            let mut shard = home.lock();
            let of_home = |(group_id, member_id)| (*index, home.number, group_id, member_id);
            expired.extend(shard.take_expired(now).into_iter().map(of_home));
            self.note_timers(&shard);
        }
        if !expired.is_empty() {
            broker.events.push(Event::SessionsExpired(expired));
        }
    }
}
