//! What clients that share a limit have used of it: the window of Kafka, and behind it the pace of clients that were
//! held back.
//!
//! Kafka's window decides when clients are held back first, and for how long. By the window alone, clients that offer
//! more than their limit would then get next to nothing until their burst leaves the window, and the limit of a whole
//! window at once when it does: over 30 seconds between 0.74 and 1.16 of the limit (`benches/quotas`). So from the
//! moment at which clients are held back, until they were not for a whole window:
//!
//! ```text
//! A  what their last burst has in excess of the limit is a debt, which is paid off at the limit's rate
//! B  each amount adds to the debt, and they wait until the debt is paid
//! C  without a debt they may save up the limit of one sample
//! ```
//! So bytes of any 30 seconds are the limit's, give or take one sample and what was under way when a client was held
//! back. Request time and connections have the window alone ([`Counter::new`]): Kafka bounds their times by one sample.
//!
//! Nothing here reads a clock or takes a lock.

use super::average::Average;
use super::rate::Rate;
use crate::published::options::QuotaWindow;

/// Debts longer than these windows are forgotten, in windows without an amount; connections wait for their whole time.
const KEPT_WINDOWS: u64 = 10;

/// The pace of clients that were held back.
#[derive(Debug, Clone, Copy)]
struct Pace {
    /// What they may use now; below zero is a debt (A, B).
    tokens: f64,
    at_ms: u64,
    /// The window alone counts from this moment on.
    until_ms: u64,
}

impl Pace {
    fn refill(&mut self, limit: f64, sample_ms: u64, now_ms: u64) {
        let passed_ms = now_ms.saturating_sub(self.at_ms);
        let most = limit * sample_ms as f64 / 1000.0; // C
        self.tokens = (self.tokens + limit * passed_ms as f64 / 1000.0).min(most);
        self.at_ms = self.at_ms.max(now_ms);
    }

    fn wait_ms(&self, limit: f64) -> u64 {
        if self.tokens >= 0.0 {
            return 0;
        }
        (-self.tokens / limit * 1000.0).ceil() as u64 // a limit of 0 gives the longest time there is
    }
}

/// See the module.
pub struct Counter {
    rate: Rate,
    pace: Option<Pace>,
    throttled: Average,
    is_paced: bool,
    sample_ms: u64,
    window_ms: u64,
}

impl Counter {
    /// By Kafka's window alone.
    pub fn new(window: QuotaWindow) -> Self {
        let sample_ms = u64::try_from(window.sample.as_millis()).unwrap_or(u64::MAX).max(1);
        Self {
            rate: Rate::new(window),
            pace: None,
            throttled: Average::default(),
            is_paced: false,
            sample_ms,
            window_ms: sample_ms.saturating_mul(u64::from(window.samples.max(1))),
        }
    }

    /// With the pace.
    pub fn paced(window: QuotaWindow) -> Self {
        Self {
            is_paced: true,
            ..Self::new(window)
        }
    }

    /// Counts an amount, without holding anybody back.
    pub fn note(&mut self, amount: f64, limit: f64, now_ms: u64) {
        self.rate.record(amount, now_ms);
        if let Some(pace) = self.running(limit, now_ms) {
            pace.tokens -= amount;
        }
    }

    /// Counts an amount, and returns for how many milliseconds the client must be held back.
    pub fn record(&mut self, amount: f64, limit: f64, now_ms: u64) -> u64 {
        self.note(amount, limit, now_ms);
        let throttle_time_ms = self.throttle_time_ms(limit, now_ms);
        self.hold_back(throttle_time_ms, limit, now_ms);
        throttle_time_ms
    }

    /// Counts an amount that may still be kept from the client: by the window if the rate with it stays within the
    /// limit, by the pace unless there is a debt. Else counts nothing, and returns for how many milliseconds the client
    /// must be held back. An amount that alone is above the limit is counted when the window is empty, and what follows
    /// waits for it: an answer with one large batch would never be sent otherwise.
    pub fn record_within(&mut self, amount: f64, limit: f64, now_ms: u64) -> u64 {
        if let Some(pace) = self.running(limit, now_ms) {
            let throttle_time_ms = pace.wait_ms(limit);
            if throttle_time_ms == 0 {
                self.note(amount, limit, now_ms);
            }
            self.hold_back(throttle_time_ms, limit, now_ms);
            return throttle_time_ms;
        }
        let is_empty = self.rate.measure(now_ms).0 <= 0.0;
        self.rate.record(amount, now_ms);
        let throttle_time_ms = self.rate.throttle_time_ms(limit, now_ms);
        if is_empty {
            return 0;
        }
        if throttle_time_ms > 0 {
            self.rate.record(-amount, now_ms);
            self.hold_back(throttle_time_ms, limit, now_ms);
        }
        throttle_time_ms
    }

    /// For how many milliseconds the client must be held back for what was counted before.
    pub fn throttle_time_ms(&mut self, limit: f64, now_ms: u64) -> u64 {
        match self.running(limit, now_ms) {
            Some(pace) => pace.wait_ms(limit),
            None => self.rate.throttle_time_ms(limit, now_ms),
        }
    }

    /// Notes for how long an answer had a client held back.
    pub fn note_throttled(&mut self, throttle_time_ms: u64, now_ms: u64) {
        self.throttled.add(throttle_time_ms, self.window_ms, now_ms);
    }

    /// The rate, and the average time for which clients were held back, in milliseconds.
    pub fn figures(&mut self, now_ms: u64) -> (f64, f64) {
        (
            self.rate.measure(now_ms).0,
            self.throttled.value(self.window_ms, now_ms),
        )
    }

    /// Whether nothing is left of any amount: then the counter is as good as a new one.
    pub fn is_idle(&self, now_ms: u64) -> bool {
        self.rate.is_idle(now_ms) && self.pace.is_none_or(|pace| now_ms >= pace.until_ms)
    }

    /// The pace, refilled, while it counts.
    fn running(&mut self, limit: f64, now_ms: u64) -> Option<&mut Pace> {
        let pace = self.pace.as_mut().filter(|pace| now_ms < pace.until_ms)?;
        pace.refill(limit, self.sample_ms, now_ms);
        Some(pace)
    }

    /// A client is held back: the pace begins (A), or goes on.
    fn hold_back(&mut self, throttle_time_ms: u64, limit: f64, now_ms: u64) {
        if throttle_time_ms == 0 || !self.is_paced {
            return;
        }
        let kept_ms = throttle_time_ms.min(self.window_ms.saturating_mul(KEPT_WINDOWS));
        let until_ms = now_ms.saturating_add(kept_ms).saturating_add(self.window_ms);
        if let Some(pace) = self.running(limit, now_ms) {
            pace.until_ms = pace.until_ms.max(until_ms);
            return;
        }
        self.pace = Some(Pace {
            tokens: -self.rate.backlog(limit, now_ms),
            at_ms: now_ms,
            until_ms,
        });
    }
}

#[cfg(test)]
#[path = "counter_tests.rs"]
mod tests;
