use super::*;

const LIMIT: f64 = 1_000_000.0;
const SECOND_MS: u64 = 1000;

/// Clients that offer all they can, and wait for what their answers name: what was let through, by 100 ms.
fn offered(counter: &mut Counter, clients: usize, amount: f64, is_kept: bool, seconds: u64) -> Vec<f64> {
    let mut passed = vec![0.0; usize::try_from(seconds * 10).unwrap()];
    let mut next_ms = vec![0; clients];
    loop {
        let (client, now_ms) = next_ms.iter().copied().enumerate().min_by_key(|(_, at)| *at).unwrap();
        let Some(of_now) = passed.get_mut(usize::try_from(now_ms / 100).unwrap()) else {
            return passed;
        };
        let throttle_time_ms = if is_kept {
            counter.record_within(amount, LIMIT, now_ms)
        } else {
            counter.record(amount, LIMIT, now_ms)
        };
        if throttle_time_ms == 0 || !is_kept {
            *of_now += amount;
        }
        next_ms[client] = now_ms + 2 + throttle_time_ms; // what an answer takes
    }
}

/// The average of 30 seconds, in limits.
fn of_30_s(passed: &[f64], from_s: usize) -> f64 {
    passed[from_s * 10..][..300].iter().sum::<f64>() / (30.0 * LIMIT)
}

#[test]
fn clients_that_offer_all_they_can_get_their_limit_in_30_seconds_from_the_begin_and_from_any_second_later() {
    for (clients, amount, is_kept) in [
        (1, 20_000.0, false),
        (16, 20_000.0, false),
        (1, 20_000.0, true),
        (16, 20_000.0, true),
        (1, 1_000_000.0, false),
        (16, 1_000_000.0, true),
    ] {
        let mut counter = Counter::paced(QuotaWindow::default());
        let passed = offered(&mut counter, clients, amount, is_kept, 60);
        for from_s in std::iter::once(0).chain(12..30) {
            let average = of_30_s(&passed, from_s);
            assert!(
                (average - 1.0).abs() < 0.05,
                "{clients} of {amount}, {is_kept}, from {from_s}: {average}"
            );
        }
    }
}

// Kafka's own figures are in docs/quotas.md
#[test]
fn window_alone_lets_bursts_through() {
    let passed = offered(&mut Counter::new(QuotaWindow::default()), 1, 20_000.0, false, 60);
    let averages: Vec<f64> = (12..30).map(|from_s| of_30_s(&passed, from_s)).collect();
    assert!(averages.iter().any(|average| *average < 0.8), "{averages:?}");
    assert!(averages.iter().any(|average| *average > 1.05), "{averages:?}");
}

#[test]
fn first_client_over_the_limit_waits_as_in_kafka_and_then_pays_its_burst_off() {
    let mut counter = Counter::paced(QuotaWindow::default());
    assert_eq!(counter.record(10.0 * LIMIT, LIMIT, 0), 0);
    assert_eq!(counter.record(LIMIT, LIMIT, 0), SECOND_MS);
    assert_eq!(counter.record(LIMIT, LIMIT, SECOND_MS), 11 * SECOND_MS);
    assert_eq!(counter.throttle_time_ms(LIMIT, 12 * SECOND_MS), 0);
}

#[test]
fn client_that_was_not_held_back_for_a_window_may_burst_again() {
    let mut counter = Counter::paced(QuotaWindow::default());
    counter.record(11.0 * LIMIT, LIMIT, 0);
    let later = 11 * SECOND_MS;
    assert!(
        counter.record(2.0 * LIMIT, LIMIT, later) > 0,
        "one sample may be saved up"
    );
    assert_eq!(counter.record(10.0 * LIMIT, LIMIT, later + 13 * SECOND_MS), 0);
}

// Kafka counts such an answer and takes it back each time, so its consumer gets nothing for ever
#[test]
fn amount_that_alone_is_above_the_limit_is_let_through_when_nothing_else_was_counted() {
    let mut counter = Counter::paced(QuotaWindow::default());
    assert_eq!(counter.record_within(100_000.0, 1000.0, 0), 0);
    assert_eq!(
        counter.record_within(100_000.0, 1000.0, 0),
        190_000,
        "200 KB at 1 KB a second, less the window of 10 s"
    );
    assert!(counter.record_within(1.0, 1000.0, 99_000) > 0);
    assert_eq!(counter.record_within(1.0, 1000.0, 100_000), 0);
}

#[test]
fn amount_above_the_limit_is_not_counted_when_it_may_be_kept() {
    let mut counter = Counter::new(QuotaWindow::default());
    assert_eq!(counter.record_within(10_000.0, 1000.0, 0), 0);
    assert!(counter.record_within(1.0, 1000.0, 0) > 0);
    assert_eq!(counter.throttle_time_ms(1000.0, 0), 0);
}

#[test]
fn debt_keeps_the_counter_until_it_is_paid() {
    let mut counter = Counter::paced(QuotaWindow::default());
    counter.record(30.0 * LIMIT, LIMIT, 0);
    assert!(!counter.is_idle(30 * SECOND_MS));
    assert!(counter.is_idle(32 * SECOND_MS));
}
