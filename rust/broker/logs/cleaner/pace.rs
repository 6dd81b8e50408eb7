//! The rate that all cleanings share, and the wish to stop.
//!
//! Bytes are paid for in advance of the next ones: a cleaning that has read or written bytes waits until the rate would
//! have allowed them. Waits in short pieces, so that a stop is noticed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use storage::cleaner::{Interrupted, Pace};

/// The longest that a stop goes unnoticed while a cleaning waits for the rate.
const NOTICE: Duration = Duration::from_millis(50);

/// See the module.
pub struct CleaningRate {
    /// Bytes a second, and the time at which all bytes so far are paid for.
    state: Mutex<(f64, Option<Instant>)>,
    is_stopping: AtomicBool,
}

impl Default for CleaningRate {
    fn default() -> Self {
        Self {
            state: Mutex::new((f64::MAX, None)),
            is_stopping: AtomicBool::new(false),
        }
    }
}

impl CleaningRate {
    /// Changes the rate, in bytes a second.
    pub fn set(&self, bytes_per_second: f64) {
        self.state.lock().0 = bytes_per_second;
    }

    /// Ends every cleaning at its next piece.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    /// When the bytes are paid for; `None` without a limit.
    fn pay(&self, bytes: u64, now: Instant) -> Option<Instant> {
        let (rate, paid_at) = &mut *self.state.lock();
        let takes_s = bytes as f64 / rate.max(1.0);
        if takes_s < 1e-9 {
            return None;
        }
        let from = paid_at.map_or(now, |paid_at| paid_at.max(now));
        let at = from + Duration::from_secs_f64(takes_s.min(3600.0));
        *paid_at = Some(at);
        Some(at)
    }
}

impl Pace for CleaningRate {
    fn pass(&self, bytes: u64) -> Result<(), Interrupted> {
        let paid_at = self.pay(bytes, Instant::now());
        loop {
            if self.is_stopping.load(Ordering::Acquire) {
                return Err(Interrupted::Stopped);
            }
            let left = paid_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(NOTICE));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::CleaningRate;
    use storage::cleaner::{Interrupted, Pace};

    #[test]
    fn bytes_of_all_cleanings_are_paid_for_one_after_the_other() {
        let (rate, now) = (CleaningRate::default(), Instant::now());
        assert_eq!(rate.pay(1 << 30, now), None);
        rate.set(1000.0);
        let after = |ms| Some(now + Duration::from_millis(ms));
        assert_eq!(rate.pay(500, now), after(500));
        assert_eq!(rate.pay(250, now), after(750));
        let later = now + Duration::from_secs(2);
        assert_eq!(rate.pay(100, later), Some(later + Duration::from_millis(100)));
    }

    #[test]
    fn a_stop_ends_a_cleaning_that_waits_for_its_rate() {
        let rate = CleaningRate::default();
        rate.set(1.0);
        rate.stop();
        assert!(matches!(rate.pass(1 << 20), Err(Interrupted::Stopped)));
    }
}
