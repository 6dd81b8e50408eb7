//! Bugs that the simulator must find, most of which Apache Kafka had once: off unless it plants them
//! (docs/simulator.md).
//!
//! The one seam: each bug is a call from where it would be, which changes nothing until the bug is planted. That is
//! possible only in builds with the feature `simulator`, which no wheel has: elsewhere the calls are compiled away. No
//! configuration reaches them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::lease::Lease;
use super::waiters::WaitKind;
use crate::place::LeaderEpoch;
use crate::storage::Log;

/// A bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A follower of a new leader epoch cuts its log at its own high watermark, as before KIP-101.
    TruncateToHighWatermark,
    /// The high watermark moves although fewer than `min.insync.replicas` are in sync, as before KIP-966.
    CommitBelowMinIsr,
    /// A follower does not say in which epoch its log ends, so its leader cannot tell where the logs part, as before
    /// KIP-101.
    FetchWithoutEpoch,
    /// Who waits for the high watermark is not woken when it moves, and hears of it when its time is up.
    LostWakeUp,
}

static TRUNCATE_TO_HIGH_WATERMARK: AtomicBool = AtomicBool::new(false);
static COMMIT_BELOW_MIN_ISR: AtomicBool = AtomicBool::new(false);
static FETCH_WITHOUT_EPOCH: AtomicBool = AtomicBool::new(false);
static LOST_WAKE_UP: AtomicBool = AtomicBool::new(false);

const fn switch(bug: Bug) -> &'static AtomicBool {
    match bug {
        Bug::TruncateToHighWatermark => &TRUNCATE_TO_HIGH_WATERMARK,
        Bug::CommitBelowMinIsr => &COMMIT_BELOW_MIN_ISR,
        Bug::FetchWithoutEpoch => &FETCH_WITHOUT_EPOCH,
        Bug::LostWakeUp => &LOST_WAKE_UP,
    }
}

/// Plants a bug in every broker of this process.
pub fn plant(bug: Bug) {
    switch(bug).store(true, Ordering::Relaxed);
}

#[inline]
fn has(bug: Bug) -> bool {
    cfg!(feature = "simulator") && switch(bug).load(Ordering::Relaxed)
}

/// A partition gets another lease: see [`Bug::TruncateToHighWatermark`].
#[inline]
pub(super) fn cut_new_follower(
    log: &mut Log,
    node_id: i32,
    (old, new): (Option<&Lease>, Option<&Lease>),
    high_watermark: i64,
) {
    let is_new_epoch = |new: &Lease| old.is_none_or(|old| old.leader_epoch < new.leader_epoch);
    let follows = |new: &Lease| new.leader != node_id && new.leader >= 0 && is_new_epoch(new);
    if has(Bug::TruncateToHighWatermark) && new.is_some_and(follows) {
        // A log that cannot be cut is left: nothing is planted then.
        let _ = log.truncate_to(high_watermark);
    }
}

/// How many replicas must be in sync before the high watermark moves: see [`Bug::CommitBelowMinIsr`].
#[inline]
pub(super) fn required_in_sync(required: usize) -> usize {
    if has(Bug::CommitBelowMinIsr) { 0 } else { required }
}

/// The epoch that a follower says its log ends in: see [`Bug::FetchWithoutEpoch`].
#[inline]
pub(super) fn last_fetched_epoch(epoch: LeaderEpoch) -> LeaderEpoch {
    if has(Bug::FetchWithoutEpoch) {
        LeaderEpoch::NONE
    } else {
        epoch
    }
}

/// Whether those who wait for this are not woken: see [`Bug::LostWakeUp`].
#[inline]
pub(super) fn loses_wake_up(kind: WaitKind) -> bool {
    kind == WaitKind::Produce && has(Bug::LostWakeUp)
}
