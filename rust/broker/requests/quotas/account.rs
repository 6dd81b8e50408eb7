//! What a connection holds of its quotas: a counter and a limit for each kind that its client has, and until when the
//! connection is held back.
//!
//! Each `count_` method counts a request and returns the `throttle_time_ms` of its answer; when that is not 0, it has
//! noted in [`HeldBack`] until when the connection serves nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::limits::QuotaKind;
use super::slots::Slot;
use crate::published::options::QuotaWindow;

/// Until when a connection is held back: it serves no request meanwhile. Shared by the connection and its requests on
/// other threads.
#[derive(Debug)]
pub struct HeldBack {
    start: Instant,
    /// Milliseconds since `start`; 0 while the connection is not held back.
    until_ms: AtomicU64,
}

/// The counter of one kind, and the limit.
type Counter = Option<(Arc<Slot>, f64)>;

/// See the module.
pub struct Account {
    counters: [Counter; QuotaKind::COUNT],
    window: QuotaWindow,
    start: Instant,
    held_back: Arc<HeldBack>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let limits = self
            .counters
            .each_ref()
            .map(|one| one.as_ref().map(|(_, limit)| *limit));
        f.debug_struct("Account")
            .field("limits", &limits)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Account {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Account {}

impl Account {
    pub(super) fn new(
        counters: [Counter; QuotaKind::COUNT],
        window: QuotaWindow,
        start: Instant,
        held_back: Arc<HeldBack>,
    ) -> Self {
        Self {
            counters,
            window,
            start,
            held_back,
        }
    }

    fn counter(&self, kind: QuotaKind) -> Option<&(Arc<Slot>, f64)> {
        self.counters[kind as usize].as_ref()
    }

    /// Counts a Produce request of `bytes` bytes. A request without an answer (acks=0) is not held to the quota of
    /// request time, as in Kafka.
    pub fn count_produce(&self, bytes: usize, is_answered: bool, now: Instant) -> i32 {
        let now_ms = millis(self.start, now);
        let of_bytes = self
            .counter(QuotaKind::Produce)
            .map_or(0, |(slot, limit)| slot.record(bytes as f64, *limit, now_ms));
        let of_requests = if is_answered { self.request_throttle(now_ms) } else { 0 };
        self.hold_back(QuotaKind::Produce, of_bytes, of_requests, now)
    }

    /// Counts the answer to a Fetch request. When the result is not 0, nothing was counted, and the answer must be sent
    /// without records.
    pub fn count_fetch(&self, bytes: usize, now: Instant) -> i32 {
        let now_ms = millis(self.start, now);
        let of_requests = self.request_throttle(now_ms);
        let of_bytes = self.counter(QuotaKind::Fetch).map_or(0, |(slot, limit)| {
            if of_requests > 0 {
                slot.throttle_time_ms(*limit, now_ms)
            } else {
                slot.record_within(bytes as f64, *limit, now_ms)
            }
        });
        self.hold_back(QuotaKind::Fetch, of_bytes, of_requests, now)
    }

    /// Counts bytes around the records of an answer to a Fetch, which is sent all the same.
    pub fn note_fetched(&self, bytes: usize, now: Instant) {
        if let Some((slot, limit)) = self.counter(QuotaKind::Fetch) {
            slot.note(bytes as f64, *limit, millis(self.start, now));
        }
    }

    /// The bytes that one answer to a Fetch may have after a pause without being held back: more would never be sent.
    pub fn max_fetch_bytes(&self) -> usize {
        self.counter(QuotaKind::Fetch).map_or(usize::MAX, |(_, limit)| {
            let seconds = self.window.sample.as_secs_f64() * f64::from(self.window.samples.saturating_sub(1).max(1));
            (limit * seconds) as usize
        })
    }

    /// Whether request time is limited.
    pub fn has_request_limit(&self) -> bool {
        self.counter(QuotaKind::Request).is_some()
    }

    /// Counts the time that a thread has spent on a request, without holding the client back.
    pub fn note_request_time(&self, time: Duration, now: Instant) {
        if let Some((slot, limit)) = self.counter(QuotaKind::Request) {
            let percent = time.as_secs_f64() * 100.0; // of one thread's second
            slot.note(percent, *limit, millis(self.start, now));
        }
    }

    /// The `throttle_time_ms` of an answer, for the request time that was counted before.
    pub fn throttle_requests(&self, now: Instant) -> i32 {
        let of_requests = self.request_throttle(millis(self.start, now));
        self.hold_back(QuotaKind::Request, 0, of_requests, now)
    }

    /// Kafka holds a client back for one sample at a time at most for its request time.
    fn request_throttle(&self, now_ms: u64) -> u64 {
        let most = u64::try_from(self.window.sample.as_millis()).unwrap_or(u64::MAX);
        self.counter(QuotaKind::Request)
            .map_or(0, |(slot, limit)| slot.throttle_time_ms(*limit, now_ms).min(most))
    }

    /// Holds the connection back for the longer time, which the counter of its quota notes.
    fn hold_back(&self, kind: QuotaKind, of_bytes: u64, of_requests: u64, now: Instant) -> i32 {
        let throttle_time_ms = of_bytes.max(of_requests);
        if throttle_time_ms == 0 {
            return 0;
        }
        let kind = if of_bytes > of_requests {
            kind
        } else {
            QuotaKind::Request
        };
        if let Some((slot, _)) = self.counter(kind) {
            slot.note_throttled(throttle_time_ms, millis(self.start, now));
        }
        let throttle_time_ms = i32::try_from(throttle_time_ms).unwrap_or(i32::MAX);
        let time = Duration::from_millis(u64::from(throttle_time_ms.unsigned_abs()));
        self.held_back.hold_back(time, now);
        throttle_time_ms
    }
}

impl HeldBack {
    /// A connection that is not held back; `start` is any moment before.
    pub fn new(start: Instant) -> Arc<Self> {
        Arc::new(Self {
            start,
            until_ms: AtomicU64::new(0),
        })
    }

    /// Holds the connection back for a time; a longer time that was noted before stays.
    pub fn hold_back(&self, throttle_time: Duration, now: Instant) {
        if !throttle_time.is_zero() {
            let until = now.checked_add(throttle_time).unwrap_or(now);
            self.until_ms.fetch_max(millis(self.start, until), Ordering::Release);
        }
    }

    /// Whether the connection is held back, or was until [`Self::end`] is called.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.until_ms.load(Ordering::Acquire) != 0
    }

    /// Ends the time if it is over; else returns when it will be.
    pub fn end(&self, now: Instant) -> Option<Instant> {
        let until_ms = self.until_ms.load(Ordering::Acquire);
        if until_ms > millis(self.start, now) {
            return Some(self.start + Duration::from_millis(until_ms));
        }
        // a longer time that was noted just now stays
        let _ = self
            .until_ms
            .compare_exchange(until_ms, 0, Ordering::AcqRel, Ordering::Relaxed);
        None
    }
}

/// Milliseconds since the start.
pub(super) fn millis(start: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(start).as_millis()).unwrap_or(u64::MAX)
}
