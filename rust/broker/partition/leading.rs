//! A partition and its followers: its leader notes their fetches, and proposes changes of the in-sync set.
//!
//! It sends nothing, and decides nothing about leadership.

use std::time::Instant;

use super::Partition;
use crate::partition::followers::{FollowerFetch, Proposal};
use crate::requests::waiters::WaitKind;

impl Partition {
    /// Notes a follower's fetch: moves the high watermark, and proposes the follower for the in-sync set when
    /// it has caught up.
    pub fn note_follower(&self, fetch: FollowerFetch, now: Instant) -> Option<Proposal> {
        let leader_end = self.offsets().log_end();
        let before = self.offsets().high_watermark();
        let (may_move, has_new_start) = {
            let mut followers = self.leadership().followers();
            let known = followers.as_mut()?;
            let start_before = known.log_start_of(fetch.node_id);
            if !known.note_fetch(fetch, leader_end, now) {
                return None;
            }
            let may_move = known.high_watermark(before, leader_end, 0) > before;
            (may_move, start_before != Some(fetch.log_start))
        };
        if has_new_start {
            self.waiters().wake_all(WaitKind::LowWatermark);
        }
        if may_move {
            let has_risen = self.publish_offsets(&self.log());
            if has_risen {
                self.wake_everyone();
            }
        }
        let high_watermark = self.offsets().high_watermark();
        let mut followers = self.leadership().followers();
        followers.as_mut()?.propose_joining(fetch.node_id, high_watermark)
    }

    /// Proposes to remove followers that lag from the in-sync set. Time alone may raise the high watermark: it
    /// waits for a follower that may still come no longer than that may lag.
    pub fn propose_leaving(&self, now: Instant) -> Option<Proposal> {
        let leader_end = self.offsets().log_end();
        let proposal = self.leadership().followers().as_mut()?.propose_leaving(leader_end, now);
        if self.publish_offsets(&self.log()) {
            self.wake_everyone();
        }
        proposal
    }

    /// The proposal for this partition epoch was refused.
    pub fn withdraw_proposal(&self, partition_epoch: i32) {
        if let Some(followers) = self.leadership().followers().as_mut() {
            followers.withdraw(partition_epoch);
        }
        self.refresh();
    }

    /// Whether `leader.replication.throttled.replicas` names this broker's replica.
    pub fn is_throttled_leader(&self) -> bool {
        self.log()
            .config()
            .leader_throttled
            .has(self.index(), self.leadership().node_id())
    }

    /// Whether `follower.replication.throttled.replicas` names this broker's replica.
    pub fn is_throttled_follower(&self) -> bool {
        self.log()
            .config()
            .follower_throttled
            .has(self.index(), self.leadership().node_id())
    }
}
