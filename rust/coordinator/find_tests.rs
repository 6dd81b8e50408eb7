use std::sync::Arc;

use super::*;
use base::place::LeaderEpoch;
use broker::testing::{CALLER, Fixture, request};
use broker::{Broker, BrokerRow, Caller, PartitionRow, Scratch, TopicRow};
use protocol::Writer;

/// Two brokers, of which 2 is reached on another listener only; three partitions, led by 1, by 2 and by nobody.
fn publish(broker: &Broker) {
    let row = |node_id, listener: &str| BrokerRow {
        node_id,
        rack: None,
        endpoints: vec![(listener.to_owned(), format!("host{node_id}"), 9092)],
    };
    broker
        .image()
        .publish_cluster(vec![row(1, "CLIENTS"), row(2, "OTHERS")], 1);
    let partition = |(index, leader)| PartitionRow {
        index,
        leader,
        leader_epoch: LeaderEpoch(0),
        replicas: [1].into(),
        in_sync_replicas: [1].into(),
        offline_replicas: [].into(),
    };
    broker.image().publish_topics(vec![TopicRow {
        name: Arc::from(OFFSETS_TOPIC),
        id: [7; 16],
        is_internal: true,
        keys_over: 3,
        partitions: [(0, 1), (1, 2), (2, -1)].into_iter().map(partition).collect(),
    }]);
}

/// The answer, or nothing when it is the control plane's.
fn ask(broker: &Broker, key_type: u8, keys: &[&str]) -> Option<Vec<u8>> {
    let (mut body, mut out) = (Vec::new(), Vec::new());
    let mut w = Writer::new(&mut body, true);
    w.raw(&[key_type]);
    w.length(Some(keys.len()));
    for key in keys {
        w.string(key);
    }
    w.no_tags();
    let (listener, scratch) = ("CLIENTS", &mut Scratch::default());
    let asked = Request {
        caller: Caller { listener, ..CALLER },
        ..request(broker, 4, &mut body, scratch)
    };
    match FindCoordinator.serve(asked, &mut out).unwrap() {
        Served::Answered(_) => Some(out),
        Served::Control(None) if out.is_empty() => None,
        _ => panic!("no outcome of FindCoordinator"),
    }
}

/// Java's hash of "a" is 97, of "b" 98, of "c" 99: partitions 1, 2 and 0 of three.
#[test]
fn a_group_is_kept_by_the_leader_of_its_partition() {
    let fixture = Fixture::new(1);
    publish(&fixture.broker);
    let answer = ask(&fixture.broker, 0, &["c"]);
    let expected = b"\0\0\0\0\x02\x02c\0\0\0\x01\x06host1\0\0\x23\x84\0\0\x01\0\0";
    assert_eq!(answer.as_deref(), Some(&expected[..]));
}

#[test]
fn what_is_not_published_is_left_to_the_control_plane() {
    let fixture = Fixture::new(1);
    assert_eq!(ask(&fixture.broker, 0, &["c"]), None, "no topic yet");
    publish(&fixture.broker);
    for (key_type, keys, why) in [
        (1, &["c"][..], "another kind of key"),
        (0, &["b"], "no leader"),
        (0, &["c", "a"], "a leader without an address on this listener"),
    ] {
        assert_eq!(ask(&fixture.broker, key_type, keys), None, "{why}");
    }
}
