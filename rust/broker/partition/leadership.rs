//! The leadership of a partition: its lease, this broker's terms as its leader, and the followers while this broker
//! leads.
//!
//! The lease changes only under the log's lock, so an append sees one lease from check to write. It is replaced whole,
//! and read without a lock. A thread that locks both the log and the followers locks the log first.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwapOption, Guard};
use parking_lot::{Mutex, MutexGuard};

use super::{Partition, WaitKind};
use crate::partition::followers::Followers;
use crate::partition::lease::Lease;
use crate::planted;
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use storage::Log;

/// See the module.
pub(super) struct Leadership {
    node_id: i32,
    lease: ArcSwapOption<Lease>,
    /// How often this broker has begun to lead; changes before the lease does, under the log's lock. Records that were
    /// appended in an earlier term may have been cut off since.
    term: AtomicU64,
    /// Earlier leaders appended the records before this offset.
    term_start: AtomicI64,
    /// Set while this broker leads and other replicas are assigned.
    followers: Mutex<Option<Followers>>,
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
    pub(super) fn new(node_id: i32) -> Self {
        Self {
            node_id,
            lease: ArcSwapOption::empty(),
            term: AtomicU64::new(0),
            term_start: AtomicI64::new(0),
            followers: Mutex::new(None),
        }
    }

    pub(super) fn node_id(&self) -> i32 {
        self.node_id
    }

    /// The lease now; cheaper than [`Partition::lease`].
    pub(super) fn lease(&self) -> Guard<Option<Arc<Lease>>> {
        self.lease.load()
    }

    /// The lease, if it makes this broker the leader.
    pub(super) fn led<'a>(&self, lease: Option<&'a Arc<Lease>>) -> Option<&'a Arc<Lease>> {
        lease.filter(|lease| lease.leader == self.node_id)
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
    fn replace(&self, lease: Option<Lease>, log: &mut Log, max_lag: Duration, now: Instant) {
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

impl Partition {
    /// The lease now.
    pub fn lease(&self) -> Option<Arc<Lease>> {
        self.leadership.lease.load_full()
    }

    /// Revokes the lease.
    pub fn revoke(&self) {
        self.set_lease(None, Duration::ZERO, Instant::now());
    }

    /// Replaces the lease; `None` revokes. Wakes all waiters, since the event that they wait for may never come now. A
    /// follower has `max_lag` to catch up before it is out of sync.
    pub fn set_lease(&self, lease: Option<Lease>, max_lag: Duration, now: Instant) {
        {
            let mut log = self.log.lock();
            let (old, high_watermark) = (self.leadership.lease(), self.offsets.high_watermark());
            planted::cut_new_follower(
                &mut log,
                self.node_id(),
                (old.as_deref(), lease.as_ref()),
                high_watermark,
            );
            self.leadership.replace(lease, &mut log, max_lag, now);
            self.publish_offsets(&log);
        }
        self.wake_everyone();
        self.waiters.wake_all(WaitKind::LowWatermark);
    }

    /// The lease, if it makes this broker the leader and the client's epoch agrees.
    pub fn leading(&self, current_leader_epoch: LeaderEpoch) -> Result<Arc<Lease>> {
        let lease = self.leadership.lease();
        self.leading_by(lease.as_ref(), current_leader_epoch).map(Arc::clone)
    }

    /// As [`Self::leading`], for a lease that the caller has loaded.
    pub(super) fn leading_by<'a>(
        &self,
        lease: Option<&'a Arc<Lease>>,
        current_leader_epoch: LeaderEpoch,
    ) -> Result<&'a Arc<Lease>> {
        self.check_online()?;
        match self.leadership.led(lease) {
            Some(lease) => {
                lease.check_epoch(current_leader_epoch)?;
                Ok(lease)
            }
            None => Err(self.not_leading()),
        }
    }

    #[cold]
    pub(super) fn not_leading(&self) -> Error {
        let message = format!("this broker does not lead {}-{}", self.topic, self.index);
        Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message)
    }

    /// The leader and leader epoch for the answer to a refused client (KIP-951).
    pub fn current_leader(&self) -> Option<(i32, LeaderEpoch)> {
        self.leadership.lease().as_ref().map(|l| (l.leader, l.leader_epoch))
    }
}
