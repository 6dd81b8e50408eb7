//! Replicas that are held to a rate, by their leader and by themselves (KIP-73), and those that are not.

use super::*;
use crate::Options;

const THROTTLED: [(&str, &str); 2] = [
    ("leader.replication.throttled.replicas", "0:1"),
    ("follower.replication.throttled.replicas", "0:2"),
];

/// Sets rates at the leader, broker 1, and at the follower, broker 2.
fn limit(pair: &Pair, leader: i64, follower: i64) {
    for (node, leader_throttled_rate, follower_throttled_rate) in [(1, leader, i64::MAX), (2, i64::MAX, follower)] {
        let broker = &pair.at(node).broker;
        broker.set_options(Options {
            leader_throttled_rate,
            follower_throttled_rate,
            ..Options::clone(&broker.options())
        });
    }
}

/// How many of 400 appended batches reach broker 2 in ten seconds of fetches, of which one is made every 100 ms.
fn batches_in_ten_seconds(pair: &mut Pair) -> i64 {
    for _ in 0..400 {
        pair.append(1);
    }
    for _ in 0..100 {
        pair.fetch(2);
        pair.now += Duration::from_millis(100);
    }
    pair.at(2).partition(TOPIC, 0).offsets().log_end().get()
}

fn throttled_pair(config: &[(&str, &str)]) -> Pair {
    let mut pair = Pair::new(config);
    pair.elect(1, &[1]);
    pair
}

/// The same, where a fetch brings one batch.
fn one_by_one(config: &[(&str, &str)]) -> Pair {
    let pair = throttled_pair(config);
    for node in [1, 2] {
        let broker = &pair.at(node).broker;
        broker.set_options(Options {
            replica_fetch_max_bytes: batch(1_000).len() as i32,
            ..Options::clone(&broker.options())
        });
    }
    pair
}

#[test]
fn replica_out_of_sync_is_held_to_the_rate_by_its_leader_and_by_itself() {
    let rate = batch(1_000).len() as i64;
    for (leader, follower) in [(rate, i64::MAX), (i64::MAX, rate)] {
        let mut pair = one_by_one(&THROTTLED);
        limit(&pair, leader, follower);
        let copied = batches_in_ten_seconds(&mut pair);
        assert!(
            (10..=14).contains(&copied),
            "{copied} batches, where one a second is allowed"
        );
    }
}

#[test]
fn replica_that_is_not_named_or_is_in_sync_is_not_held_back() {
    let mut pair = throttled_pair(&[]);
    limit(&pair, 1, 1);
    assert_eq!(batches_in_ten_seconds(&mut pair), 400);
    let mut pair = Pair::new(&THROTTLED);
    limit(&pair, 1, i64::MAX);
    assert_eq!(batches_in_ten_seconds(&mut pair), 400);
}

/// More than any rate of these tests, lately.
fn exceed(pair: &Pair) {
    pair.at(1).broker.throttles().leader.record(1 << 30, pair.now);
    pair.at(2).broker.throttles().follower.record(1 << 30, pair.now);
}

#[test]
fn while_the_rate_is_exceeded_only_named_followers_that_are_behind_are_throttled() {
    for (config, in_sync, leader, follower, brings) in [
        (&[] as &[(&str, &str)], &[1][..], 1, 1, 1), // not named
        (&THROTTLED, &[1, 2], 1, i64::MAX, 1),       // in sync
        (&THROTTLED, &[1], 1, i64::MAX, 0),
        (&THROTTLED, &[1], i64::MAX, 1, 1), // caught up, as far as it knows
    ] {
        let mut pair = Pair::new(config);
        pair.elect(1, in_sync);
        pair.append(1);
        pair.fetch_until_equal(2);
        limit(&pair, leader, follower);
        exceed(&pair);
        pair.append(1);
        pair.fetch(2);
        assert_eq!(
            pair.ends(),
            [2, 1 + brings],
            "{config:?} {in_sync:?} {leader} {follower}"
        );
    }
}

#[test]
fn follower_that_is_behind_throttles_only_named_replicas() {
    for (config, goes_on) in [(&[] as &[(&str, &str)], true), (&THROTTLED, false)] {
        let mut pair = one_by_one(config);
        for _ in 0..4 {
            pair.append(1);
        }
        while pair.ends()[1] < 1 {
            pair.fetch(2);
        }
        limit(&pair, i64::MAX, 1);
        exceed(&pair);
        let before = pair.ends()[1];
        assert!(before < 4);
        pair.fetch(2);
        assert_eq!(pair.ends()[1] > before, goes_on, "{config:?}");
        let is_in_session = pair.fetchers[1].forgotten.is_empty();
        assert_eq!(
            is_in_session, goes_on,
            "{config:?}: or others' fetches bring it in vain"
        );
        assert_eq!(pair.fetch(2), goes_on, "{config:?}: what is held back is not asked for");
    }
}

#[test]
fn what_is_copied_of_a_replica_that_is_not_named_does_not_count() {
    let mut pair = throttled_pair(&[]);
    limit(&pair, 1, 1);
    assert_eq!(batches_in_ten_seconds(&mut pair), 400);
    assert!(!pair.at(1).broker.throttles().leader.is_exceeded(0, pair.now));
    assert!(!pair.at(2).broker.throttles().follower.is_exceeded(0, pair.now));
}

#[test]
fn how_far_a_replica_is_that_is_held_back_is_noted() {
    let mut pair = throttled_pair(&THROTTLED);
    pair.append(1);
    pair.fetch(2);
    while pair.ends()[1] < 1 {
        pair.fetch(2);
    }
    pair.proposals(1);
    limit(&pair, 1, i64::MAX);
    exceed(&pair);
    pair.fetch(2);
    assert_eq!(pair.proposals(1).len(), 1, "it has all that there is");
}

#[test]
fn replica_that_is_held_back_goes_on_when_the_rate_is_taken_away() {
    for (leader, follower) in [(0, i64::MAX), (i64::MAX, 0)] {
        let mut pair = one_by_one(&THROTTLED);
        limit(&pair, leader, follower);
        let copied = batches_in_ten_seconds(&mut pair);
        assert!(copied <= 1, "{copied} batches at rate zero");
        limit(&pair, i64::MAX, i64::MAX);
        pair.now += Duration::from_secs(1);
        while pair.ends()[1] < 400 {
            assert!(pair.fetch(2), "{:?} and it does not ask", pair.ends());
        }
    }
}

/// A move ends with a new leader epoch for everybody: who was in sync would leave the set behind the rate of the moves
/// that go on.
#[test]
fn replica_that_is_in_sync_is_not_held_back_after_an_election() {
    for (in_sync, brings) in [(&[1, 2][..], 1), (&[1], 0)] {
        let mut pair = Pair::new(&THROTTLED);
        limit(&pair, 1, 1);
        exceed(&pair);
        pair.elect(1, in_sync);
        pair.append(1);
        pair.fetch(2);
        assert_eq!(pair.ends(), [1, brings], "in sync are {in_sync:?}");
    }
}
