//! A group's lease: the decisions of the control plane on which heartbeats and commits depend.
//!
//! The control plane changes the lease in the same step as it decides, so a request sees the group either before the
//! decision or after it. The data plane keeps the members' sessions, since it gets their heartbeats; it reports a
//! session that is over, and the control plane decides what follows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::error::ErrorCode;

/// The states of a classic group that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupState {
    /// The group has no members.
    #[default]
    Empty,
    /// The members join.
    PreparingRebalance,
    /// The members wait for their assignment.
    CompletingRebalance,
    /// The members have their assignment.
    Stable,
}

/// The session of a member.
#[derive(Debug, Default)]
pub struct MemberLease {
    /// How long the session lasts after a request of the member.
    pub session_timeout: Duration,
    /// When the session is over; `None` while there is no session, or after its end.
    pub deadline: Option<Instant>,
    /// When the member's entry in the shard's timers comes up, if it has one.
    pub timer_at: Option<Instant>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct GroupLease {
    /// The group's state.
    pub state: GroupState,
    /// The generation of its last rebalance.
    pub generation_id: i32,
    members: HashMap<Arc<str>, MemberLease>,
    /// `group.instance.id` -> member id.
    static_members: HashMap<Box<str>, Arc<str>>,
}

/// The identity that a request of a member claims.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "Kafka's names")]
pub struct Claim<'a> {
    /// The member id; empty when the request has none.
    pub member_id: &'a str,
    /// The instance id of a static member.
    pub group_instance_id: Option<&'a str>,
    /// The generation; negative when the request has none.
    pub generation_id: i32,
}

impl GroupLease {
    /// A lease without members.
    pub fn new(state: GroupState, generation_id: i32) -> Self {
        Self {
            state,
            generation_id,
            ..Self::default()
        }
    }

    /// Adds a member without a session.
    pub fn add_member(&mut self, member_id: &str, group_instance_id: Option<&str>) {
        let id: Arc<str> = member_id.into();
        if let Some(instance) = group_instance_id {
            self.static_members.insert(instance.into(), Arc::clone(&id));
        }
        self.members.insert(id, MemberLease::default());
    }

    /// Removes a member.
    pub fn remove_member(&mut self, member_id: &str, group_instance_id: Option<&str>) {
        self.members.remove(member_id);
        if let Some(instance) = group_instance_id
            && self.static_members.get(instance).is_some_and(|id| **id == *member_id)
        {
            self.static_members.remove(instance);
        }
    }

    /// Replaces the id of a static member that came back under another id. No request sees the group without one of the
    /// two ids.
    pub fn replace_member(&mut self, old_member_id: &str, new_member_id: &str, group_instance_id: &str) {
        self.remove_member(old_member_id, Some(group_instance_id));
        self.add_member(new_member_id, Some(group_instance_id));
    }

    /// A member and the lease's copy of its id.
    pub fn member(&mut self, member_id: &str) -> Option<(Arc<str>, &mut MemberLease)> {
        let id = self.members.get_key_value(member_id).map(|(id, _)| Arc::clone(id))?;
        self.members.get_mut(member_id).map(|member| (id, member))
    }

    fn validate_member(&self, claim: Claim<'_>) -> Result<(), ErrorCode> {
        if let Some(instance) = claim.group_instance_id {
            match self.static_members.get(instance) {
                None => return Err(ErrorCode::UNKNOWN_MEMBER_ID),
                Some(id) if **id != *claim.member_id => return Err(ErrorCode::FENCED_INSTANCE_ID),
                Some(_) => {}
            }
        }
        if self.members.contains_key(claim.member_id) {
            Ok(())
        } else {
            Err(ErrorCode::UNKNOWN_MEMBER_ID)
        }
    }

    /// Checks that the heartbeat is from a member of this generation. Returns the code to answer.
    pub fn check_heartbeat(&self, claim: Claim<'_>) -> Result<ErrorCode, ErrorCode> {
        self.validate_member(claim)?;
        if claim.generation_id != self.generation_id {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        Ok(if self.state == GroupState::PreparingRebalance {
            ErrorCode::REBALANCE_IN_PROGRESS
        } else {
            ErrorCode::NONE
        })
    }

    /// Checks whether the group takes the commit. An empty group takes a commit without a generation from any client;
    /// any other group takes commits of its members only.
    pub fn check_commit(&self, claim: Claim<'_>) -> Result<(), ErrorCode> {
        if claim.generation_id < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        if claim.generation_id >= 0 || !claim.member_id.is_empty() || claim.group_instance_id.is_some() {
            self.validate_member(claim)?;
            if claim.generation_id != self.generation_id {
                return Err(ErrorCode::ILLEGAL_GENERATION);
            }
        } else {
            return Err(ErrorCode::UNKNOWN_MEMBER_ID);
        }
        if self.state == GroupState::CompletingRebalance {
            return Err(ErrorCode::REBALANCE_IN_PROGRESS);
        }
        Ok(())
    }

    /// Checks whether the group takes the commit of a transaction. A commit without member and generation is taken in
    /// any state, since the producer is fenced by its transactional id.
    pub fn check_transactional_commit(&self, claim: Claim<'_>) -> Result<(), ErrorCode> {
        if claim.generation_id < 0 && claim.member_id.is_empty() && claim.group_instance_id.is_none() {
            return Ok(());
        }
        if claim.generation_id < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        self.validate_member(claim)?;
        if claim.generation_id != self.generation_id {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        Ok(())
    }
}

impl MemberLease {
    /// When the session is over if the member sends no request after `now`.
    pub fn next_deadline(&self, now: Instant) -> Instant {
        now + self.session_timeout
    }
}
