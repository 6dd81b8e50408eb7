//! What a leader knows of its partition's followers, and what follows: the high watermark and who is in sync (spec:
//! R0.10 to R0.13, R1.8, R4.6).
//!
//! One [`Followers`] lives as long as one leader epoch. A follower's log end is what its last fetch told; until its
//! first fetch in this epoch it is unknown, and an in-sync follower that is unknown holds the high watermark where it
//! is. At most one change of the in-sync set is under way; until it is answered the high watermark waits for both sets
//! (*maximal ISR*), since the controller may have written the new one already. Times are passed in. It decides nothing
//! about leadership, reads no log and sends nothing: a change is proposed to the control plane, which asks the
//! controller.

use std::time::{Duration, Instant};

use super::lease::Lease;
use crate::place::LeaderEpoch;

/// How long a follower that the controller refused is not proposed again: it fetches thousands of times a second, and a
/// broker that has just come back is known to the controller by then.
const REFUSED_FOR: Duration = Duration::from_millis(500);

/// A follower's fetch, as its leader notes it.
#[derive(Debug, Clone, Copy)]
pub struct FollowerFetch {
    /// Who.
    pub node_id: i32,
    /// In which life of its broker, or -1.
    pub broker_epoch: i64,
    /// In which leader epoch, or -1.
    pub leader_epoch: LeaderEpoch,
    /// Where its log starts, or -1.
    pub log_start: i64,
    /// Where its log ends.
    pub log_end: i64,
}

/// One follower.
#[derive(Debug, Clone, Copy)]
struct Follower {
    node_id: i32,
    /// Where its log ends; `None` before its first fetch in this epoch.
    log_end: Option<i64>,
    /// Where its log starts, -1 when it does not tell.
    log_start: i64,
    /// The life of its broker that fetched last, -1 when it does not tell (KIP-903).
    broker_epoch: i64,
    /// When it last had everything; `None` while it never had in this epoch.
    caught_up_at: Option<Instant>,
    /// Its last fetch, and the leader's log end then.
    fetched_at: Instant,
    leader_end_at_fetch: i64,
    /// The controller has refused to take it in: not proposed nor waited for until it fetches after this.
    refused_until: Option<Instant>,
}

impl Follower {
    /// As a leader begins: nobody has fetched; those in sync have one lag time to do so.
    const fn unknown(node_id: i32, is_in_sync: bool, now: Instant) -> Self {
        Self {
            node_id,
            log_end: None,
            log_start: -1,
            broker_epoch: -1,
            caught_up_at: if is_in_sync { Some(now) } else { None },
            fetched_at: now,
            leader_end_at_fetch: i64::MAX,
            refused_until: None,
        }
    }

    /// A follower that had all there was at its previous fetch was caught up then, though the log has grown since.
    fn note(&mut self, fetch: FollowerFetch, leader_end: i64, now: Instant) {
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

    fn is_caught_up(&self, leader_end: i64, now: Instant, max_lag: Duration) -> bool {
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
    /// The members it asks for, each with its broker epoch as it last fetched (-1 unknown, and for the leader itself).
    pub in_sync_replicas: Vec<(i32, i64)>,
}

/// See the module.
#[derive(Debug)]
pub struct Followers {
    node_id: i32,
    leader_epoch: LeaderEpoch,
    partition_epoch: i32,
    /// Where this leader's epoch begins.
    epoch_start: i64,
    /// `replica.lag.time.max.ms`.
    max_lag: Duration,
    /// The latest time that was passed in.
    now: Instant,
    in_sync: Vec<i32>,
    proposed: Option<Vec<i32>>,
    others: Vec<Follower>,
}

impl Followers {
    /// As `node_id` begins to lead with `lease`, its log ending at `epoch_start`.
    pub fn new(node_id: i32, lease: &Lease, epoch_start: i64, max_lag: Duration, now: Instant) -> Self {
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
    pub const fn epoch_start(&self) -> i64 {
        self.epoch_start
    }

    /// Whether this is still the leader epoch of `lease`.
    pub const fn is_of(&self, lease: &Lease) -> bool {
        self.leader_epoch.get() == lease.leader_epoch.get()
    }

    /// A newer lease of the same leader epoch: other replicas, another in-sync set. What is known of those who stay is
    /// kept; who has left the set may be dead or about to stop, and counts again when it fetches.
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

    /// A follower fetched while this log ended at `leader_end` (R0.11). False when it says nothing: the follower is not
    /// assigned, or the fetch comes late, from an earlier life of its broker (KIP-903) or leader epoch; its log may
    /// have lost what it had then.
    pub fn note_fetch(&mut self, fetch: FollowerFetch, leader_end: i64, now: Instant) -> bool {
        self.now = now;
        if fetch.leader_epoch.is_some() && fetch.leader_epoch != self.leader_epoch {
            return false;
        }
        let is_late = |f: &Follower| fetch.broker_epoch >= 0 && fetch.broker_epoch < f.broker_epoch;
        let found = self.others.iter_mut().find(|f| f.node_id == fetch.node_id);
        let found = found.filter(|f| !is_late(f));
        found.map(|f| f.note(fetch, leader_end, now)).is_some()
    }

    /// Where a follower's log starts, -1 when it does not tell; `None` of who is not assigned.
    pub fn log_start_of(&self, node_id: i32) -> Option<i64> {
        self.follower(node_id).map(|f| f.log_start)
    }

    /// The low watermark: the least log start of the leader and of those followers that live, in sync or not. -1 while
    /// one of them has not fetched in this epoch.
    pub fn low_watermark(&self, leader_start: i64, is_alive: impl Fn(i32) -> bool) -> i64 {
        let live = self.others.iter().filter(|f| is_alive(f.node_id));
        live.map(|f| f.log_start).fold(leader_start, i64::min)
    }

    /// Of the brokers `near` a consumer, who reads on at `offset` best (KIP-392): in sync, since who lags would be
    /// chosen again and again, and known to hold the offset; of several the one with the most, then the one that was
    /// caught up last.
    pub fn closest(&self, near: &[i32], offset: i64) -> Option<i32> {
        let holds = |f: &&Follower| f.log_start <= offset && f.log_end.is_some_and(|end| offset <= end);
        let may_read = |f: &&Follower| near.contains(&f.node_id) && self.in_sync.contains(&f.node_id) && holds(f);
        let others = self.others.iter().filter(may_read);
        others
            .max_by_key(|f| (f.log_end, f.caught_up_at, f.node_id))
            .map(|f| f.node_id)
    }

    /// The high watermark (R0.13; KIP-966): not below `current`; unmoved while the set in force is below `min_in_sync`
    /// (or all replicas, when they are fewer); else the lowest end of the maximal set and of those who have nearly
    /// caught up, whom a watermark that runs ahead would keep out for ever. Not of those whom the controller refuses: a
    /// broker that stops fetches for a moment longer, and nobody may wait for it after that (KIP-841).
    pub fn high_watermark(&self, current: i64, leader_end: i64, min_in_sync: usize) -> i64 {
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

    /// Proposes to take `node_id` in, if all three conditions of R0.12 hold and nothing is under way.
    pub fn propose_joining(&mut self, node_id: i32, high_watermark: i64) -> Option<Proposal> {
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

    /// Proposes to go on without those who have not been caught up for too long (R1.8), if there are any and nothing is
    /// under way.
    pub fn propose_leaving(&mut self, leader_end: i64, now: Instant) -> Option<Proposal> {
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

    /// The controller has refused what was proposed for `partition_epoch`: whom it did not take in is left alone for a
    /// while. A change whose fate is unknown stays under way: ask again for the same one.
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
mod tests;
