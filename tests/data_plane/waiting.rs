//! The purgatory over the wire: delayed produces and delayed fetches.

use std::time::{Duration, Instant};

use base::error::ErrorCode;
use base::place::Offset;
use broker::WaitKind;

use crate::fixture::{FOLLOWER, LIMIT, NODE, TOPIC, TOPIC_ID, TestBroker, wait_until};
use crate::requests::{Fetch, Produce, Wanted, batch};

/// An answer at a deadline may be late by the scheduler's doing; of several the best shows the broker's own delay.
const ATTEMPTS: usize = 8;
const MAX_LATE: Duration = Duration::from_millis(8);

/// A topic whose second replica never fetches.
fn replicated(config: &[(&str, &str)], partitions: i32) -> TestBroker {
    let broker = TestBroker::start();
    broker.create_topic(TOPIC, TOPIC_ID, partitions, config, &[NODE, FOLLOWER]);
    broker
}

fn wait_for_parked(broker: &TestBroker, kind: WaitKind) {
    wait_until("an operation is parked", || {
        broker.partition(0).waiters().len(kind) == 1
    });
}

/// Runs what ends at a deadline until it is answered on time; never may it be early.
fn ends_exactly_after(wait: Duration, mut run: impl FnMut()) {
    let mut least = LIMIT;
    for _ in 0..ATTEMPTS {
        let start = Instant::now();
        run();
        let elapsed = start.elapsed();
        let late = elapsed.checked_sub(wait);
        assert!(late.is_some(), "answered after {elapsed:?} instead of {wait:?}");
        least = least.min(late.unwrap());
        if least <= MAX_LATE {
            return;
        }
    }
    panic!("answered {least:?} late at best");
}

#[test]
fn a_produce_that_no_replica_confirms_times_out_exactly_and_stays_in_the_log() {
    let broker = replicated(&[], 1);
    let mut client = broker.connect();
    let mut count = 0;
    ends_exactly_after(Duration::from_millis(120), || {
        count += 1;
        let request = Produce {
            timeout_ms: 120,
            ..Produce::one(-1, batch(10))
        };
        let answer = client.produce(&request);
        assert_eq!(answer.partitions[0].error, ErrorCode::REQUEST_TIMED_OUT.0);
    });
    let offsets = broker.partition(0).offsets();
    assert_eq!((offsets.log_end, offsets.high_watermark), (Offset(count), Offset(0)));
    assert_eq!(broker.partition(0).waiters().len(WaitKind::Produce), 0);
}

#[test]
fn a_produce_waits_only_for_acks_minus_one_with_an_append_that_succeeded() {
    let broker = replicated(&[], 1);
    let mut client = broker.connect();
    assert_eq!(client.produce(&Produce::one(1, batch(10))).outcomes(), [(0, 0)]);
    let failed = client.produce(&Produce::of(-1, vec![(9, Some(batch(10)))]));
    assert_eq!(failed.partitions[0].error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0);
    let mixed = Produce {
        timeout_ms: 50,
        ..Produce::of(-1, vec![(9, Some(batch(10))), (0, Some(batch(10)))])
    };
    let codes: Vec<_> = client.produce(&mixed).partitions.iter().map(|p| p.error).collect();
    let expected = [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0, ErrorCode::REQUEST_TIMED_OUT.0];
    assert_eq!(codes, expected, "only the appended one waits");
}

#[test]
fn a_produce_is_answered_when_the_high_watermark_moves() {
    let broker = replicated(&[], 1);
    let mut client = broker.connect();
    client.send_produce(&Produce::one(-1, batch(10)));
    wait_for_parked(&broker, WaitKind::Produce);
    assert!(client.is_silent());
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    assert_eq!(client.produce_answer(12).outcomes(), [(0, 0)]);
}

#[test]
fn a_produce_that_waits_fails_when_the_in_sync_set_shrinks_below_the_minimum() {
    let broker = replicated(&[("min.insync.replicas", "2")], 1);
    let mut client = broker.connect();
    client.send_produce(&Produce::one(-1, batch(10)));
    wait_for_parked(&broker, WaitKind::Produce);
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    let code = ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND.0;
    assert_eq!(client.produce_answer(12).partitions[0].error, code);
}

#[test]
fn revoking_a_lease_answers_what_is_parked_at_once() {
    let broker = replicated(&[], 1);
    let (mut producer, mut consumer) = (broker.connect(), broker.connect());
    producer.send_produce(&Produce::one(-1, batch(10)));
    consumer.send_fetch(&Fetch::waiting(0, 30_000));
    wait_for_parked(&broker, WaitKind::Produce);
    wait_for_parked(&broker, WaitKind::Fetch);
    let start = Instant::now();
    broker.partition(0).revoke();
    let code = ErrorCode::NOT_LEADER_OR_FOLLOWER.0;
    assert_eq!(producer.produce_answer(12).partitions[0].error, code);
    assert_eq!(consumer.fetch_answer(12).only().error, code);
    assert!(start.elapsed() < LIMIT / 2);
}

#[test]
fn a_new_leader_epoch_answers_a_parked_fetch_of_the_old_one() {
    let broker = replicated(&[], 1);
    let mut consumer = broker.connect();
    let wanted = Wanted {
        current_leader_epoch: 0,
        ..Wanted::new(0, 0)
    };
    let request = Fetch {
        max_wait_ms: 20_000,
        ..Fetch::of(vec![wanted])
    };
    consumer.send_fetch(&request);
    wait_for_parked(&broker, WaitKind::Fetch);
    let start = Instant::now();
    broker.lease(TOPIC, 0, 1, &[NODE, FOLLOWER], &[NODE, FOLLOWER]);
    assert_eq!(consumer.fetch_answer(12).only().error, ErrorCode::FENCED_LEADER_EPOCH.0);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn answers_keep_the_order_of_pipelined_produces_and_a_later_fetch_waits() {
    let broker = replicated(&[], 1);
    let mut client = broker.connect();
    client.send_produce(&Produce::one(-1, batch(10)));
    client.send_produce(&Produce::one(1, batch(10)));
    client.send_produce(&Produce::one(-1, batch(10)));
    client.send_fetch(&Fetch::now(0));
    wait_until("all three are appended", || {
        broker.partition(0).offsets().log_end == Offset(3)
    });
    assert!(client.is_silent(), "the second must not overtake the first");
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    for (id, offset) in [(1, 0), (2, 1), (3, 2)] {
        let answer = client.produce_answer(12);
        assert_eq!((answer.correlation_id, answer.outcomes()), (id, vec![(0, offset)]));
    }
    let fetched = client.fetch_answer(12);
    assert_eq!(fetched.correlation_id, 4);
    assert_eq!(fetched.only().base_offsets(), [0, 1, 2]);
}

// A parked operation is watched once, however often it is called in vain
#[test]
fn a_produce_called_in_vain_is_watched_once() {
    let broker = replicated(&[], 2);
    let mut client = broker.connect();
    let rows = vec![(0, Some(batch(10))), (1, Some(batch(10)))];
    client.send_produce(&Produce::of(-1, rows));
    let both = [broker.partition(0), broker.partition(1)];
    for _ in 0..12 {
        for partition in &both {
            wait_until("it waits again", || {
                both.iter().all(|p| p.waiters().len(WaitKind::Produce) > 0)
            });
            let watched = both.each_ref().map(|p| p.waiters().len(WaitKind::Produce));
            assert!(watched.iter().all(|&n| n <= 1), "watched {watched:?} times");
            partition.waiters().wake_all(WaitKind::Produce);
        }
    }
}

#[test]
fn a_fetch_without_a_wait_is_answered_at_once() {
    let broker = replicated(&[], 1);
    assert!(broker.connect().fetch(&Fetch::now(0)).only().records.is_empty());
}

#[test]
fn a_fetch_without_partitions_is_answered_at_once() {
    let broker = replicated(&[], 1);
    let request = Fetch {
        max_wait_ms: 30_000,
        ..Fetch::of(Vec::new())
    };
    let start = Instant::now();
    assert!(broker.connect().fetch(&request).partitions.is_empty());
    assert!(start.elapsed() < LIMIT / 2);
}

#[test]
fn a_fetch_with_min_bytes_zero_or_reached_is_answered_at_once() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    let empty = Fetch {
        min_bytes: 0,
        ..Fetch::waiting(0, 30_000)
    };
    assert!(client.fetch(&empty).only().records.is_empty());
    client.produce(&Produce::one(1, batch(1000)));
    let start = Instant::now();
    let full = Fetch {
        min_bytes: 1000,
        ..Fetch::waiting(0, 30_000)
    };
    assert_eq!(client.fetch(&full).only().base_offsets(), [0]);
    assert!(start.elapsed() < LIMIT / 2);
}

#[test]
fn a_failed_partition_ends_the_wait_of_the_others() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let request = Fetch {
        max_wait_ms: 30_000,
        ..Fetch::of(vec![Wanted::new(0, 0), Wanted::new(5, 0)])
    };
    let start = Instant::now();
    let answer = broker.connect().fetch(&request);
    let codes: Vec<_> = answer.partitions.iter().map(|p| p.error).collect();
    assert_eq!(codes, [0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0]);
    assert!(start.elapsed() < LIMIT / 2);
}

#[test]
fn a_fetch_of_nothing_is_answered_exactly_when_its_wait_ends() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    ends_exactly_after(Duration::from_millis(120), || {
        assert!(client.fetch(&Fetch::waiting(0, 120)).only().records.is_empty());
    });
    assert_eq!(broker.partition(0).waiters().len(WaitKind::Fetch), 0);
}

#[test]
fn an_append_of_another_connection_wakes_a_fetch() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let (mut producer, mut consumer) = (broker.connect(), broker.connect());
    for offset in 0..20 {
        consumer.send_fetch(&Fetch::waiting(offset, 30_000));
        wait_for_parked(&broker, WaitKind::Fetch);
        producer.produce(&Produce::one(1, batch(10)));
        assert_eq!(consumer.fetch_answer(12).only().base_offsets(), [offset]);
    }
}

#[test]
fn a_fetch_waits_until_its_min_bytes_are_there() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let (mut producer, mut consumer) = (broker.connect(), broker.connect());
    let request = Fetch {
        min_bytes: 2500,
        ..Fetch::waiting(0, 30_000)
    };
    consumer.send_fetch(&request);
    wait_for_parked(&broker, WaitKind::Fetch);
    producer.produce(&Produce::one(1, batch(1000)));
    producer.produce(&Produce::one(1, batch(1000)));
    assert!(consumer.is_silent());
    producer.produce(&Produce::one(1, batch(1000)));
    assert_eq!(consumer.fetch_answer(12).only().base_offsets(), [0, 1, 2]);
}

#[test]
fn a_fetch_sees_nothing_past_the_high_watermark_and_wakes_when_it_moves() {
    let broker = replicated(&[], 1);
    let (mut producer, mut consumer) = (broker.connect(), broker.connect());
    producer.produce(&Produce::one(1, batch(10)));
    consumer.send_fetch(&Fetch::waiting(0, 30_000));
    wait_for_parked(&broker, WaitKind::Fetch);
    assert!(consumer.is_silent());
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    assert_eq!(consumer.fetch_answer(12).only().base_offsets(), [0]);
}

#[test]
fn a_client_that_is_reset_leaves_nothing_parked() {
    let broker = replicated(&[], 1);
    let mut producer = broker.connect();
    producer.send_produce(&Produce::one(-1, batch(10)));
    wait_for_parked(&broker, WaitKind::Produce);
    producer.reset();
    let mut consumer = broker.connect();
    consumer.send_fetch(&Fetch::waiting(0, i32::MAX));
    wait_for_parked(&broker, WaitKind::Fetch);
    consumer.reset();
    for kind in [WaitKind::Produce, WaitKind::Fetch] {
        wait_until("it is forgotten", || broker.partition(0).waiters().len(kind) == 0);
    }
    wait_until("both are closed", || broker.open_connections() == 0);
}

/// The request and the reset may come together, so that no event follows the request.
#[test]
fn a_fetch_that_comes_with_a_reset_is_not_kept() {
    let broker = replicated(&[], 1);
    for _ in 0..50 {
        let mut consumer = broker.connect();
        consumer.send_fetch(&Fetch::waiting(0, i32::MAX));
        consumer.reset();
    }
    let mut last = broker.connect();
    last.fetch(&Fetch::now(0)); // so all before it were accepted
    wait_until("all others are closed", || broker.open_connections() == 1);
    wait_until("none waits", || broker.partition(0).waiters().len(WaitKind::Fetch) == 0);
}

#[test]
fn a_client_that_only_ends_its_side_gets_its_answers_and_is_closed() {
    let broker = replicated(&[], 1);
    let (mut producer, mut consumer) = (broker.connect(), broker.connect());
    producer.send_produce(&Produce::one(-1, batch(10)));
    producer.finish_sending();
    consumer.send_fetch(&Fetch::waiting(0, i32::MAX));
    consumer.finish_sending();
    wait_for_parked(&broker, WaitKind::Produce);
    wait_for_parked(&broker, WaitKind::Fetch);
    assert!(producer.is_silent() && consumer.is_silent());
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    assert_eq!(producer.produce_answer(12).outcomes(), [(0, 0)]);
    assert_eq!(consumer.fetch_answer(12).only().base_offsets(), [0]);
    assert!(producer.is_closed() && consumer.is_closed());
}
