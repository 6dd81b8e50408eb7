//! Bugs that the simulator must find, most of which Apache Kafka had once: off unless the simulator plants them
//! (docs/internals/simulator.md).
//!
//! Each bug is a call at the place where the bug would be; the call changes nothing until the bug is planted. Planting
//! works only in builds with the feature `testing`, which no wheel has: in other builds the calls are compiled away.
//! No configuration can plant a bug.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::partition::Marker;
use crate::partition::lease::Lease;
use base::place::{LeaderEpoch, Offset};
use storage::Log;

/// A bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A follower of a new leader epoch cuts its log at its own high watermark, as before KIP-101.
    TruncateToHighWatermark,
    /// The high watermark moves although fewer than `min.insync.replicas` are in sync, as before KIP-966.
    CommitBelowMinIsr,
    /// A follower does not send the epoch in which its log ends, so the leader cannot find where the logs diverge, as
    /// before KIP-101.
    FetchWithoutEpoch,
    /// A produce that waits for the high watermark is not woken when it moves, and is answered only at its deadline.
    LostWakeUp,
    /// A produce of transaction version 1 is appended though the coordinator was not asked whether the transaction is
    /// open, as before KIP-890.
    LateProduce,
    /// A marker is appended whatever producer epoch and coordinator epoch its partition has seen, and a broker goes on
    /// writing the markers of transactions that it no longer coordinates.
    MarkerInNewerEpoch,
}

static TRUNCATE_TO_HIGH_WATERMARK: AtomicBool = AtomicBool::new(false);
static COMMIT_BELOW_MIN_ISR: AtomicBool = AtomicBool::new(false);
static FETCH_WITHOUT_EPOCH: AtomicBool = AtomicBool::new(false);
static LOST_WAKE_UP: AtomicBool = AtomicBool::new(false);
static LATE_PRODUCE: AtomicBool = AtomicBool::new(false);
static MARKER_IN_NEWER_EPOCH: AtomicBool = AtomicBool::new(false);

const fn switch(bug: Bug) -> &'static AtomicBool {
    match bug {
        Bug::TruncateToHighWatermark => &TRUNCATE_TO_HIGH_WATERMARK,
        Bug::CommitBelowMinIsr => &COMMIT_BELOW_MIN_ISR,
        Bug::FetchWithoutEpoch => &FETCH_WITHOUT_EPOCH,
        Bug::LostWakeUp => &LOST_WAKE_UP,
        Bug::LateProduce => &LATE_PRODUCE,
        Bug::MarkerInNewerEpoch => &MARKER_IN_NEWER_EPOCH,
    }
}

/// Plants a bug in every broker of this process.
pub fn plant(bug: Bug) {
    switch(bug).store(true, Ordering::Relaxed);
}

#[inline]
fn has(bug: Bug) -> bool {
    cfg!(feature = "testing") && switch(bug).load(Ordering::Relaxed)
}

/// A partition gets another lease: see [`Bug::TruncateToHighWatermark`].
#[inline]
pub(crate) fn cut_new_follower(
    log: &mut Log,
    node_id: i32,
    old: Option<&Lease>,
    new: Option<&Lease>,
    high_watermark: Offset,
) {
    let is_new_epoch = |new: &Lease| old.is_none_or(|old| old.leader_epoch < new.leader_epoch);
    let follows = |new: &Lease| new.leader != node_id && new.leader >= 0 && is_new_epoch(new);
    if has(Bug::TruncateToHighWatermark) && new.is_some_and(follows) {
        // A log that cannot be cut stays as it is: then the bug has no effect.
        let _ = log.truncate_to(high_watermark);
    }
}

/// How many replicas must be in sync before the high watermark moves: see [`Bug::CommitBelowMinIsr`].
#[inline]
pub(crate) fn required_in_sync(required: usize) -> usize {
    if has(Bug::CommitBelowMinIsr) { 0 } else { required }
}

/// The epoch that a follower says its log ends in: see [`Bug::FetchWithoutEpoch`].
#[inline]
pub(crate) fn last_fetched_epoch(epoch: LeaderEpoch) -> LeaderEpoch {
    if has(Bug::FetchWithoutEpoch) {
        LeaderEpoch::NONE
    } else {
        epoch
    }
}

/// Whether produces that wait are not woken: see [`Bug::LostWakeUp`].
#[inline]
pub(crate) fn loses_wake_up() -> bool {
    has(Bug::LostWakeUp)
}

/// Whether a produce of transaction version 1 is appended without a verification: see [`Bug::LateProduce`].
#[inline]
pub(crate) fn verifies_nothing() -> bool {
    has(Bug::LateProduce)
}

/// The marker that is appended; `last` are the epochs of the producer and of its coordinator in the partition: see
/// [`Bug::MarkerInNewerEpoch`].
#[inline]
pub(crate) fn marker_after(marker: &Marker, last: impl FnOnce() -> Option<(i16, i32)>) -> Marker {
    let mut raised = *marker;
    if has(Bug::MarkerInNewerEpoch)
        && let Some((producer_epoch, coordinator_epoch)) = last()
    {
        raised.transaction_version = 0;
        raised.producer_epoch = marker.producer_epoch.max(producer_epoch);
        raised.coordinator_epoch = marker.coordinator_epoch.max(coordinator_epoch);
    }
    raised
}

/// Whether a broker goes on writing the markers of transactions that it no longer coordinates: see
/// [`Bug::MarkerInNewerEpoch`].
#[inline]
pub fn keeps_transactions_of_others() -> bool {
    has(Bug::MarkerInNewerEpoch)
}
