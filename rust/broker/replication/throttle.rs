//! How fast replicas that move may be copied: a rate over a sliding window, for each direction (KIP-73) and between log
//! directories (KIP-113).
//!
//! Only partitions that `leader.` and `follower.replication.throttled.replicas` name count, and only replicas that are
//! not in sync are held back: an in-sync replica is never slowed down. Between log directories all bytes count. The
//! window is Kafka's: `replication.quota.window.num` samples of `replication.quota.window.size.seconds`
//! (`alter.log.dirs.replication.…`), of which all but the current sample count as passed from the start. When the rate
//! is exceeded, the caller asks again later; nothing here waits or reads a clock.

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

/// The throttle of one direction.
pub struct Throttle {
    samples: Mutex<VecDeque<Sample>>,
    max_samples: u32,
    sample: Duration,
}

impl Throttle {
    /// A throttle over a window of `samples` samples, each as long as `sample`.
    pub fn new(samples: u32, sample: Duration) -> Self {
        Self {
            samples: Mutex::default(),
            max_samples: samples.max(1),
            sample: sample.max(Duration::from_millis(1)),
        }
    }

    /// Counts bytes of throttled partitions that were copied.
    pub fn record(&self, bytes: usize, now: Instant) {
        let mut samples = self.samples.lock();
        match samples.back_mut() {
            Some(last) if now.saturating_duration_since(last.since) < self.sample => last.bytes += bytes as u64,
            _ => {
                self.forget(&mut samples, now); // while every replica is in sync, `is_exceeded` is not called
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

    /// Whether more than `rate` bytes a second were copied within the window.
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

/// The throttles of replicas that move between brokers.
pub struct Throttles {
    /// Bytes that followers fetch from this broker.
    pub leader: Throttle,
    /// Bytes that this broker fetches as a follower.
    pub follower: Throttle,
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
