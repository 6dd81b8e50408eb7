//! How fast replicas that move may be copied: a rate over a sliding window, for each direction (KIP-73) and between log
//! directories (KIP-113).
//!
//! Only partitions that `leader.` and `follower.replication.throttled.replicas` name count, and only replicas that are
//! not in sync are held back: a partition in order is never slowed down; between log directories everything counts. The
//! window is Kafka's: `replication.quota.window.num` samples of `replication.quota.window.size.seconds`
//! (`alter.log.dirs.replication.…`), of which all but the one under way count as passed from the start. Whoever is told
//! that the rate is exceeded asks again later; nothing here waits or knows a clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// No limit: Kafka's default rate.
pub const UNLIMITED: i64 = i64::MAX;

/// Bytes since an instant.
struct Sample {
    since: Instant,
    bytes: u64,
}

/// One direction.
pub struct Throttle {
    samples: Mutex<VecDeque<Sample>>,
    max_samples: u32,
    sample: Duration,
}

impl Throttle {
    /// Over `samples` of `sample` each.
    pub fn new(samples: u32, sample: Duration) -> Self {
        Self {
            samples: Mutex::default(),
            max_samples: samples.max(1),
            sample: sample.max(Duration::from_millis(1)),
        }
    }

    /// So many bytes of throttled partitions went.
    pub fn record(&self, bytes: usize, now: Instant) {
        let mut samples = self.samples.lock();
        match samples.back_mut() {
            Some(last) if now.saturating_duration_since(last.since) < self.sample => last.bytes += bytes as u64,
            _ => {
                self.forget(&mut samples, now); // nobody asks while every replica is in sync
                samples.push_back(Sample {
                    since: now,
                    bytes: bytes as u64,
                });
            }
        }
    }

    fn forget(&self, samples: &mut VecDeque<Sample>, now: Instant) {
        let window = self.sample * self.max_samples;
        while samples
            .front()
            .is_some_and(|first| now.saturating_duration_since(first.since) >= window)
        {
            samples.pop_front();
        }
    }

    /// Whether more than `rate` bytes a second went lately.
    pub fn is_exceeded(&self, rate: i64, now: Instant) -> bool {
        if rate == UNLIMITED {
            return false;
        }
        let mut samples = self.samples.lock();
        self.forget(&mut samples, now);
        let Some(first) = samples.front() else { return false };
        let least = self.sample * (self.max_samples - 1);
        let passed = now.saturating_duration_since(first.since).max(least).max(self.sample);
        let bytes: u64 = samples.iter().map(|sample| sample.bytes).sum();
        u128::from(bytes) * 1000 > u128::from(rate.max(0).unsigned_abs()) * passed.as_millis()
    }
}

/// Those of one broker.
pub struct Throttles {
    /// What followers fetch from here.
    pub leader: Throttle,
    /// What this broker fetches.
    pub follower: Throttle,
    /// What moves between its log directories.
    pub log_dirs: Throttle,
}

#[cfg(test)]
mod tests;
