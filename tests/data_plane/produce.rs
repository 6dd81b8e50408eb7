//! Produce: acks, versions, refusals.

use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec};

use crate::fixture::{FOLLOWER, NODE, TOPIC, TOPIC_ID, TestBroker};
use crate::requests::{Fetch, Produce, batch};

fn code(code: ErrorCode) -> (i16, i64) {
    (code.0, -1)
}

#[test]
fn every_version_appends_and_answers_the_base_offset() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    for (offset, version) in (3..=13).enumerate() {
        let request = Produce {
            version,
            ..Produce::one(1, batch(10))
        };
        let answer = client.produce(&request);
        assert_eq!(answer.outcomes(), [(0, offset as i64)], "version {version}");
    }
    assert_eq!(
        client.fetch(&Fetch::now(0)).only().base_offsets(),
        (0..11).collect::<Vec<_>>()
    );
}

#[test]
fn acks_zero_is_not_answered_and_the_next_answer_is_the_next_request_s() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    client.send_produce(&Produce::one(0, batch(10)));
    client.send_produce(&Produce::one(0, batch(10)));
    let answer = client.produce(&Produce::one(1, batch(10)));
    assert_eq!(answer.outcomes(), [(0, 2)]);
}

#[test]
fn a_failed_acks_zero_closes_the_connection_and_says_why_once() {
    let broker = TestBroker::start();
    let mut client = broker.connect();
    client.send_produce(&Produce::one(0, batch(10)));
    assert!(client.is_closed());
    let lines = broker.log_lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("acks=0"), "{lines:?}");
}

#[test]
fn acks_minus_one_with_one_replica_is_answered_at_once() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    assert_eq!(
        broker.connect().produce(&Produce::one(-1, batch(10))).outcomes(),
        [(0, 0)]
    );
}

#[test]
fn other_acks_are_refused_and_nothing_is_written() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    for acks in [-2, 2, i16::MAX, i16::MIN] {
        let answer = client.produce(&Produce::one(acks, batch(10)));
        assert_eq!(
            answer.outcomes(),
            [code(ErrorCode::INVALID_REQUIRED_ACKS)],
            "acks {acks}"
        );
    }
    assert_eq!(broker.partition(0).offsets().log_end, Offset(0));
}

#[test]
fn one_partition_s_error_does_not_fail_the_others() {
    let broker = TestBroker::start();
    broker.create(2, &[]);
    let rows = vec![(0, Some(batch(10))), (7, Some(batch(10))), (1, Some(batch(10)))];
    let answer = broker.connect().produce(&Produce::of(1, rows));
    let unknown = code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(answer.outcomes(), [(0, 0), unknown, (0, 0)]);
    assert_eq!(answer.partitions.iter().map(|p| p.index).collect::<Vec<_>>(), [0, 7, 1]);
}

#[test]
fn an_unknown_topic_id_has_another_error_than_an_unknown_partition() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    let by_id = Produce {
        version: 13,
        topic_id: [9; 16],
        ..Produce::one(1, batch(10))
    };
    assert_eq!(client.produce(&by_id).outcomes(), [code(ErrorCode::UNKNOWN_TOPIC_ID)]);
    let of_partition = Produce {
        version: 13,
        ..Produce::of(1, vec![(3, Some(batch(10)))])
    };
    let answer = client.produce(&of_partition);
    assert_eq!(answer.outcomes(), [code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)]);
}

#[test]
fn without_a_lease_nothing_is_served() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    broker.partition(0).revoke();
    let mut client = broker.connect();
    let refused = ErrorCode::NOT_LEADER_OR_FOLLOWER;
    assert_eq!(client.produce(&Produce::one(1, batch(10))).outcomes(), [code(refused)]);
    assert_eq!(client.fetch(&Fetch::now(0)).only().error, refused.0);
    assert_eq!(broker.partition(0).offsets().log_end, Offset(0));
}

#[test]
fn a_client_at_the_wrong_broker_gets_the_leader() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    broker.lease(TOPIC, 0, 5, &[FOLLOWER, NODE], &[FOLLOWER, NODE]);
    let answer = broker.connect().produce(&Produce::one(1, batch(10)));
    assert_eq!(answer.outcomes(), [code(ErrorCode::NOT_LEADER_OR_FOLLOWER)]);
    assert_eq!(answer.partitions[0].current_leader, Some((FOLLOWER, 5)));
}

#[test]
fn too_few_in_sync_replicas_refuse_acks_minus_one_only() {
    let broker = TestBroker::start();
    let config = [("min.insync.replicas", "2")];
    broker.create_topic(TOPIC, TOPIC_ID, 1, &config, &[NODE, FOLLOWER]);
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    let mut client = broker.connect();
    let refused = client.produce(&Produce::one(-1, batch(10)));
    assert_eq!(refused.outcomes(), [code(ErrorCode::NOT_ENOUGH_REPLICAS)]);
    assert_eq!(broker.partition(0).offsets().log_end, Offset(0));
    assert_eq!(client.produce(&Produce::one(1, batch(10))).outcomes(), [(0, 0)]);
}

/// KIP-966: as Kafka 4.3 does, though `min.insync.replicas` cannot be reached.
#[test]
fn all_replicas_are_enough_where_there_are_fewer_than_the_minimum() {
    let broker = TestBroker::start();
    broker.create(1, &[("min.insync.replicas", "2")]);
    let answer = broker.connect().produce(&Produce::one(-1, batch(10)));
    assert_eq!(answer.outcomes(), [(0, 0)]);
}

#[test]
fn clients_may_not_write_internal_topics() {
    let broker = TestBroker::start();
    let name = "__consumer_offsets";
    broker.create_topic(name, [8; 16], 1, &[], &[NODE]);
    let request = Produce {
        topic: name,
        ..Produce::one(1, batch(10))
    };
    let answer = broker.connect().produce(&request);
    assert_eq!(answer.outcomes(), [code(ErrorCode::INVALID_TOPIC_EXCEPTION)]);
    assert_eq!(broker.broker().partition(name, 0).unwrap().offsets().log_end, Offset(0));
}

#[test]
fn a_partition_takes_exactly_one_batch_with_a_good_checksum() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    let two = [batch(10), batch(10)].concat();
    let mut damaged = batch(10);
    *damaged.last_mut().unwrap() ^= 1;
    let mut old = batch(10);
    old[16] = 1; // magic
    let half = batch(10)[..40].to_vec();
    let cases = [
        ("two batches", Some(two), ErrorCode::INVALID_RECORD),
        ("no bytes", Some(Vec::new()), ErrorCode::INVALID_RECORD),
        ("null", None, ErrorCode::INVALID_RECORD),
        ("a batch cut short", Some(half), ErrorCode::INVALID_RECORD),
        ("a bad checksum", Some(damaged), ErrorCode::CORRUPT_MESSAGE),
        ("magic 1", Some(old), ErrorCode::INVALID_RECORD),
    ];
    for (name, records, expected) in cases {
        let answer = client.produce(&Produce::of(1, vec![(0, records)]));
        assert_eq!(answer.outcomes(), [code(expected)], "{name}");
    }
    assert_eq!(broker.partition(0).offsets().log_end, Offset(0));
    let answer = client.produce(&Produce::one(1, batch(10)));
    assert_eq!(answer.outcomes(), [(0, 0)], "the connection lives");
}

#[test]
fn transactional_batches_without_a_transactional_id_and_control_batches_are_refused() {
    let broker = TestBroker::start();
    broker.create(1, &[]);
    let mut client = broker.connect();
    let transactional = || {
        let mut builder = BatchBuilder::new(Codec::None).producer(5, 0, 0).transactional(true);
        builder.append(1, None, Some(b"v"), &[]);
        builder.build(Offset(0), LeaderEpoch::NONE)
    };
    let answer = client.produce(&Produce::one(1, transactional()));
    let expected = [code(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)];
    assert_eq!(answer.outcomes(), expected);
    let marker = record::end_transaction_marker(true, 5, 0, 0, 1);
    let named = Produce {
        transactional_id: Some("t"),
        ..Produce::one(1, marker)
    };
    assert_ne!(client.produce(&named).partitions[0].error, 0);
    assert_eq!(broker.partition(0).offsets().log_end, Offset(0));
}
