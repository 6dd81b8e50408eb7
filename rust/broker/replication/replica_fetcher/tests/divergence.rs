//! Elections between fetches: where logs part and are cut, and answers that come in the wrong leader epoch (KIP-101,
//! KIP-279).

use proptest::prelude::*;

use super::*;

/// KIP-101, scenario 1: a follower that had a record before it knew that it was committed keeps it.
#[test]
fn restarted_follower_does_not_cut_to_its_high_watermark() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch(2);
    assert_eq!(pair.high_watermarks(), [0, 0]);
    pair.elect(2, &[1, 2]);
    assert_eq!(pair.ends(), [1, 1]);
    pair.fetch_until_equal(1);
    assert_eq!(pair.ends(), [1, 1]);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

/// KIP-101, scenario 2: logs with different records at one offset.
#[test]
fn diverging_tail_is_cut_where_the_epochs_part() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    for _ in 0..3 {
        pair.append(1);
    }
    pair.elect(2, &[2]);
    pair.append(2);
    pair.fetch_until_equal(1);
    assert_eq!(pair.ends(), [2, 2]);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

// The leader's epoch begins within a batch for it, since its first records are deleted.
#[test]
fn log_that_is_cut_within_the_leaders_first_batch_takes_the_whole_batch() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    for _ in 0..3 {
        pair.append(1);
    }
    pair.at(1).partition(TOPIC, 0).flush().unwrap();
    pair.elect(2, &[2]);
    let leader = pair.at(2).partition(TOPIC, 0);
    leader.append(&mut batch_of(10), 1, Origin::Client, 0).unwrap();
    assert_eq!(leader.delete_records(Offset(3)).unwrap(), Offset(3));
    assert!(pair.fetch(1), "the session and the cut");
    assert_eq!(pair.ends(), [3, 11]);
    pair.fetch_until_equal(1);
    let follower = pair.at(1).partition(TOPIC, 0);
    assert_eq!(follower.offsets().log_start(), Offset(3));
    assert_eq!(follower.log().recovery_point(), Offset(11), "not before the old one");
    assert!(pair.bytes(2).ends_with(&pair.bytes(1)), "the batch alone");
}

// Where its log ends says nothing while another leader's records are in it.
#[test]
fn fetch_of_a_follower_with_a_diverging_log_commits_nothing() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    for _ in 0..3 {
        pair.append(1);
    }
    pair.elect(2, &[1, 2]);
    for _ in 0..3 {
        pair.append(2);
    }
    assert!(pair.fetch(1));
    assert_eq!(pair.ends(), [1, 4], "it had as many records, but others");
    let committed = pair.high_watermarks()[1];
    assert!(committed <= 1, "{committed} of which it has one");
    pair.fetch_until_equal(1);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

/// KIP-279: epochs of which the other knows nothing, on both sides.
#[test]
fn fast_changes_of_leaders_leave_no_divergence() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    for round in 0..6 {
        let (leader, other) = if round % 2 == 0 { (2, 1) } else { (1, 2) };
        pair.leader_epoch += 1;
        pair.tell(leader, leader, &[leader]); // the other has not heard of it
        pair.append(leader);
        pair.append(leader);
        assert_ne!(leader, other);
    }
    pair.elect(1, &[1]);
    pair.append(1);
    pair.fetch_until_equal(2);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

#[test]
fn bytes_of_a_deposed_leader_are_refused() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    let Next::Ask(ask) = pair.fetchers[1].next(&pair.brokers[1].broker, pair.now) else {
        panic!("nothing asked")
    };
    let answer = serve(&pair.brokers[0], ask.api_key, ask.api_version, &ask.body, pair.now);
    pair.leader_epoch += 1;
    pair.tell(2, 2, &[2]);
    pair.append(2);
    let after = pair.bytes(2);
    let broker = pair.brokers[1].broker.clone();
    pair.fetchers[1].complete(&broker, &answer, pair.now).unwrap();
    assert_eq!(pair.bytes(2), after);
    assert!(!pair.fetch(2), "it leads now");
}

#[test]
fn answer_that_was_asked_for_in_an_earlier_leader_epoch_is_not_taken() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    let broker = pair.brokers[1].broker.clone();
    let Next::Ask(ask) = pair.fetchers[1].next(&broker, pair.now) else {
        panic!("nothing asked")
    };
    let answer = serve(&pair.brokers[0], ask.api_key, ask.api_version, &ask.body, pair.now);
    pair.leader_epoch += 1;
    // The fetcher takes the new lease from its inbox after the answer.
    broker
        .logs()
        .publish_leases(TOPIC, vec![(0, pair.lease(1, &[1, 2]))], pair.now);
    pair.fetchers[1].complete(&broker, &answer, pair.now).unwrap();
    assert_eq!(pair.ends(), [1, 0]);
    for node in [1, 2] {
        pair.tell(node, 1, &[1, 2]);
    }
    pair.fetch_until_equal(2);
}

#[test]
fn fetch_in_an_old_epoch_stops_until_the_lease_changes() {
    let mut pair = Pair::new(&[]);
    pair.leader_epoch += 1;
    pair.tell(1, 1, &[1, 2]);
    pair.append(1);
    assert!(pair.fetch(2), "the leader refuses the old epoch");
    pair.now += Duration::from_mins(1);
    assert!(!pair.fetch(2));
    pair.tell(2, 1, &[1, 2]);
    pair.fetch_until_equal(2);
}

#[test]
fn fetch_in_an_epoch_ahead_of_the_leaders_waits_and_goes_on() {
    let mut pair = Pair::new(&[]);
    pair.leader_epoch += 1;
    pair.tell(2, 1, &[1, 2]);
    assert!(pair.fetch(2));
    let mut waits = Vec::new();
    for _ in 0..9 {
        let Next::Idle(Some(until)) = pair.fetchers[1].next(&pair.brokers[1].broker, pair.now) else {
            panic!("it does not wait")
        };
        waits.push((until - pair.now).as_millis());
        pair.now = until;
        assert!(pair.fetch(2));
    }
    assert_eq!(waits[..3], [10, 20, 40]);
    assert_eq!(waits[8], 1000, "replica.fetch.backoff.ms");
    pair.now += Duration::from_secs(1);
    pair.tell(1, 1, &[1, 2]);
    pair.append(1);
    pair.fetch_until_equal(2);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever was elected and appended, with messages late or lost, logs agree in the end.
    #[test]
    fn logs_are_equal_after_any_history(steps in prop::collection::vec((0..6_u8, 1..=2_i32), 1..60)) {
        let mut pair = Pair::new(&[]);
        let mut leader = 1;
        for (kind, node) in steps {
            match kind {
                0 => {
                    leader = node;
                    pair.elect(node, &[node]);
                }
                1 => {
                    leader = node;
                    pair.leader_epoch += 1;
                    pair.tell(node, node, &[node]);
                }
                2 => pair.fetchers[node as usize - 1].lost(),
                3 => pair.append(leader),
                _ => {
                    pair.fetch(3 - leader);
                    pair.now += Duration::from_millis(700);
                }
            }
        }
        pair.elect(leader, &[leader]);
        pair.append(leader);
        pair.fetch_until_equal(3 - leader);
        prop_assert_eq!(pair.bytes(1), pair.bytes(2));
    }
}

/// Case (a) of [`storage::Log::truncate_to_epoch`]: the same epoch, and the leader has less of it.
#[test]
fn follower_is_cut_at_the_shorter_end_of_its_leader() {
    let mut pair = Pair::new(&[]);
    for _ in 0..5 {
        pair.append(1);
    }
    pair.fetch_until_equal(2);
    let leader = pair.at(1).partition(TOPIC, 0);
    leader.log().truncate_to(Offset(2)).unwrap();
    leader.refresh();
    pair.fetch_until_equal(2);
    assert_eq!(pair.ends(), [2, 2]);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

#[test]
fn follower_that_knows_no_epoch_is_cut_at_the_end_of_its_leader() {
    let mut pair = Pair::new(&[]);
    for _ in 0..5 {
        pair.append(1);
    }
    pair.fetch_until_equal(2);
    let partition = pair.at(2).partition(TOPIC, 0);
    partition.flush().unwrap();
    let cut = partition
        .following(LeaderEpoch(0))
        .unwrap()
        .truncate_to_end_of_leader(Offset(3))
        .unwrap();
    assert_eq!(
        (cut.at, cut.is_below_flushed, partition.offsets().log_end()),
        (Offset(3), true, Offset(3))
    );
    let cut = partition
        .following(LeaderEpoch(0))
        .unwrap()
        .truncate_to_end_of_leader(Offset(4))
        .unwrap();
    assert_eq!((cut.at, cut.is_below_flushed), (Offset(3), false));
}
