//! [`Groups`]: the partitions of `__consumer_offsets` whose groups this broker coordinates, as the control plane
//! published them.
//!
//! Place: [`Homes`] has what every coordinator needs; this module adds what groups need: their configuration, the
//! events for groups that a commit creates, and the time when sessions end. It never decides which broker coordinates a
//! group.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::MutexGuard;

use super::homes::{Home, Homes};
use super::shard::Shard;
use base::error::ErrorCode;
use broker::{Broker, Event, Waiter};
use record::Codec;

/// The topic that keeps groups and their offsets.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// A session that ends less than this before the next timer does not wake the network loop.
const TIMER_GRAIN: Duration = Duration::from_millis(50);

/// The part of the broker's configuration of groups on which requests depend.
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
pub type GroupHome = Home<Shard>;

impl GroupHome {
    /// The groups with all durable changes folded; `NOT_COORDINATOR` when another broker may have led the partition
    /// since the load.
    pub fn shard(&self, broker: &Broker) -> Result<MutexGuard<'_, Shard>, ErrorCode> {
        self.serve(|shard| self.settle(shard, broker))
    }

    /// As [`Self::shard`], without the checks.
    pub fn settled(&self, broker: &Broker) -> MutexGuard<'_, Shard> {
        let mut shard = self.lock();
        self.settle(&mut shard, broker);
        shard
    }

    /// Folds the changes that have become durable into the groups.
    pub fn settle(&self, shard: &mut Shard, broker: &Broker) {
        shard.settle(self.partition.offsets().high_watermark());
        self.report(shard, broker);
    }

    /// Sends the control plane the groups that a first commit created.
    pub fn report(&self, shard: &mut Shard, broker: &Broker) {
        let created = shard.take_created();
        if !created.is_empty() && self.is_current() {
            let index = self.partition.index();
            broker.events().push(Event::GroupsCreated { index, groups: created });
        }
    }
}

/// See the module.
pub struct Groups {
    /// The partitions.
    pub homes: Homes<Shard>,
    settings: ArcSwap<GroupSettings>,
    begin: Instant,
    /// Microseconds after `begin` at which a session may be over; the greatest while there is none.
    next_timer: AtomicU64,
    timekeeper: OnceLock<Waiter>,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            homes: Homes::new(OFFSETS_TOPIC),
            settings: ArcSwap::default(),
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

    // ---- sessions

    /// Sets the waiter that is woken when a session may be over earlier than the next timer.
    pub fn set_timekeeper(&self, waiter: Waiter) {
        // The first network loop keeps the time; there is one server for each `Groups`.
        let _ = self.timekeeper.set(waiter);
    }

    /// When [`Self::expire_sessions`] must be called next.
    pub fn next_timer(&self) -> Option<Instant> {
        let micros = self.next_timer.load(Ordering::Acquire);
        (micros != u64::MAX).then(|| self.begin + Duration::from_micros(micros))
    }

    /// Notes the first timer of a shard, at which a session may be over.
    pub fn note_timers(&self, shard: &Shard) {
        if let Some(at) = shard.next_timer() {
            self.note_timer(at);
        }
    }

    /// Notes that a session may be over at this time.
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

    /// Reports the members whose sessions are over to the control plane, in one event.
    pub fn expire_sessions(&self, broker: &Broker, now: Instant) {
        if self.next_timer().is_none_or(|at| at > now) {
            return;
        }
        self.next_timer.store(u64::MAX, Ordering::Release);
        let mut expired = Vec::new();
        for (index, home) in self.homes.all().iter() {
            let mut shard = home.lock();
            let of_home = |(group_id, member_id)| (*index, home.number, group_id, member_id);
            expired.extend(shard.take_expired(now).into_iter().map(of_home));
            self.note_timers(&shard);
        }
        if !expired.is_empty() {
            broker.events().push(Event::SessionsExpired(expired));
        }
    }
}
