use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Throttle, UNLIMITED};
use crate::published::options::QuotaWindow;
use crate::{Broker, Options};
use storage::LogContext;

const SECOND: Duration = Duration::from_secs(1);
const RATE: i64 = 100;

#[test]
fn nothing_recorded_exceeds_nothing() {
    let throttle = Throttle::new(11, SECOND);
    assert!(!throttle.is_exceeded(0, Instant::now()));
}

#[test]
fn window_counts_as_passed_from_the_start() {
    // KIP-73: as org.apache.kafka.common.metrics.stats.Rate
    let (throttle, now) = (Throttle::new(11, SECOND), Instant::now());
    throttle.record(1000, now);
    assert!(
        !throttle.is_exceeded(RATE, now),
        "1000 bytes in 10 seconds are the rate"
    );
    throttle.record(1, now);
    assert!(throttle.is_exceeded(RATE, now));
    assert!(!throttle.is_exceeded(RATE, now + Duration::from_millis(10_011)));
}

#[test]
fn what_is_older_than_the_window_is_forgotten() {
    let (throttle, now) = (Throttle::new(11, SECOND), Instant::now());
    throttle.record(1_000_000, now);
    assert!(throttle.is_exceeded(RATE, now + 10 * SECOND));
    assert!(!throttle.is_exceeded(RATE, now + 11 * SECOND));
}

#[test]
fn samples_are_forgotten_one_by_one() {
    let (throttle, start) = (Throttle::new(11, SECOND), Instant::now());
    throttle.record(1, start);
    throttle.record(1_000_000, start + 10 * SECOND);
    assert!(
        throttle.is_exceeded(RATE, start + 11 * SECOND),
        "only the first is over"
    );
    assert!(!throttle.is_exceeded(RATE, start + 21 * SECOND));
}

#[test]
fn rate_is_held_over_time_when_each_send_is_asked_for_first() {
    let (throttle, start) = (Throttle::new(11, SECOND), Instant::now());
    let mut sent = 0;
    for tick in 0..1000 {
        let now = start + Duration::from_millis(100) * tick;
        if !throttle.is_exceeded(RATE, now) {
            throttle.record(50, now);
            sent += 50;
        }
    }
    assert!(
        (9_000..=11_500).contains(&sent),
        "{sent} bytes in 100 seconds at {RATE} a second"
    );
}

#[test]
fn no_rate_exceeds_nothing_and_rate_zero_stops_after_the_first() {
    let (throttle, now) = (Throttle::new(11, SECOND), Instant::now());
    throttle.record(usize::MAX / 2, now);
    assert!(!throttle.is_exceeded(UNLIMITED, now));
    assert!(throttle.is_exceeded(0, now));
}

#[test]
fn no_more_is_kept_than_a_window_has_samples() {
    let (throttle, start) = (Throttle::new(11, SECOND), Instant::now());
    for tick in 0..10_000 {
        throttle.record(1, start + Duration::from_millis(100) * tick); // by who never asks
    }
    let kept = throttle.samples.lock().len();
    assert!(kept <= 11, "{kept} samples");
}

// KIP-73, KIP-113
#[test]
fn moves_between_directories_have_a_window_of_their_own() {
    let window = |samples| QuotaWindow {
        samples,
        sample: SECOND,
    };
    let options = Options {
        replication_quota: window(3),
        alter_log_dirs_quota: window(6),
        ..Options::default()
    };
    let broker = Broker::start(1, "unit".to_owned(), options, Arc::new(LogContext::system())).unwrap();
    let (throttles, now) = (&broker.throttles, Instant::now());
    for (throttle, samples) in [
        (&throttles.leader, 3),
        (&throttles.follower, 3),
        (&throttles.log_dirs, 6),
    ] {
        throttle.record(1 << 30, now);
        assert!(throttle.is_exceeded(RATE, now + SECOND * (samples - 1)));
        assert!(!throttle.is_exceeded(RATE, now + SECOND * samples));
    }
    broker.stop_threads();
}
