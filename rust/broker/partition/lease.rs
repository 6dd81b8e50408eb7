//! A lease: what the control plane allows this broker to do with one partition.
//!
//! Immutable; replaced whole, never edited. No lease, no service: `NOT_LEADER_OR_FOLLOWER`.
//! This file never decides which broker leads; it only answers questions about the control plane's decision.

use base::error::{Error, ErrorCode, Result};
use base::place::LeaderEpoch;

/// The role, epochs and replicas of a partition as published by the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Node id of the leader, -1 when there is none.
    pub leader: i32,
    /// Rises at every leader change.
    pub leader_epoch: LeaderEpoch,
    /// Rises at every change of leader, in-sync set or assignment.
    pub partition_epoch: i32,
    /// Assigned replicas (AR), the preferred leader first.
    pub replicas: Box<[i32]>,
    /// In-sync replicas (ISR), a subset of `replicas`.
    pub in_sync_replicas: Box<[i32]>,
}

impl Lease {
    /// Checks the leader epoch of a client's request; -1 means that the request has none (KIP-320).
    pub fn check_epoch(&self, current_leader_epoch: LeaderEpoch) -> Result<()> {
        if current_leader_epoch.is_none() || current_leader_epoch == self.leader_epoch {
            return Ok(());
        }
        let (code, relation) = if current_leader_epoch < self.leader_epoch {
            (ErrorCode::FENCED_LEADER_EPOCH, "older than")
        } else {
            (ErrorCode::UNKNOWN_LEADER_EPOCH, "newer than")
        };
        Err(Error::rejected(
            code,
            format!(
                "leader epoch {current_leader_epoch} is {relation} this broker's {}",
                self.leader_epoch
            ),
        ))
    }

    /// The leader that `node_id` follows, and the leader epoch; `None` when `node_id` leads or is not assigned, or
    /// there is no leader.
    pub fn source_for(&self, node_id: i32) -> Option<(i32, LeaderEpoch)> {
        let follows = self.leader >= 0 && self.leader != node_id && self.replicas.contains(&node_id);
        follows.then_some((self.leader, self.leader_epoch))
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
