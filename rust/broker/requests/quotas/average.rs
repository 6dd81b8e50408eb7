//! The average of some times, over the last one or two windows: Kafka's `throttle-time`.
//!
//! Nothing here reads a clock or takes a lock.

/// Times of one window.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sum: f64,
    count: u32,
}

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub struct Average {
    began_ms: u64,
    current: Sum,
    before: Sum,
}

impl Average {
    /// Counts a time.
    pub fn add(&mut self, time_ms: u64, window_ms: u64, now_ms: u64) {
        self.turn(window_ms, now_ms);
        self.current.sum += time_ms as f64;
        self.current.count = self.current.count.saturating_add(1);
    }

    /// The average; 0 when there were no times.
    pub fn value(&mut self, window_ms: u64, now_ms: u64) -> f64 {
        self.turn(window_ms, now_ms);
        let count = f64::from(self.current.count) + f64::from(self.before.count);
        (self.current.sum + self.before.sum) / count.max(1.0)
    }

    fn turn(&mut self, window_ms: u64, now_ms: u64) {
        let passed_ms = now_ms.saturating_sub(self.began_ms);
        if passed_ms < window_ms {
            return;
        }
        let is_next = passed_ms < window_ms.saturating_mul(2);
        self.before = if is_next { self.current } else { Sum::default() };
        self.current = Sum::default();
        self.began_ms = now_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_is_of_the_last_one_or_two_windows() {
        let mut average = Average::default();
        assert!(average.value(1000, 500).abs() < 1e-9);
        average.add(100, 1000, 500);
        average.add(300, 1000, 900);
        assert!((average.value(1000, 900) - 200.0).abs() < 1e-9);
        average.add(500, 1000, 1100);
        assert!((average.value(1000, 1100) - 300.0).abs() < 1e-9);
        assert!((average.value(1000, 2100) - 500.0).abs() < 1e-9);
        assert!(average.value(1000, 3100).abs() < 1e-9);
    }
}
