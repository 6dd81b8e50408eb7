//! Bugs that the simulator must find, most of which Apache Kafka had once: off unless it plants them (docs/simulator.md).
//!
//! Only in builds with the feature `simulator`, which no wheel has; no configuration reaches them.

use std::sync::atomic::{AtomicBool, Ordering};

/// A bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A follower of a new leader epoch cuts its log at its own high watermark, as before KIP-101.
    TruncateToHighWatermark,
    /// The high watermark moves although fewer than `min.insync.replicas` are in sync, as before KIP-966.
    CommitBelowMinIsr,
    /// A follower does not say in which epoch its log ends, so its leader cannot tell where the logs part, as before KIP-101.
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

/// Whether it is planted.
pub fn has(bug: Bug) -> bool {
    switch(bug).load(Ordering::Relaxed)
}
