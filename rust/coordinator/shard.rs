//! The groups of one partition of `__consumer_offsets`: their leases, and the offsets that the partition's log has.
//!
//! Invariants: the offsets are the fold of the log up to the high watermark; a load folds the log to its end. A change
//! is appended and noted as pending under the lock that holds this shard, so pending changes are in the order of the
//! log; [`Shard::settle`] folds those that the high watermark has passed. So a commit that timed out for its client and
//! is replicated later becomes visible when it is replicated. A shard has a group while the group has a lease, an
//! offset, or a pending commit. It never appends, and never decides on members.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lease::{Claim, GroupLease, GroupState};
use super::offsets::{CommittedOffset, GroupOffsets, TopicOffsets};
use base::error::ErrorCode;
use base::place::Offset;

/// Rows to commit: topic, partition, offset.
pub type Commit = Vec<(Arc<str>, i32, CommittedOffset)>;

/// A partition's offset in a group that is removed: group, topic, partition.
pub type RemovedRow = (Arc<str>, Arc<str>, i32);

enum Change {
    Commit(Arc<str>, Commit),
    /// A marker: the producer's transaction is committed, or aborted.
    End(i64, bool),
    /// Tombstones, with the offset of the first.
    Remove(Offset, Vec<RemovedRow>),
    /// A marker that was folded already.
    Folded,
}

struct Pending {
    /// The offset after the change's records.
    next: Offset,
    change: Change,
}

#[derive(Default)]
struct Group {
    lease: Option<GroupLease>,
    offsets: GroupOffsets,
    pending_commits: usize,
    /// Whether a group without a lease was reported to the control plane.
    is_reported: bool,
}

impl Group {
    fn is_nothing(&self) -> bool {
        self.lease.is_none() && self.offsets.is_empty() && self.pending_commits == 0
    }
}

/// When the session of a member may be over: the time, the group, the member id.
type Timer = Reverse<(Instant, Arc<str>, Arc<str>)>;

/// A member whose session is over: the group, the member id.
pub type Expired = (Arc<str>, Arc<str>);

/// See the module.
#[derive(Default)]
pub struct Shard {
    groups: HashMap<Arc<str>, Group>,
    by_topic: HashMap<Arc<str>, HashSet<Arc<str>>>,
    pending: VecDeque<Pending>,
    timers: BinaryHeap<Timer>,
    /// By producer id: the rows that its open transaction is to commit.
    transactions: HashMap<i64, HashSet<RemovedRow>>,
    /// Groups without a lease that have got their first offset; they are to be reported to the control plane.
    created: Vec<Arc<str>>,
}

impl Shard {
    // ---- offsets

    /// Folds the pending changes that the high watermark has passed.
    pub fn settle(&mut self, high_watermark: Offset) {
        while self.pending.front().is_some_and(|front| front.next <= high_watermark) {
            let Some(pending) = self.pending.pop_front() else {
                return;
            };
            match pending.change {
                Change::Commit(group_id, rows) => {
                    if let Some(group) = self.groups.get_mut(&group_id) {
                        group.pending_commits -= 1;
                    }
                    for (topic, index, offset) in rows {
                        self.put(&group_id, &topic, index, offset);
                    }
                    self.report(&group_id);
                }
                Change::End(producer_id, is_committed) => self.end_transactions(producer_id, is_committed),
                Change::Folded => {}
                Change::Remove(first, rows) => {
                    for (at, (group_id, topic, index)) in (first.get()..).map(Offset).zip(&rows) {
                        self.remove(group_id, topic, *index, at);
                    }
                }
            }
        }
    }

    /// Takes the groups that their first commit created since the last call.
    pub fn take_created(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.created)
    }

    /// Queues a group for the report to the control plane, if it has offsets, no lease, and was not reported yet.
    fn report(&mut self, group_id: &Arc<str>) {
        if let Some(group) = self.groups.get_mut(group_id)
            && group.lease.is_none()
            && !group.offsets.is_empty()
            && !std::mem::replace(&mut group.is_reported, true)
        {
            self.created.push(Arc::clone(group_id));
        }
    }

    /// Returns all groups without a lease; they count as reported from now on.
    pub fn take_simple_groups(&mut self) -> Vec<Arc<str>> {
        let mut found = Vec::new();
        for (group_id, group) in &mut self.groups {
            if group.lease.is_none() {
                group.is_reported = true;
                found.push(Arc::clone(group_id));
            }
        }
        found
    }

    /// The shard's copy of a group id; adds the group when it is new.
    pub fn group_id(&mut self, group_id: &str) -> Arc<str> {
        if let Some((id, _)) = self.groups.get_key_value(group_id) {
            return Arc::clone(id);
        }
        let id: Arc<str> = group_id.into();
        self.groups.insert(Arc::clone(&id), Group::default());
        id
    }

    /// A topic's name as this shard keeps it.
    pub fn topic(&self, name: &str) -> Option<Arc<str>> {
        self.by_topic.get_key_value(name).map(|(name, _)| Arc::clone(name))
    }

    /// Folds a commit.
    pub fn put(&mut self, group_id: &Arc<str>, topic: &Arc<str>, index: i32, offset: CommittedOffset) {
        self.groups
            .entry(Arc::clone(group_id))
            .or_default()
            .offsets
            .put(topic, index, offset);
        self.note_topic(group_id, topic);
    }

    /// Folds a commit within an open transaction. The rows are unstable from the append on, before it is replicated.
    pub fn put_unstable(
        &mut self,
        group_id: &Arc<str>,
        topic: &Arc<str>,
        index: i32,
        producer_id: i64,
        offset: CommittedOffset,
    ) {
        self.fold_ends(producer_id);
        let group = self.groups.entry(Arc::clone(group_id)).or_default();
        group.offsets.put_unstable(topic, index, producer_id, offset);
        self.note_topic(group_id, topic);
        let open = self.transactions.entry(producer_id).or_default();
        open.insert((Arc::clone(group_id), Arc::clone(topic), index));
    }

    /// Folds the pending markers of a producer before its next transaction has a row: they end only what is before them
    /// in the log. The decision for which they stand is final, whether they are replicated or not.
    fn fold_ends(&mut self, producer_id: i64) {
        let mut ends = Vec::new();
        for pending in &mut self.pending {
            if let Change::End(of, is_committed) = pending.change
                && of == producer_id
            {
                ends.push(is_committed);
                pending.change = Change::Folded;
            }
        }
        for is_committed in ends {
            self.end_transactions(producer_id, is_committed);
        }
    }

    /// Folds a marker: the rows of the producer's transaction count, or are dropped.
    pub fn end_transactions(&mut self, producer_id: i64, is_committed: bool) {
        for (group_id, topic, index) in self.transactions.remove(&producer_id).unwrap_or_default() {
            if let Some(group) = self.groups.get_mut(&group_id) {
                group.offsets.end_transaction(&topic, index, producer_id, is_committed);
            }
            self.report(&group_id);
            self.forget_topic(&group_id, &topic);
        }
    }

    /// Notes a marker that was appended; `next` is the offset after it.
    pub fn note_end(&mut self, producer_id: i64, is_committed: bool, next: Offset) {
        let change = Change::End(producer_id, is_committed);
        self.pending.push_back(Pending { next, change });
    }

    /// Folds a tombstone.
    pub fn remove(&mut self, group_id: &Arc<str>, topic: &Arc<str>, index: i32, record_offset: Offset) {
        if let Some(group) = self.groups.get_mut(group_id) {
            group.offsets.remove(topic, index, record_offset);
        }
        self.forget_topic(group_id, topic);
    }

    fn note_topic(&mut self, group_id: &Arc<str>, topic: &Arc<str>) {
        match self.by_topic.get_mut(topic) {
            Some(groups) if groups.contains(group_id) => {}
            Some(groups) => {
                groups.insert(Arc::clone(group_id));
            }
            None => {
                self.by_topic
                    .insert(Arc::clone(topic), HashSet::from([Arc::clone(group_id)]));
            }
        }
    }

    /// Forgets the topic of a group that has no offsets of it left, and the group when nothing of it is left.
    fn forget_topic(&mut self, group_id: &Arc<str>, topic: &Arc<str>) {
        let Some(group) = self.groups.get(group_id) else { return };
        if group.offsets.has_topic(topic) {
            return;
        }
        if let Some(groups) = self.by_topic.get_mut(topic) {
            groups.remove(group_id);
            if groups.is_empty() {
                self.by_topic.remove(topic);
            }
        }
        self.forget_if_nothing(group_id);
    }

    fn forget_if_nothing(&mut self, group_id: &str) {
        if self.groups.get(group_id).is_some_and(Group::is_nothing) {
            self.groups.remove(group_id);
        }
    }

    /// The offsets of a group.
    pub fn offsets(&self, group_id: &str) -> Option<&GroupOffsets> {
        self.groups.get(group_id).map(|group| &group.offsets)
    }

    /// Whether a group has an offset: committed, being committed, or in an open transaction.
    pub fn has_offsets(&self, group_id: &str) -> bool {
        self.groups
            .get(group_id)
            .is_some_and(|group| !group.offsets.is_empty() || group.pending_commits > 0)
    }

    /// Groups with an offset of a topic.
    pub fn groups_of_topic(&self, topic: &str) -> impl Iterator<Item = &Arc<str>> {
        self.by_topic.get(topic).into_iter().flatten()
    }

    /// Groups with offsets of open transactions.
    pub fn groups_with_unstable(&self) -> Vec<Arc<str>> {
        let open = self.groups.iter().filter(|(_, group)| group.offsets.has_unstable());
        let mut ids: Vec<_> = open.map(|(id, _)| Arc::clone(id)).collect();
        ids.sort_unstable();
        ids
    }

    /// Rows of commits that are appended and not durable yet: group, topic, partition, offset.
    pub fn pending_rows(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, i32, &CommittedOffset)> {
        self.pending.iter().flat_map(|pending| {
            let (group_id, rows) = match &pending.change {
                Change::Commit(group_id, rows) => (Some(group_id), rows.as_slice()),
                Change::Remove(..) | Change::End(..) | Change::Folded => (None, [].as_slice()),
            };
            let group_id = group_id.into_iter();
            group_id.flat_map(move |id| {
                rows.iter()
                    .map(move |(topic, index, offset)| (id, topic, *index, offset))
            })
        })
    }

    /// The pending rows of one group, by topic and partition.
    pub fn pending_of(&self, group_id: &str) -> impl Iterator<Item = ((Arc<str>, i32), &CommittedOffset)> {
        let has_any = self.groups.get(group_id).is_some_and(|group| group.pending_commits > 0);
        let rows = has_any.then(|| self.pending_rows().filter(move |(id, ..)| ***id == *group_id));
        let key = |(_, topic, index, offset): (&Arc<str>, &Arc<str>, i32, _)| ((Arc::clone(topic), index), offset);
        rows.into_iter().flatten().map(key)
    }

    /// Notes a commit that was appended; `next` is the offset after its records.
    pub fn note_commit(&mut self, group_id: &Arc<str>, rows: Commit, next: Offset) {
        self.groups.entry(Arc::clone(group_id)).or_default().pending_commits += 1;
        let change = Change::Commit(Arc::clone(group_id), rows);
        self.pending.push_back(Pending { next, change });
    }

    /// Notes tombstones that were appended, the first at the offset `first`.
    pub fn note_removal(&mut self, rows: Vec<RemovedRow>, first: Offset) {
        let next = first + i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let change = Change::Remove(first, rows);
        self.pending.push_back(Pending { next, change });
    }

    /// The rows of a topic in a group.
    pub fn rows(&self, group_id: &str, topic: &str) -> Option<&TopicOffsets> {
        self.offsets(group_id).and_then(|offsets| offsets.topic(topic))
    }

    // ---- leases

    /// Grants a lease; it replaces an earlier one.
    pub fn grant(&mut self, group_id: &str, state: GroupState, generation_id: i32) {
        let id = self.group_id(group_id);
        if let Some(group) = self.groups.get_mut(&id) {
            group.lease = Some(GroupLease::new(state, generation_id));
        }
    }

    /// Ends the lease of a group that has no members any more. The group stays while it has offsets; it is then
    /// reported to the control plane as new.
    pub fn release(&mut self, group_id: &str) {
        let Some(group) = self.groups.get_mut(group_id) else {
            return;
        };
        group.lease = None;
        group.is_reported = false;
        let id = self.group_id(group_id);
        self.report(&id);
        self.forget_if_nothing(&id);
    }

    /// A group's lease.
    pub fn lease(&mut self, group_id: &str) -> Option<&mut GroupLease> {
        self.groups.get_mut(group_id).and_then(|group| group.lease.as_mut())
    }

    /// Handles a heartbeat: returns its error code and prolongs the member's session.
    pub fn heartbeat(&mut self, group_id: &str, claim: Claim<'_>, now: Instant) -> ErrorCode {
        let Some(lease) = self.lease(group_id) else {
            return ErrorCode::UNKNOWN_MEMBER_ID;
        };
        match lease.check_heartbeat(claim) {
            Err(code) => code,
            Ok(code) => {
                self.prolong(group_id, claim.member_id, now);
                code
            }
        }
    }

    /// Checks whether the group takes a commit, and prolongs the member's session. `has_group_id_not_found`: the client
    /// knows that error code.
    pub fn check_commit(
        &mut self,
        group_id: &str,
        claim: Claim<'_>,
        has_group_id_not_found: bool,
        now: Instant,
    ) -> Result<(), ErrorCode> {
        let Some(group) = self.groups.get(group_id) else {
            return match (claim.generation_id < 0, has_group_id_not_found) {
                (true, _) => Ok(()),
                (false, true) => Err(ErrorCode::GROUP_ID_NOT_FOUND),
                (false, false) => Err(ErrorCode::ILLEGAL_GENERATION),
            };
        };
        match &group.lease {
            None => GroupLease::default().check_commit(claim),
            Some(lease) => lease.check_commit(claim),
        }?;
        self.prolong(group_id, claim.member_id, now);
        Ok(())
    }

    /// Checks whether the group takes the commit of a transaction.
    pub fn check_transactional_commit(&self, group_id: &str, claim: Claim<'_>) -> Result<(), ErrorCode> {
        match self.groups.get(group_id) {
            None if claim.generation_id < 0 => Ok(()),
            None => Err(ErrorCode::ILLEGAL_GENERATION),
            Some(Group { lease: None, .. }) => GroupLease::default().check_transactional_commit(claim),
            Some(Group { lease: Some(lease), .. }) => lease.check_transactional_commit(claim),
        }
    }

    // ---- sessions

    /// Prolongs the session of a member that sent a request.
    fn prolong(&mut self, group_id: &str, member_id: &str, now: Instant) {
        let Some(lease) = self.lease(group_id) else { return };
        let Some((_, member)) = lease.member(member_id) else {
            return;
        };
        if member.session_timeout.is_zero() {
            return; // its first session has not begun
        }
        let deadline = member.next_deadline(now);
        member.deadline = Some(deadline);
        if member.timer_at.is_none() {
            self.set_timer(group_id, member_id, deadline);
        }
    }

    /// Begins the member's session; each request of the member prolongs it to `timeout` from then.
    pub fn begin_session(&mut self, group_id: &str, member_id: &str, timeout: Duration, now: Instant) {
        if let Some((_, member)) = self.lease(group_id).and_then(|lease| lease.member(member_id)) {
            member.session_timeout = timeout;
        }
        self.set_timer(group_id, member_id, now + timeout);
    }

    /// Sets the end of the member's session. An earlier timer of the member stays; when it comes up, it is set to the
    /// deadline.
    fn set_timer(&mut self, group_id: &str, member_id: &str, deadline: Instant) {
        let Some((group, _)) = self.groups.get_key_value(group_id) else {
            return;
        };
        let group = Arc::clone(group);
        let Some(lease) = self.lease(group_id) else { return };
        let Some((id, member)) = lease.member(member_id) else {
            return;
        };
        member.deadline = Some(deadline);
        if member.timer_at.is_none_or(|at| deadline < at) {
            member.timer_at = Some(deadline);
            self.timers.push(Reverse((deadline, group, id)));
        }
    }

    /// Ends the member's session without reporting it.
    pub fn end_session(&mut self, group_id: &str, member_id: &str) {
        if let Some((_, member)) = self.lease(group_id).and_then(|lease| lease.member(member_id)) {
            member.deadline = None;
        }
    }

    /// Whether the member has a session.
    pub fn has_session(&mut self, group_id: &str, member_id: &str) -> bool {
        let member = self.lease(group_id).and_then(|lease| lease.member(member_id));
        member.is_some_and(|(_, member)| member.deadline.is_some())
    }

    /// The next time at which a session may be over.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the members whose sessions are over; each is returned once.
    pub fn take_expired(&mut self, now: Instant) -> Vec<Expired> {
        let mut expired = Vec::new();
        while self.next_timer().is_some_and(|at| at <= now) {
            let Some(Reverse((at, group_id, member_id))) = self.timers.pop() else {
                break;
            };
            let Some(lease) = self.groups.get_mut(&group_id).and_then(|group| group.lease.as_mut()) else {
                continue;
            };
            let Some((_, member)) = lease
                .member(&member_id)
                .filter(|(_, member)| member.timer_at == Some(at))
            else {
                continue; // the member is gone, or another timer took this one's place
            };
            member.timer_at = member.deadline.filter(|deadline| *deadline > now);
            match member.timer_at {
                Some(later) => self.timers.push(Reverse((later, group_id, member_id))),
                None if member.deadline.take().is_some() => expired.push((group_id, member_id)),
                None => {}
            }
        }
        expired
    }
}

/// A session timeout in ms, as a duration; 0 when it is negative.
pub fn session_timeout(timeout_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0))
}

#[cfg(test)]
#[path = "shard_tests.rs"]
mod tests;
