//! A lease: what Python allows this broker to do with one partition (spec: R0.10).
//!
//! Immutable; replaced whole, never edited. No lease, no service: `NOT_LEADER_OR_FOLLOWER`.
//! This file never decides who leads; it only answers questions about what was decided.

use crate::error::{Error, ErrorCode, Result};

/// The role, epochs and replicas of a partition as published by the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Node id of the leader, -1 when there is none.
    pub leader: i32,
    /// Rises at every leader change.
    pub leader_epoch: i32,
    /// Rises at every change of leader, in-sync set or assignment.
    pub partition_epoch: i32,
    /// Assigned replicas (AR), the preferred leader first.
    pub replicas: Box<[i32]>,
    /// In-sync replicas (ISR), a subset of `replicas`.
    pub in_sync_replicas: Box<[i32]>,
}

impl Lease {
    /// Checks the leader epoch that a client believes in; -1 means it does not say (KIP-320).
    pub fn check_epoch(&self, current_leader_epoch: i32) -> Result<()> {
        if current_leader_epoch < 0 || current_leader_epoch == self.leader_epoch {
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

    /// Whether `node_id` is the only in-sync replica, so that what it has is committed at once.
    pub fn is_sole_in_sync(&self, node_id: i32) -> bool {
        *self.in_sync_replicas == [node_id]
    }
}

#[cfg(test)]
mod tests;
