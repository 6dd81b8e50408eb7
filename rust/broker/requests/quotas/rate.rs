//! The rate over a window of samples that Kafka measures its quotas by (`SampledStat` with `Rate`), and the time that a
//! client over its limit waits.
//!
//! The window has `samples` samples. A sample lasts until an amount is counted after its length; then the next sample
//! begins. A sample whose last amount is as old as the whole window is emptied, and begins again at that moment. The
//! rate is the sum of all samples over the time since the oldest of them began; where that is shorter than the window
//! without its current sample, the samples that are missing count as passed. So a client may use the limit of the whole
//! window at once after a pause, and is held to the limit from then on.
//!
//! Nothing here reads a clock or takes a lock. Times are milliseconds since any fixed moment, as in Kafka.

use crate::published::options::QuotaWindow;

/// Amounts of some time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    began_ms: u64,
    last_ms: u64,
    sum: f64,
}

impl Sample {
    const fn empty(now_ms: u64) -> Self {
        Self {
            began_ms: now_ms,
            last_ms: now_ms,
            sum: 0.0,
        }
    }
}

/// The samples of one rate.
#[derive(Debug, Clone)]
pub struct Rate {
    /// One sample more than the window has: the oldest one overlaps the begin of the window.
    samples: Vec<Sample>,
    current: usize,
    max_samples: usize,
    sample_ms: u64,
    /// The last measurement, while no other sample has begun since: it is asked for many times in a millisecond.
    measured: Option<Measured>,
}

/// The sum of all samples at a moment, and the time that it was measured over.
#[derive(Debug, Clone, Copy)]
struct Measured {
    at_ms: u64,
    sum: f64,
    elapsed_ms: u64,
}

impl Rate {
    /// A rate without amounts.
    pub fn new(window: QuotaWindow) -> Self {
        Self {
            samples: Vec::new(),
            current: 0,
            max_samples: window.samples.max(1) as usize,
            sample_ms: u64::try_from(window.sample.as_millis()).unwrap_or(u64::MAX).max(1),
            measured: None,
        }
    }

    /// Counts an amount; a negative amount takes an earlier one back.
    pub fn record(&mut self, amount: f64, now_ms: u64) {
        let is_complete = match self.samples.get(self.current) {
            None => {
                self.samples.push(Sample::empty(now_ms));
                self.measured = None;
                false
            }
            Some(sample) => now_ms.saturating_sub(sample.began_ms) >= self.sample_ms,
        };
        if is_complete {
            self.measured = None;
            self.current = (self.current + 1) % (self.max_samples + 1);
            match self.samples.get_mut(self.current) {
                Some(sample) => *sample = Sample::empty(now_ms),
                None => self.samples.push(Sample::empty(now_ms)),
            }
        }
        if let Some(sample) = self.samples.get_mut(self.current) {
            sample.sum += amount;
            sample.last_ms = now_ms;
        }
        if let Some(measured) = &mut self.measured {
            measured.sum += amount;
        }
    }

    /// The rate, amounts a second, and the milliseconds that it was measured over.
    pub fn measure(&mut self, now_ms: u64) -> (f64, u64) {
        let known = self.measured.filter(|measured| measured.at_ms == now_ms);
        let Measured { sum, elapsed_ms, .. } = known.unwrap_or_else(|| self.measure_samples(now_ms));
        (sum * 1000.0 / elapsed_ms as f64, elapsed_ms)
    }

    fn measure_samples(&mut self, now_ms: u64) -> Measured {
        let window_ms = self.sample_ms.saturating_mul(self.max_samples as u64);
        let (mut sum, mut oldest_ms) = (0.0, now_ms);
        for sample in &mut self.samples {
            if now_ms.saturating_sub(sample.last_ms) >= window_ms {
                *sample = Sample::empty(now_ms);
            }
            sum += sample.sum;
            oldest_ms = oldest_ms.min(sample.began_ms);
        }
        let elapsed_ms = now_ms.saturating_sub(oldest_ms);
        let (full, least) = (elapsed_ms / self.sample_ms, self.max_samples as u64 - 1);
        let missing_ms = least.saturating_sub(full).saturating_mul(self.sample_ms);
        let measured = Measured {
            at_ms: now_ms,
            sum,
            elapsed_ms: elapsed_ms.saturating_add(missing_ms).max(1),
        };
        self.measured = Some(measured);
        measured
    }

    /// For how many milliseconds nothing may be counted so that the rate falls to `limit`; 0 when it is not above.
    pub fn throttle_time_ms(&mut self, limit: f64, now_ms: u64) -> u64 {
        let (rate, elapsed_ms) = self.measure(now_ms);
        if rate <= limit {
            return 0;
        }
        // rounded as in Kafka; a limit of 0 gives the longest time there is
        ((rate - limit) / limit * elapsed_ms as f64).round() as u64
    }

    /// What is left now of the amounts in the window, when they drain at the limit from the moments at which their
    /// samples began.
    pub fn backlog(&self, limit: f64, now_ms: u64) -> f64 {
        let mut amounts: Vec<_> = self
            .samples
            .iter()
            .map(|sample| (sample.began_ms, sample.sum))
            .collect();
        amounts.sort_by_key(|(began_ms, _)| *began_ms);
        let (mut backlog, mut at_ms) = (0.0_f64, 0);
        for (began_ms, sum) in amounts.into_iter().chain([(now_ms, 0.0)]) {
            backlog -= limit * began_ms.saturating_sub(at_ms) as f64 / 1000.0;
            backlog = backlog.max(0.0) + sum;
            at_ms = began_ms;
        }
        backlog
    }

    /// Whether no amount is left in the window: then the rate is as good as a new one.
    pub fn is_idle(&self, now_ms: u64) -> bool {
        let window_ms = self.sample_ms.saturating_mul(self.max_samples as u64);
        self.samples
            .iter()
            .all(|sample| now_ms.saturating_sub(sample.last_ms) >= window_ms)
    }
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
