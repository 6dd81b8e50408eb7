//! The state that a leader keeps of its partition's followers. It determines the high watermark and the followers that
//! are in sync.
//!
//! One [`Followers`] lives as long as one leader epoch. A follower's last fetch gives its log end. Before its first
//! fetch in this epoch its log end is unknown, and an in-sync follower with an unknown log end keeps the high watermark
//! from moving. At most one change of the in-sync set is under way; until the controller answers, the high watermark
//! waits for both sets (*maximal ISR*), since the controller may have written the new set already. Times are passed in.
//! It decides nothing about leadership, reads no log and sends nothing: the control plane gets the proposed change and
//! asks the controller.

use std::time::{Duration, Instant};

use crate::partition::lease::Lease;
use base::place::{LeaderEpoch, Offset};

/// How long a follower that the controller refused is not proposed again. A follower may fetch thousands of times a
/// second, and after this time the controller knows a broker that has just come back.
const REFUSED_FOR: Duration = Duration::from_millis(500);

/// A follower's fetch, as its leader notes it.
#[derive(Debug, Clone, Copy)]
pub struct FollowerFetch {
    /// The follower's node id.
    pub node_id: i32,
    /// The broker epoch of the follower, or -1.
    pub broker_epoch: i64,
    /// The leader epoch that the follower fetched in, or -1.
    pub leader_epoch: LeaderEpoch,
    /// Where its log starts, or -1.
    pub log_start: Offset,
    /// Where its log ends.
    pub log_end: Offset,
}

/// One follower.
#[derive(Debug, Clone, Copy)]
struct Follower {
    node_id: i32,
    /// Where its log ends; `None` before its first fetch in this epoch.
    log_end: Option<Offset>,
    /// Where its log starts, -1 when its fetches do not say.
    log_start: Offset,
    /// The broker epoch of its last fetch, -1 when its fetches do not say (KIP-903).
    broker_epoch: i64,
    /// When its log end last reached the leader's; `None` while it never did in this epoch.
    caught_up_at: Option<Instant>,
    /// Its last fetch, and the leader's log end then.
    fetched_at: Instant,
    leader_end_at_fetch: Offset,
    /// The controller has refused to add it to the in-sync set: the leader neither proposes it nor waits for it until
    /// it fetches after this time.
    refused_until: Option<Instant>,
}

impl Follower {
    /// A follower as a leader begins: it has not fetched yet. An in-sync follower has one lag time to catch up.
    const fn unknown(node_id: i32, is_in_sync: bool, now: Instant) -> Self {
        Self {
            node_id,
            log_end: None,
            log_start: Offset::NONE,
            broker_epoch: -1,
            caught_up_at: if is_in_sync { Some(now) } else { None },
            fetched_at: now,
            leader_end_at_fetch: Offset::MAX,
            refused_until: None,
        }
    }

    /// Notes a fetch. A follower that has now reached the leader's log end of its previous fetch was caught up then,
    /// though the log has grown since.
    fn note(&mut self, fetch: FollowerFetch, leader_end: Offset, now: Instant) {
        if fetch.log_end >= leader_end {
            self.caught_up_at = Some(now);
        } else if fetch.log_end >= self.leader_end_at_fetch {
            self.caught_up_at = self.caught_up_at.max(Some(self.fetched_at));
        }
        self.refused_until = self.refused_until.filter(|until| now < *until);
        self.log_end = Some(fetch.log_end);
        self.log_start = fetch.log_start;
        self.broker_epoch = fetch.broker_epoch;
        self.fetched_at = now;
        self.leader_end_at_fetch = leader_end;
    }

    fn is_caught_up(&self, leader_end: Offset, now: Instant, max_lag: Duration) -> bool {
        let is_recent = |at| now.saturating_duration_since(at) <= max_lag;
        self.log_end == Some(leader_end) || self.caught_up_at.is_some_and(is_recent)
    }
}

/// A change of the in-sync set for the controller to decide on (KIP-497).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The leader epoch it was made in.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch it changes.
    pub partition_epoch: i32,
    /// The proposed members, each with the broker epoch of its last fetch (-1 when it is unknown, and for the leader
    /// itself).
    pub in_sync_replicas: Vec<(i32, i64)>,
}

/// See the module.
#[derive(Debug)]
pub struct Followers {
    node_id: i32,
    leader_epoch: LeaderEpoch,
    partition_epoch: i32,
    /// Where this leader's epoch begins.
    epoch_start: Offset,
    /// `replica.lag.time.max.ms`.
    max_lag: Duration,
    /// The latest time that was passed in.
    now: Instant,
    in_sync: Vec<i32>,
    proposed: Option<Vec<i32>>,
    others: Vec<Follower>,
}

impl Followers {
    /// The followers at the moment when `node_id` begins to lead with `lease` and its log ends at `epoch_start`.
    pub fn new(node_id: i32, lease: &Lease, epoch_start: Offset, max_lag: Duration, now: Instant) -> Self {
        let mut followers = Self {
            node_id,
            leader_epoch: lease.leader_epoch,
            partition_epoch: lease.partition_epoch,
            epoch_start,
            max_lag,
            now,
            in_sync: Vec::new(),
            proposed: None,
            others: Vec::new(),
        };
        followers.renew(lease, now);
        followers
    }

    /// Where this leader's epoch begins.
    pub const fn epoch_start(&self) -> Offset {
        self.epoch_start
    }

    /// Whether this is still the leader epoch of `lease`.
    pub const fn is_of(&self, lease: &Lease) -> bool {
        self.leader_epoch.get() == lease.leader_epoch.get()
    }

    /// A newer lease of the same leader epoch: other replicas, another in-sync set. The state of the followers is kept,
    /// but for a follower that has left the in-sync set: it may be dead or about to stop, so its state is reset, and it
    /// counts again when it fetches.
    pub fn renew(&mut self, lease: &Lease, now: Instant) {
        if lease.partition_epoch > self.partition_epoch {
            self.proposed = None;
        }
        self.now = now;
        self.partition_epoch = lease.partition_epoch;
        let before = std::mem::replace(&mut self.in_sync, lease.in_sync_replicas.to_vec());
        let known = |id: &i32| {
            let is_in_sync = self.in_sync.contains(id);
            let has_left = !is_in_sync && before.contains(id);
            let unknown = || Follower::unknown(*id, is_in_sync, now);
            self.follower(*id)
                .filter(|_| !has_left)
                .copied()
                .unwrap_or_else(unknown)
        };
        let others = lease.replicas.iter().filter(|id| **id != self.node_id);
        self.others = others.map(known).collect();
    }

    fn follower(&self, node_id: i32) -> Option<&Follower> {
        self.others.iter().find(|f| f.node_id == node_id)
    }

    /// A follower fetched while this log ended at `leader_end`. False when the fetch is ignored: the follower
    /// is not assigned, or the fetch is from an earlier broker epoch (KIP-903) or another leader epoch; the follower's
    /// log may have lost records since.
    pub fn note_fetch(&mut self, fetch: FollowerFetch, leader_end: Offset, now: Instant) -> bool {
        self.now = now;
        if fetch.leader_epoch.is_some() && fetch.leader_epoch != self.leader_epoch {
            return false;
        }
        let is_late = |f: &Follower| fetch.broker_epoch >= 0 && fetch.broker_epoch < f.broker_epoch;
        let found = self.others.iter_mut().find(|f| f.node_id == fetch.node_id);
        let found = found.filter(|f| !is_late(f));
        found.map(|f| f.note(fetch, leader_end, now)).is_some()
    }

    /// Where a follower's log starts, -1 when its fetches do not say; `None` when the broker is not an assigned
    /// follower.
    pub fn log_start_of(&self, node_id: i32) -> Option<Offset> {
        self.follower(node_id).map(|f| f.log_start)
    }

    /// The low watermark: the least log start of the leader and of its live followers, in sync or not. -1 while one of
    /// them has not fetched in this epoch.
    pub fn low_watermark(&self, leader_start: Offset, is_alive: impl Fn(i32) -> bool) -> Offset {
        let live = self.others.iter().filter(|f| is_alive(f.node_id));
        live.map(|f| f.log_start).fold(leader_start, Offset::min)
    }

    /// The follower among the brokers `near` a consumer that serves `offset` best (KIP-392). It must be in sync, since
    /// a follower that lags would be chosen again and again, and it must be known to hold the offset. Of several, the
    /// follower with the greatest log end, then the one that was caught up last.
    pub fn closest(&self, near: &[i32], offset: Offset) -> Option<i32> {
        let holds = |f: &&Follower| f.log_start <= offset && f.log_end.is_some_and(|end| offset <= end);
        let may_read = |f: &&Follower| near.contains(&f.node_id) && self.in_sync.contains(&f.node_id) && holds(f);
        let others = self.others.iter().filter(may_read);
        others
            .max_by_key(|f| (f.log_end, f.caught_up_at, f.node_id))
            .map(|f| f.node_id)
    }

    /// The high watermark (KIP-966): not below `current`; unmoved while the set in force is below `min_in_sync`
    /// (or all replicas, when they are fewer); else the lowest log end of the maximal set and of followers that have
    /// nearly caught up, which a high watermark that runs ahead would keep out of the in-sync set for ever. Followers
    /// that the controller refuses do not count: a broker that stops still fetches for a moment, and the high watermark
    /// must not wait for it after that (KIP-841).
    pub fn high_watermark(&self, current: Offset, leader_end: Offset, min_in_sync: usize) -> Offset {
        if self.in_sync.len() < min_in_sync.min(self.others.len() + 1) {
            return current;
        }
        let counts = |f: &&Follower| {
            let is_coming = f.log_end.is_some() && f.refused_until.is_none();
            self.is_maximal(f.node_id) || is_coming && f.is_caught_up(leader_end, self.now, self.max_lag)
        };
        let ends = self.others.iter().filter(counts);
        let lowest = ends.map(|f| f.log_end.unwrap_or(current)).min();
        lowest.unwrap_or(leader_end).min(leader_end).max(current)
    }

    fn is_maximal(&self, node_id: i32) -> bool {
        self.in_sync.contains(&node_id) || self.proposed.as_ref().is_some_and(|set| set.contains(&node_id))
    }

    /// Proposes to add `node_id` to the in-sync set, if all three conditions hold and no change is under way.
    pub fn propose_joining(&mut self, node_id: i32, high_watermark: Offset) -> Option<Proposal> {
        let follower = self.follower(node_id).filter(|f| f.refused_until.is_none())?;
        let end = follower.log_end?;
        if self.proposed.is_some() || self.in_sync.contains(&node_id) {
            return None;
        }
        if end < high_watermark || end < self.epoch_start {
            return None;
        }
        let mut wanted = self.in_sync.clone();
        wanted.push(node_id);
        Some(self.propose(wanted))
    }

    /// Proposes to remove the followers that have not been caught up for too long, if there are any and no
    /// change is under way.
    pub fn propose_leaving(&mut self, leader_end: Offset, now: Instant) -> Option<Proposal> {
        self.now = now;
        if self.proposed.is_some() {
            return None;
        }
        let stays = |id: &i32| {
            let follower = self.follower(*id);
            follower.is_none_or(|f| f.is_caught_up(leader_end, now, self.max_lag))
        };
        let wanted: Vec<i32> = self.in_sync.iter().copied().filter(stays).collect();
        (wanted.len() < self.in_sync.len()).then(|| self.propose(wanted))
    }

    fn propose(&mut self, wanted: Vec<i32>) -> Proposal {
        let epoch = |id: i32| self.follower(id).map_or(-1, |f| f.broker_epoch);
        let proposal = Proposal {
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            in_sync_replicas: wanted.iter().map(|id| (*id, epoch(*id))).collect(),
        };
        self.proposed = Some(wanted);
        proposal
    }

    /// The controller has refused the change that was proposed for `partition_epoch`: the followers that it did not add
    /// are not proposed for a while. A change whose outcome is unknown stays under way: send the same proposal again.
    pub fn withdraw(&mut self, partition_epoch: i32) {
        if partition_epoch != self.partition_epoch {
            return;
        }
        let refused = self.proposed.take().unwrap_or_default();
        for follower in &mut self.others {
            if refused.contains(&follower.node_id) && !self.in_sync.contains(&follower.node_id) {
                follower.refused_until = Some(self.now + REFUSED_FOR);
            }
        }
    }
}

#[cfg(test)]
#[path = "followers_tests.rs"]
mod tests;
