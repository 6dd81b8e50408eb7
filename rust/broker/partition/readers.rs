//! The consumers that read from this broker while it is a follower (KIP-392).
//!
//! A follower serves records up to the high watermark that it knows, so a consumer never gets records there that the
//! leader would not send. The follower's high watermark lags behind the leader's; while consumers read from the
//! follower, the leader sends it a new one at once.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a consumer counts as a reader of this follower after its last fetch: longer than most consumers pause
/// between two fetches.
pub(super) const READER_STAYS: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Default)]
pub struct Readers {
    /// The time of the last read by any of them.
    seen: Mutex<Option<Instant>>,
}

impl Readers {
    /// Notes that a consumer has read from this follower.
    pub fn note(&self, now: Instant) {
        *self.seen.lock() = Some(now);
    }

    /// Whether a consumer has read lately.
    pub(super) fn has_any(&self, now: Instant) -> bool {
        let stays = |seen: Instant| now.saturating_duration_since(seen) < READER_STAYS;
        self.seen.lock().is_some_and(stays)
    }
}
