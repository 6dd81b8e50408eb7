//! The leadership of a partition: its lease, this broker's terms as its leader, the followers while this broker leads,
//! and what the lease allows.
//!
//! The lease changes only under the log's lock, so an append sees one lease from check to write. It is replaced whole,
//! and read without a lock. A thread that locks both the log and the followers locks the log first. Nothing is allowed
//! once the log directory has failed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwapOption, Guard};
use parking_lot::{Mutex, MutexGuard};

use crate::partition::followers::Followers;
use crate::partition::lease::Lease;
use crate::planted;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use storage::{Log, TopicPartition};

/// Which replicas may serve a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedBy {
    /// The leader alone: followers, and consumers before version 11.
    Leader,
    /// Any replica.
    AnyReplica,
}

/// See the module.
pub struct Leadership {
    /// For messages.
    partition: TopicPartition,
    node_id: i32,
    lease: ArcSwapOption<Lease>,
    /// How often this broker has begun to lead; changes before the lease does, under the log's lock. Records that were
    /// appended in an earlier term may have been cut off since.
    term: AtomicU64,
    /// Earlier leaders appended the records before this offset.
    term_start: AtomicI64,
    /// Set while this broker leads and other replicas are assigned.
    followers: Mutex<Option<Followers>>,
    /// The log directory that has failed.
    failed_log_dir: OnceLock<Arc<PathBuf>>,
}

/// How many replicas of a partition that this broker leads are in sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsrSize {
    /// Assigned.
    pub replicas: usize,
    /// In sync.
    pub members: usize,
    /// In-sync replicas that `acks=all` needs.
    pub least: usize,
}

impl IsrSize {
    pub(super) fn of(lease: &Lease, min_insync_replicas: i32) -> Self {
        Self {
            replicas: lease.replicas.len(),
            members: lease.in_sync_replicas.len(),
            least: needed(min_insync_replicas, lease),
        }
    }
}

/// In-sync replicas that `acks=all` needs: `min.insync.replicas`, or all when there are fewer (KIP-966).
pub(super) fn min_in_sync_replicas(log: &Log, lease: &Lease) -> usize {
    needed(log.config().min_insync_replicas, lease)
}

fn needed(min_insync_replicas: i32, lease: &Lease) -> usize {
    let wanted = usize::try_from(min_insync_replicas).unwrap_or(1);
    wanted.min(lease.replicas.len())
}

impl Leadership {
    /// The leadership of a partition without a lease, on this broker.
    pub(super) fn new(node_id: i32, partition: TopicPartition) -> Self {
        Self {
            partition,
            node_id,
            lease: ArcSwapOption::empty(),
            term: AtomicU64::new(0),
            term_start: AtomicI64::new(0),
            followers: Mutex::new(None),
            failed_log_dir: OnceLock::new(),
        }
    }

    /// The broker that hosts the partition.
    pub fn node_id(&self) -> i32 {
        self.node_id
    }

    /// The lease now.
    pub fn lease(&self) -> Option<Arc<Lease>> {
        self.lease.load_full()
    }

    /// The lease now; cheaper than [`Self::lease`].
    pub(super) fn load(&self) -> Guard<Option<Arc<Lease>>> {
        self.lease.load()
    }

    /// The lease, if it makes this broker the leader.
    pub(super) fn led<'a>(&self, lease: Option<&'a Arc<Lease>>) -> Option<&'a Arc<Lease>> {
        lease.filter(|lease| lease.leader == self.node_id)
    }

    /// The leader and leader epoch for the answer to a refused client (KIP-951).
    pub fn current_leader(&self) -> Option<(i32, LeaderEpoch)> {
        self.load().as_ref().map(|l| (l.leader, l.leader_epoch))
    }

    /// Whether this broker's replica is in sync by its lease.
    pub fn is_in_sync(&self) -> bool {
        let lease = self.load();
        lease
            .as_ref()
            .is_some_and(|lease| lease.in_sync_replicas.contains(&self.node_id))
    }

    /// Whether the log directory failed.
    pub fn is_offline(&self) -> bool {
        self.failed_log_dir.get().is_some()
    }

    pub(super) fn set_offline(&self, log_dir: Arc<PathBuf>) {
        // A log directory that has failed stays so; the first call counts.
        let _ = self.failed_log_dir.set(log_dir);
    }

    pub(super) fn check_online(&self) -> Result<()> {
        let Some(log_dir) = self.failed_log_dir.get() else {
            return Ok(());
        };
        Err(Error::rejected(
            ErrorCode::KAFKA_STORAGE_ERROR,
            format!(
                "the log directory {} of {} is offline",
                log_dir.display(),
                self.partition
            ),
        ))
    }

    pub(super) fn term(&self) -> u64 {
        self.term.load(Ordering::Acquire)
    }

    pub(super) fn term_start(&self) -> Offset {
        Offset(self.term_start.load(Ordering::Acquire))
    }

    pub(super) fn followers(&self) -> MutexGuard<'_, Option<Followers>> {
        self.followers.lock()
    }

    /// The lease, if it makes this broker the leader and the client's epoch agrees.
    pub fn leading(&self, current_leader_epoch: LeaderEpoch) -> Result<Arc<Lease>> {
        self.leading_by(self.load().as_ref(), current_leader_epoch)
            .map(Arc::clone)
    }

    /// As [`Self::leading`], for a lease that the caller has loaded.
    pub(super) fn leading_by<'a>(
        &self,
        lease: Option<&'a Arc<Lease>>,
        current_leader_epoch: LeaderEpoch,
    ) -> Result<&'a Arc<Lease>> {
        self.check_online()?;
        match self.led(lease) {
            Some(lease) => {
                lease.check_epoch(current_leader_epoch)?;
                Ok(lease)
            }
            None => Err(self.refused("does not lead")),
        }
    }

    #[cold]
    fn refused(&self, what: &str) -> Error {
        let message = format!("this broker {what} {}", self.partition);
        Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message)
    }

    /// The loaded lease, if it allows an append with these `acks`.
    pub(super) fn admitting<'a>(&self, log: &Log, lease: Option<&'a Arc<Lease>>, acks: i16) -> Result<&'a Arc<Lease>> {
        let lease = self.leading_by(lease, LeaderEpoch::NONE)?;
        let (in_sync, needed) = (lease.in_sync_replicas.len(), min_in_sync_replicas(log, lease));
        if acks == -1 && in_sync < needed {
            return Err(Error::rejected(
                ErrorCode::NOT_ENOUGH_REPLICAS,
                format!(
                    "{} has {in_sync} in-sync replicas, min.insync.replicas is {needed}",
                    self.partition
                ),
            ));
        }
        Ok(lease)
    }

    /// Whether this broker may serve a reader with that leader epoch; true when it does so as a follower.
    pub fn check_reader(&self, current_leader_epoch: LeaderEpoch, served_by: ServedBy) -> Result<bool> {
        self.check_online()?;
        let lease = self.load();
        let Some(lease) = lease.as_deref() else {
            return Err(self.refused("does not serve"));
        };
        lease.check_epoch(current_leader_epoch)?;
        if lease.leader == self.node_id {
            return Ok(false);
        }
        // Without a leader this may be a replica that was stopped, which would never get new records.
        if served_by == ServedBy::AnyReplica && lease.source_for(self.node_id).is_some() {
            return Ok(true);
        }
        Err(self.refused("does not serve"))
    }

    /// Whether the lease has this broker follow in that leader epoch.
    pub(super) fn check_following(&self, leader_epoch: LeaderEpoch) -> Result<()> {
        let is_follower = |l: &Lease| l.leader != self.node_id && l.leader_epoch == leader_epoch;
        if self.load().as_deref().is_some_and(is_follower) {
            return Ok(());
        }
        let message = format!(
            "{} does not follow in leader epoch {leader_epoch} any more",
            self.partition
        );
        Err(Error::rejected(ErrorCode::FENCED_LEADER_EPOCH, message))
    }

    /// The broker among those `near` a consumer to which this leader sends it. `None` when this broker is a follower,
    /// or when the consumer should read from the leader.
    pub fn closest_replica(&self, near: &[i32], offset: Offset) -> Option<i32> {
        self.followers().as_ref()?.closest(near, offset)
    }

    /// The low watermark: the least log start of this leader, whose log starts at `log_start`, and of its live
    /// followers. -1 while one of them has not fetched.
    pub fn low_watermark(&self, log_start: Offset, is_alive: impl Fn(i32) -> bool) -> Result<Offset> {
        let lease = self.leading(LeaderEpoch::NONE)?;
        match &*self.followers() {
            Some(followers) => Ok(followers.low_watermark(log_start, is_alive)),
            None if lease.replicas.len() == 1 => Ok(log_start),
            // A change of leadership removes the followers before it replaces the lease.
            None => Err(self.refused("does not lead")),
        }
    }

    /// Whether the high watermark has reached the start of this leader's epoch: until then the records that an earlier
    /// leader committed may end above it (KIP-207).
    pub fn is_end_known(&self, high_watermark: Offset) -> bool {
        let followers = self.followers();
        followers
            .as_ref()
            .is_none_or(|known| known.epoch_start() <= high_watermark)
    }

    /// The high watermark of a log that ends at `log_end`. It is `known` when the lease does not make this broker the
    /// leader.
    pub(super) fn high_watermark(
        &self,
        lease: Option<&Arc<Lease>>,
        log: &Log,
        known: Offset,
        log_end: Offset,
    ) -> Offset {
        let Some(lease) = self.led(lease) else { return known };
        let required = planted::required_in_sync(min_in_sync_replicas(log, lease));
        match &*self.followers.lock() {
            Some(followers) => followers.high_watermark(known, log_end, required),
            None => log_end,
        }
    }

    /// Replaces the lease; the caller has the log's lock.
    pub(super) fn replace(&self, lease: Option<Lease>, log: &mut Log, max_lag: Duration, now: Instant) {
        let leading = lease.as_ref().filter(|lease| lease.leader == self.node_id);
        if let Some(lease) = leading {
            log.begin_epoch(lease.leader_epoch);
            if self.led(self.lease.load().as_ref()).is_none() {
                self.term.fetch_add(1, Ordering::AcqRel);
                self.term_start.store(log.log_end_offset().get(), Ordering::Release);
            }
        }
        self.take_followers(leading, log.log_end_offset(), max_lag, now);
        self.lease.store(lease.map(Arc::new));
    }

    /// Sets the followers for a new lease. Within the same leader epoch the state of the followers is kept.
    fn take_followers(&self, leading: Option<&Lease>, log_end: Offset, max_lag: Duration, now: Instant) {
        let mut followers = self.followers.lock();
        match (leading, followers.as_mut()) {
            (Some(lease), Some(known)) if known.is_of(lease) && lease.replicas.len() > 1 => known.renew(lease, now),
            (Some(lease), _) if lease.replicas.len() > 1 => {
                *followers = Some(Followers::new(self.node_id, lease, log_end, max_lag, now));
            }
            _ => *followers = None,
        }
    }
}
