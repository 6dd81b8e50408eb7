use std::time::Instant;

use crate::testing::{Fixture, NODE, batch, broker_row, give, lease};
use crate::{Event, FollowerFetch};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use record::Origin;

/// Three records on this leader and on broker 2; broker 3 is a replica that does not live.
fn leader() -> Fixture {
    let fixture = Fixture::new(1);
    fixture.create_with("t", [7; 16], 1, &[], &[NODE, 2, 3]);
    let partition = fixture.partition("t", 0);
    give(&partition, Some(lease(1, &[NODE, 2, 3], &[NODE, 2])));
    for timestamp in 0..3 {
        partition.append(&mut batch(timestamp), 1, Origin::Client, 0).unwrap();
    }
    live(&fixture, &[NODE, 2]);
    note(&fixture, 2, 0);
    fixture
}

fn live(fixture: &Fixture, nodes: &[i32]) {
    let rows = nodes.iter().copied().map(broker_row).collect();
    fixture.broker.image.publish_cluster(rows, NODE);
}

/// A fetch of a follower that has all records from `log_start` on.
fn note(fixture: &Fixture, node_id: i32, log_start: i64) {
    let fetch = FollowerFetch {
        node_id,
        broker_epoch: -1,
        leader_epoch: LeaderEpoch(1),
        log_start: Offset(log_start),
        log_end: Offset(3),
    };
    fixture.partition("t", 0).note_follower(fetch, Instant::now());
}

fn watch(fixture: &Fixture, offset: i64) -> Result<Offset, ErrorCode> {
    let watched = fixture.broker.watch_low_watermark("t", 0, Offset(offset));
    watched.map_err(|error| error.code())
}

/// How often it was told to have moved since the last call.
fn moves(fixture: &Fixture) -> usize {
    let events = fixture.broker.events.take(100);
    let is_moved = |event: &&Event| matches!(event, Event::LowWatermarkMoved { index: 0, .. });
    events.iter().filter(is_moved).count()
}

// KIP-107
#[test]
fn low_watermark_moves_when_the_follower_reports_a_later_log_start() {
    let fixture = leader();
    assert_eq!(fixture.partition("t", 0).delete_records(Offset(2)).unwrap(), Offset(2));
    for _ in 0..2 {
        assert_eq!(watch(&fixture, 2), Ok(Offset(0)));
    }
    note(&fixture, 2, 0);
    assert_eq!(moves(&fixture), 0, "nothing new");
    note(&fixture, 2, 2);
    assert_eq!(moves(&fixture), 1, "once for two who asked");
    assert_eq!(watch(&fixture, 2), Ok(Offset(2)));
    note(&fixture, 2, 3);
    assert_eq!(moves(&fixture), 0, "nobody waits any more");
}

#[test]
fn a_replica_whose_broker_is_gone_is_not_waited_for_and_one_that_comes_back_is() {
    let fixture = leader();
    fixture.partition("t", 0).delete_records(Offset(-1)).unwrap();
    live(&fixture, &[NODE]);
    assert_eq!(watch(&fixture, 3), Ok(Offset(3)));
    live(&fixture, &[NODE, 2, 3]);
    note(&fixture, 2, 3);
    assert_eq!(watch(&fixture, 3), Ok(Offset::NONE), "broker 3 has not fetched");
}

#[test]
fn waiting_requests_are_notified_when_this_broker_leads_no_more() {
    let fixture = leader();
    let partition = fixture.partition("t", 0);
    partition.delete_records(Offset(2)).unwrap();
    assert_eq!(watch(&fixture, 2), Ok(Offset(0)));
    give(&partition, Some(lease(2, &[2, NODE], &[2, NODE])));
    assert_eq!(moves(&fixture), 1);
    assert_eq!(watch(&fixture, 2), Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    give(&partition, Some(lease(3, &[NODE, 2], &[2, NODE])));
    assert_eq!(
        watch(&fixture, 2),
        Ok(Offset::NONE),
        "what followers had in another epoch says nothing"
    );
    fixture.broker.fail_log_dir(&fixture.dirs[0], "the disk is gone");
    assert_eq!(moves(&fixture), 1);
    assert_eq!(watch(&fixture, 2), Err(ErrorCode::KAFKA_STORAGE_ERROR));
}

#[test]
fn a_deleted_partition_is_notified_and_unknown() {
    let fixture = leader();
    fixture.partition("t", 0).delete_records(Offset(2)).unwrap();
    assert_eq!(watch(&fixture, 2), Ok(Offset(0)));
    fixture.broker.delete_logs("t", &[0]).unwrap();
    assert_eq!(moves(&fixture), 1);
    assert_eq!(watch(&fixture, 2), Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
}

#[test]
fn low_watermark_of_the_only_replica_is_its_log_start() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    let partition = fixture.partition("t", 0);
    partition.append(&mut batch(0), 1, Origin::Client, 0).unwrap();
    partition.delete_records(Offset(1)).unwrap();
    assert_eq!(watch(&fixture, 1), Ok(Offset(1)));
}
