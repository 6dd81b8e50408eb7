use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn window(samples: u32, sample_ms: u64) -> QuotaWindow {
    QuotaWindow {
        samples,
        sample: Duration::from_millis(sample_ms),
    }
}

/// The same rate from the list of all amounts that were ever counted.
struct Naive {
    window: QuotaWindow,
    /// Each sample ever begun: when it began, when it was last counted in, and its amounts.
    samples: Vec<(u64, u64, Vec<f64>)>,
}

impl Naive {
    fn sample_ms(&self) -> u64 {
        self.window.sample.as_millis() as u64
    }

    fn record(&mut self, amount: f64, now_ms: u64) {
        if self
            .samples
            .last()
            .is_none_or(|last| now_ms - last.0 >= self.sample_ms())
        {
            self.samples.push((now_ms, now_ms, Vec::new()));
        }
        let last = self.samples.last_mut().unwrap();
        last.1 = now_ms;
        last.2.push(amount);
        // the places are used in turn
        let kept = self.window.samples as usize + 1;
        if self.samples.len() > kept {
            self.samples.remove(0);
        }
    }

    fn measure(&mut self, now_ms: u64) -> (f64, u64) {
        let window_ms = self.sample_ms() * u64::from(self.window.samples);
        for sample in &mut self.samples {
            if now_ms - sample.1 >= window_ms {
                *sample = (now_ms, now_ms, Vec::new());
            }
        }
        let sum: f64 = self.samples.iter().flat_map(|sample| &sample.2).sum();
        let oldest = self.samples.iter().map(|sample| sample.0).min().unwrap_or(now_ms);
        let mut elapsed = now_ms - oldest;
        while elapsed / self.sample_ms() < u64::from(self.window.samples) - 1 {
            elapsed += self.sample_ms();
        }
        (sum * 1000.0 / elapsed.max(1) as f64, elapsed.max(1))
    }
}

proptest! {
    #[test]
    fn rate_over_any_amounts_and_pauses_matches_naive(
        samples in 1u32..6,
        sample_ms in 1u64..1500,
        steps in prop::collection::vec((0u64..4000, 0u32..1_000_000), 1..80),
    ) {
        let window = window(samples, sample_ms);
        let (mut rate, mut naive) = (Rate::new(window), Naive { window, samples: Vec::new() });
        let mut now_ms = 5;
        for (pause, amount) in steps {
            now_ms += pause;
            rate.record(f64::from(amount), now_ms);
            naive.record(f64::from(amount), now_ms);
            prop_assert_eq!(rate.measure(now_ms), naive.measure(now_ms));
        }
    }

    // As in Kafka, an amount of many seconds is forgotten with its window, so no larger ones here.
    #[test]
    fn client_that_waits_out_each_throttle_stays_at_its_limit_over_the_window(
        limit in 200_000u32..1_000_000,
        amounts in prop::collection::vec(1u32..200_000, 400),
    ) {
        let limit = f64::from(limit);
        let mut rate = Rate::new(QuotaWindow::default());
        let (mut now_ms, mut sent) = (0u64, 0.0);
        for amount in amounts {
            rate.record(f64::from(amount), now_ms);
            sent += f64::from(amount);
            // what one answer takes at least, and the wait that it names
            now_ms += 1 + rate.throttle_time_ms(limit, now_ms);
        }
        // the whole window is free at the begin, and the last amount is waited for afterwards
        prop_assert!(sent <= limit * (now_ms as f64 / 1000.0 + 11.0) + 200_000.0);
    }
}

#[test]
fn first_second_counts_as_the_whole_window() {
    let mut rate = Rate::new(QuotaWindow::default());
    rate.record(10_000.0, 0);
    assert_eq!(rate.measure(0), (1000.0, 10_000));
    assert_eq!(rate.throttle_time_ms(1000.0, 0), 0);
    assert_eq!(rate.throttle_time_ms(500.0, 0), 10_000);
}

#[test]
fn amount_that_is_taken_back_does_not_count() {
    let mut rate = Rate::new(QuotaWindow::default());
    rate.record(10_000.0, 0);
    rate.record(50_000.0, 10);
    rate.record(-50_000.0, 10);
    assert_eq!(rate.throttle_time_ms(1000.0, 10), 0);
}

#[test]
fn rate_is_idle_once_the_window_is_over_and_not_before() {
    let mut rate = Rate::new(window(2, 1000));
    assert!(rate.is_idle(0));
    rate.record(1.0, 500);
    assert!(!rate.is_idle(2499));
    assert!(rate.is_idle(2500));
}

#[test]
fn limit_of_nothing_gives_a_wait_without_overflow() {
    let mut rate = Rate::new(QuotaWindow::default());
    rate.record(1.0, 0);
    assert_eq!(rate.throttle_time_ms(0.0, 0), u64::MAX);
}
