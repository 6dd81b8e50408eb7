//! Fetch sessions over the wire (KIP-227).

use base::error::ErrorCode;
use broker::Options;

use crate::client::Client;
use crate::fixture::{TOPIC, TestBroker};
use crate::requests::{Fetch, Produce, Wanted, batch};

fn with_two_partitions() -> (TestBroker, Client) {
    let broker = TestBroker::start();
    broker.create(2, &[]);
    let client = broker.connect();
    (broker, client)
}

fn full(version: i16) -> Fetch<'static> {
    Fetch {
        version,
        session: (0, 0),
        ..Fetch::of(vec![Wanted::new(0, 0), Wanted::new(1, 0)])
    }
}

fn incremental(version: i16, id: i32, epoch: i32) -> Fetch<'static> {
    Fetch {
        version,
        session: (id, epoch),
        ..Fetch::of(Vec::new())
    }
}

// KIP-227 (full, incremental)
#[test]
fn a_session_answers_every_partition_once_and_then_changes_only() {
    for version in [7, 12, 13, 18] {
        let (_broker, mut client) = with_two_partitions();
        let opened = client.fetch(&full(version));
        assert_ne!(opened.session_id, 0);
        assert_eq!(opened.partitions.len(), 2);
        let id = opened.session_id;
        assert!(client.fetch(&incremental(version, id, 1)).partitions.is_empty());
        client.produce(&Produce::of(1, vec![(1, Some(batch(10)))]));
        let changed = client.fetch(&incremental(version, id, 2));
        assert_eq!((changed.session_id, changed.offsets()), (id, vec![(1, vec![0])]));
        let moved = Fetch {
            partitions: vec![Wanted::new(1, 1)],
            ..incremental(version, id, 3)
        };
        assert!(client.fetch(&moved).partitions.is_empty(), "version {version}");
    }
}

// KIP-227 (forget)
#[test]
fn a_forgotten_partition_is_read_no_more() {
    let (_broker, mut client) = with_two_partitions();
    let id = client.fetch(&full(12)).session_id;
    let forget = Fetch {
        forgotten: vec![1],
        ..incremental(12, id, 1)
    };
    assert!(client.fetch(&forget).partitions.is_empty());
    client.produce(&Produce::of(1, vec![(0, Some(batch(10))), (1, Some(batch(10)))]));
    assert_eq!(client.fetch(&incremental(12, id, 2)).offsets(), [(0, vec![0])]);
}

// KIP-227 (errors); as Kafka's SessionErrorContext: no session id, no partitions
#[test]
fn wrong_ids_epochs_and_ways_of_naming_are_errors_and_keep_the_session() {
    let (_broker, mut client) = with_two_partitions();
    let id = client.fetch(&full(12)).session_id;
    let cases = [
        (
            incremental(12, id.wrapping_add(1), 1),
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND,
        ),
        (incremental(12, id, 7), ErrorCode::INVALID_FETCH_SESSION_EPOCH),
        (incremental(13, id, 1), ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR),
    ];
    for (request, expected) in cases {
        let answer = client.fetch(&request);
        assert_eq!((answer.error, answer.session_id), (expected.0, 0));
        assert!(answer.partitions.is_empty());
    }
    assert_eq!(client.fetch(&incremental(12, id, 1)).error, 0);
}

// KIP-227 (epoch -1)
#[test]
fn a_closed_session_is_gone() {
    let (broker, mut client) = with_two_partitions();
    let id = client.fetch(&full(12)).session_id;
    assert_eq!(broker.broker().sessions.len(), 1);
    let close = Fetch {
        session: (id, -1),
        ..full(12)
    };
    assert_eq!(client.fetch(&close).session_id, 0);
    assert!(broker.broker().sessions.is_empty());
    let answer = client.fetch(&incremental(12, id, 1));
    assert_eq!(answer.error, ErrorCode::FETCH_SESSION_ID_NOT_FOUND.0);
}

#[test]
fn without_room_a_fetch_works_without_a_session() {
    let options = Options {
        fetch_session_slots: 1,
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    broker.create(2, &[]);
    let mut client = broker.connect();
    assert_ne!(client.fetch(&full(12)).session_id, 0);
    let second = client.fetch(&full(12));
    assert_eq!((second.error, second.session_id, second.partitions.len()), (0, 0, 2));
}

#[test]
fn a_session_waits_for_the_partitions_it_remembers() {
    let (broker, mut client) = with_two_partitions();
    let id = client.fetch(&full(12)).session_id;
    let waiting = Fetch {
        max_wait_ms: 30_000,
        ..incremental(12, id, 1)
    };
    client.send_fetch(&waiting);
    assert!(client.is_silent());
    broker.connect().produce(&Produce::of(1, vec![(1, Some(batch(10)))]));
    assert_eq!(client.fetch_answer(12).offsets(), [(1, vec![0])]);
}

#[test]
fn an_error_of_a_partition_of_the_session_is_answered_every_time() {
    let (broker, mut client) = with_two_partitions();
    let id = client.fetch(&full(12)).session_id;
    broker.broker().partition(TOPIC, 1).unwrap().revoke();
    for epoch in 1..4 {
        let answer = client.fetch(&incremental(12, id, epoch));
        assert_eq!(answer.only().index, 1);
        assert_eq!(answer.only().error, ErrorCode::NOT_LEADER_OR_FOLLOWER.0);
    }
}
