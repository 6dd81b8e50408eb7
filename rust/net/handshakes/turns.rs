//! The turns of suspects: their handshakes begin at a bounded rate, all of them together.
//!
//! Nothing here reads a clock.

use std::time::{Duration, Instant};

/// Between two turns: 200 handshakes a second are less than a tenth of a core.
const PAUSE: Duration = Duration::from_millis(5);

/// See the module.
pub(super) struct Turns {
    next: Instant,
}

impl Turns {
    /// The first turn is at `start`.
    pub(super) fn new(start: Instant) -> Self {
        Self { next: start }
    }

    /// When the next turn is.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Takes the next turn, when it has come. Turns that nobody took are lost, but for the last one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        let is_late = now.saturating_duration_since(self.next) >= PAUSE;
        self.next = if is_late { now } else { self.next } + PAUSE;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_a_second_are_bounded_however_often_they_are_asked_for() {
        let start = Instant::now();
        let mut turns = Turns::new(start);
        let mut taken = 0;
        for micros in (0..1_000_000).step_by(700) {
            taken += u32::from(turns.take(start + Duration::from_micros(micros)));
        }
        assert_eq!(taken, 200);
        let later = start + Duration::from_mins(1);
        assert!(turns.take(later));
        assert!(!turns.take(later + PAUSE / 2));
        assert!(turns.take(later + PAUSE));
    }
}
