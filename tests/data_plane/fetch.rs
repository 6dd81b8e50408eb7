//! Fetch: versions, bounds, limits, epochs, who may read (KIP-74, KIP-320, KIP-516).

use std::sync::Arc;
use std::time::Duration;

use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::{Event, Options};
use record::{BatchBuilder, Codec, end_transaction_marker};

use crate::fixture::{FOLLOWER, NODE, TOPIC, TOPIC_ID, TestBroker, wait_until};
use crate::held_sync::HeldSync;
use crate::requests::{Fetch, Produce, Wanted, batch};

/// A broker with a topic that holds so many batches of this value size in partition 0.
fn with_batches(count: usize, size: usize) -> TestBroker {
    let broker = TestBroker::start();
    broker.create(2, &[]);
    let mut client = broker.connect();
    for _ in 0..count {
        client.produce(&Produce::one(1, batch(size)));
    }
    broker
}

#[test]
fn every_version_reads_by_name_or_by_id() {
    let broker = with_batches(2, 10);
    let mut client = broker.connect();
    for version in 4..=18 {
        let answer = client.fetch(&Fetch {
            version,
            ..Fetch::now(0)
        });
        let row = answer.only();
        let told = (
            row.error,
            row.high_watermark,
            row.last_stable_offset,
            row.base_offsets(),
        );
        assert_eq!(told, (0, 2, 2, vec![0, 1]), "version {version}");
    }
}

// KIP-516
#[test]
fn unknown_topics_ids_and_partitions_have_different_errors() {
    let broker = with_batches(0, 0);
    broker.publish_topic("elsewhere", [6; 16], 1, &[FOLLOWER]);
    let mut client = broker.connect();
    let cases = [
        (12, "nowhere", [0; 16], 0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        (13, "", [9; 16], 0, ErrorCode::UNKNOWN_TOPIC_ID),
        (13, "", TOPIC_ID, 5, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        (12, "elsewhere", [0; 16], 0, ErrorCode::NOT_LEADER_OR_FOLLOWER),
        (18, "", [6; 16], 0, ErrorCode::NOT_LEADER_OR_FOLLOWER),
    ];
    for (version, topic, topic_id, index, expected) in cases {
        let request = Fetch {
            version,
            topic,
            topic_id,
            ..Fetch::of(vec![Wanted::new(index, 0)])
        };
        assert_eq!(
            client.fetch(&request).only().error,
            expected.0,
            "{topic} {topic_id:?} {index}"
        );
    }
}

// KIP-951
#[test]
fn a_consumer_at_the_wrong_broker_gets_the_leader_from_version_16_on() {
    let broker = with_batches(0, 0);
    broker.publish_topic("elsewhere", [6; 16], 1, &[FOLLOWER]);
    broker.lease(TOPIC, 0, 5, &[FOLLOWER], &[FOLLOWER]);
    let mut client = broker.connect();
    for (version, is_told) in [(13, false), (15, false), (16, true), (18, true)] {
        for (topic_id, leader_epoch) in [(TOPIC_ID, 5), ([6; 16], 0)] {
            let request = Fetch {
                version,
                topic_id,
                ..Fetch::now(0)
            };
            let answer = client.fetch(&request);
            let expected = is_told.then_some((FOLLOWER, leader_epoch));
            assert_eq!(answer.only().error, ErrorCode::NOT_LEADER_OR_FOLLOWER.0);
            assert_eq!(answer.only().current_leader, expected, "version {version}");
        }
    }
}

// KIP-320
#[test]
fn leader_epochs_older_and_newer_than_ours_are_refused() {
    let broker = with_batches(1, 10);
    broker.lease(TOPIC, 0, 3, &[NODE], &[NODE]);
    let mut client = broker.connect();
    let cases = [
        (2, ErrorCode::FENCED_LEADER_EPOCH),
        (3, ErrorCode::NONE),
        (4, ErrorCode::UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode::NONE),
    ];
    for (current_leader_epoch, expected) in cases {
        let wanted = Wanted {
            current_leader_epoch,
            ..Wanted::new(0, 0)
        };
        let request = Fetch {
            version: 16,
            ..Fetch::of(vec![wanted])
        };
        let answer = client.fetch(&request);
        let row = answer.only();
        assert_eq!(row.error, expected.0, "epoch {current_leader_epoch}");
        let told = (expected == ErrorCode::FENCED_LEADER_EPOCH).then_some((NODE, 3));
        assert_eq!(row.current_leader, told, "epoch {current_leader_epoch}");
    }
}

#[test]
fn offsets_outside_of_the_log_are_refused() {
    let broker = with_batches(3, 10);
    broker.partition(0).delete_records(Offset(1)).unwrap();
    let mut client = broker.connect();
    for (offset, expected) in [
        (0, ErrorCode::OFFSET_OUT_OF_RANGE),
        (1, ErrorCode::NONE),
        (3, ErrorCode::NONE),
        (4, ErrorCode::OFFSET_OUT_OF_RANGE),
        (-1, ErrorCode::OFFSET_OUT_OF_RANGE),
        (i64::MAX, ErrorCode::OFFSET_OUT_OF_RANGE),
    ] {
        assert_eq!(
            client.fetch(&Fetch::now(offset)).only().error,
            expected.0,
            "offset {offset}"
        );
    }
}

// KIP-74
#[test]
fn a_first_batch_larger_than_every_limit_is_returned_whole() {
    let broker = with_batches(2, 5000);
    let wanted = Wanted {
        max_bytes: 1,
        ..Wanted::new(0, 0)
    };
    let request = Fetch {
        max_bytes: 1,
        ..Fetch::of(vec![wanted, Wanted::new(1, 0)])
    };
    let answer = broker.connect().fetch(&request);
    assert_eq!(answer.offsets(), [(0, vec![0]), (1, vec![])]);
}

// KIP-74
#[test]
fn only_the_first_non_empty_partition_may_exceed_the_limit() {
    let broker = with_batches(0, 0);
    let mut client = broker.connect();
    for index in [0, 0, 1, 1] {
        client.produce(&Produce::of(1, vec![(index, Some(batch(5000)))]));
    }
    let asked = |first: Wanted, second: Wanted| Fetch {
        max_bytes: 100,
        ..Fetch::of(vec![first, second])
    };
    let answer = client.fetch(&asked(Wanted::new(1, 2), Wanted::new(0, 0)));
    assert_eq!(answer.offsets(), [(1, vec![]), (0, vec![0])], "the first has nothing");
    let answer = client.fetch(&asked(Wanted::new(1, 0), Wanted::new(0, 0)));
    assert_eq!(answer.offsets(), [(1, vec![0]), (0, vec![])]);
}

#[test]
fn the_total_and_the_partition_limit_hold_for_what_follows_the_first_batch() {
    let broker = with_batches(4, 1000);
    let mut client = broker.connect();
    let size = i32::try_from(batch(1000).len()).unwrap();
    for (of_partition, of_request) in [(2 * size + 10, i32::MAX), (i32::MAX, 2 * size + 10)] {
        let wanted = Wanted {
            max_bytes: of_partition,
            ..Wanted::new(0, 0)
        };
        let request = Fetch {
            max_bytes: of_request,
            ..Fetch::of(vec![wanted])
        };
        let answer = client.fetch(&request);
        assert!(i32::try_from(answer.only().records.len()).unwrap() <= 2 * size + 10);
        assert_eq!(
            answer.only().records[..10],
            batch(1000)[..8].iter().copied().chain([0, 0]).collect::<Vec<u8>>()
        );
    }
}

#[test]
fn the_broker_s_own_limit_bounds_what_a_client_asks_for() {
    let options = Options {
        fetch_max_bytes: 2500,
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    broker.create(1, &[]);
    let mut client = broker.connect();
    for _ in 0..4 {
        client.produce(&Produce::one(1, batch(1000)));
    }
    assert!(client.fetch(&Fetch::now(0)).only().records.len() <= 2500);
}

#[test]
fn read_committed_stops_at_an_open_transaction_and_names_the_aborted() {
    let broker = with_batches(1, 10);
    let mut open = BatchBuilder::new(Codec::None).producer(5, 0, 0).transactional(true);
    open.append(1_700_000_000_000, None, Some(b"v"), &[]);
    append(&broker, &mut open.build(Offset(0), LeaderEpoch::NONE));
    let mut client = broker.connect();
    client.produce(&Produce::one(1, batch(10)));
    let committed = |offset| Fetch {
        isolation_level: 1,
        ..Fetch::now(offset)
    };
    let answer = client.fetch(&committed(0));
    let row = answer.only();
    assert_eq!((row.high_watermark, row.last_stable_offset), (3, 1));
    assert_eq!(row.base_offsets(), [0]);
    assert_eq!(client.fetch(&Fetch::now(0)).only().base_offsets(), [0, 1, 2]);
    assert!(
        client.fetch(&committed(2)).only().records.is_empty(),
        "not out of range"
    );

    append(&broker, &mut end_transaction_marker(false, 5, 0, 0, 1_700_000_000_001));
    let answer = client.fetch(&committed(0));
    let row = answer.only();
    assert_eq!(row.last_stable_offset, 4);
    assert_eq!(row.base_offsets(), [0, 1, 2, 3]);
    assert_eq!(row.aborted, [(5, 1)]);
}

#[test]
fn read_committed_names_the_aborted_of_what_it_returns_and_no_others() {
    const TRANSACTIONS: i64 = 12;
    let many_entries = [("index.interval.bytes", "0")];
    let many_segments = [("segment.bytes", "1048576")]; // see `size`
    for (config, size) in [(many_entries, 10), (many_segments, 400_000)] {
        let broker = TestBroker::start();
        broker.create(1, &config);
        for number in 0..TRANSACTIONS {
            let mut aborted = BatchBuilder::new(Codec::None)
                .producer(100 + number, 0, 0)
                .transactional(true);
            aborted.append(1_700_000_000_000, None, Some(&vec![b'v'; size]), &[]);
            append(&broker, &mut aborted.build(Offset(0), LeaderEpoch::NONE));
            append(
                &broker,
                &mut end_transaction_marker(false, 100 + number, 0, 0, 1_700_000_000_001),
            );
        }
        let mut client = broker.connect();
        let mut offset = 0;
        while offset < 2 * TRANSACTIONS {
            let mut request = Fetch {
                isolation_level: 1,
                ..Fetch::now(offset)
            };
            request.partitions[0].max_bytes = 1; // one batch, or less than what the index tells apart
            let answer = client.fetch(&request);
            assert_eq!(answer.only().base_offsets(), [offset]);
            let own = (100 + offset / 2, offset / 2 * 2);
            let aborted = &answer.only().aborted;
            assert!(aborted.contains(&own), "{offset}: {aborted:?}");
            assert!(aborted.len() <= if size == 10 { 1 } else { 2 }, "{offset}: {aborted:?}");
            offset += 1;
        }
        let everything = Fetch {
            isolation_level: 1,
            ..Fetch::now(0)
        };
        let answer = client.fetch(&everything);
        let last = *answer.only().base_offsets().last().unwrap();
        let aborted = &answer.only().aborted;
        let wanted = (0..=last / 2).map(|number| (100 + number, 2 * number));
        assert_eq!(*aborted, wanted.collect::<Vec<_>>());
    }
}

/// Appends as the control plane does.
fn append(broker: &TestBroker, batch: &mut [u8]) {
    broker.engine.append(77, TOPIC, 0, batch, 1, Duration::from_secs(30));
    let done = broker.event(|e| matches!(e, Event::AppendDone(_)));
    assert!(
        matches!(&done, Event::AppendDone(d) if d.code == ErrorCode::NONE && d.token == 77),
        "{done:?}"
    );
}

// CVE-2018-1288
#[test]
fn a_replica_id_that_is_not_assigned_reads_nothing() {
    let broker = with_batches(1, 10);
    let mut client = broker.connect();
    for version in [12, 14, 15, 18] {
        let follower = Fetch {
            version,
            replica_id: FOLLOWER,
            ..Fetch::now(0)
        };
        let answer = client.fetch(&follower);
        assert_eq!(
            answer.only().error,
            ErrorCode::NOT_LEADER_OR_FOLLOWER.0,
            "version {version}"
        );
        assert!(answer.only().records.is_empty());
    }
}

// CVE-2018-1288: as Apache Kafka answers whoever may not do ClusterAction
#[test]
fn a_client_that_fetches_as_a_follower_reads_nothing_and_commits_nothing() {
    let options = Options {
        inter_broker_listener: "BROKERS".to_owned(),
        ..Options::default()
    };
    let broker = TestBroker::start_with(options, 1);
    broker.create_topic(TOPIC, TOPIC_ID, 1, &[], &[NODE, FOLLOWER]);
    let mut client = broker.connect();
    client.produce(&Produce::one(1, batch(10)));
    for version in [12, 14, 15, 18] {
        for offset in [0, 1] {
            let follower = Fetch {
                version,
                replica_id: FOLLOWER,
                ..Fetch::now(offset)
            };
            let answer = client.fetch(&follower);
            assert_eq!(answer.only().error, ErrorCode::TOPIC_AUTHORIZATION_FAILED.0);
            assert!(answer.only().records.is_empty());
        }
    }
    assert_eq!(broker.partition(0).offsets().high_watermark, Offset(0));
}

#[test]
fn an_assigned_follower_reads_to_the_log_end() {
    let broker = TestBroker::start();
    broker.create_topic(TOPIC, TOPIC_ID, 1, &[], &[NODE, FOLLOWER]);
    let mut client = broker.connect();
    client.produce(&Produce::one(1, batch(10)));
    let follower = Fetch {
        replica_id: FOLLOWER,
        ..Fetch::now(0)
    };
    assert_eq!(client.fetch(&follower).only().base_offsets(), [0]);
    assert!(client.fetch(&Fetch::now(0)).only().records.is_empty());
    broker.lease(TOPIC, 0, 0, &[NODE, FOLLOWER], &[NODE]);
    assert_eq!(
        client.fetch(&follower).only().base_offsets(),
        [0],
        "or it would stay out of sync"
    );
}

// Large slices leave by sendfile, between headers, for several partitions at once
#[test]
fn slices_of_several_partitions_come_whole_by_sendfile() {
    let broker = with_batches(0, 0);
    let mut client = broker.connect();
    for version in [4, 11, 12, 18] {
        for index in [0, 1] {
            client.produce(&Produce::of(1, vec![(index, Some(batch(200_000)))]));
        }
        let from = broker.partition(0).offsets().log_end.get() - 1;
        let request = Fetch {
            version,
            ..Fetch::of(vec![Wanted::new(0, from), Wanted::new(1, from)])
        };
        let answer = client.fetch(&request);
        assert_eq!(
            answer.offsets(),
            [(0, vec![from]), (1, vec![from])],
            "version {version}"
        );
    }
}

/// A broker with one network loop, and 60 batches in partition 0, of which the places of the last eight are remembered.
fn with_cold_batches(fs: &HeldSync) -> TestBroker {
    let options = Options {
        network_threads: 1,
        ..Options::default()
    };
    let broker = TestBroker::start_on(Arc::new(fs.clone()), options, 1);
    broker.create(2, &[("segment.bytes", "2000")]);
    let mut client = broker.connect();
    for _ in 0..60 {
        client.produce(&Produce::one(1, batch(100)));
    }
    broker
}

// KAFKA-7504: headers that are not in memory are read elsewhere.
#[test]
fn a_fetch_that_waits_for_the_disk_delays_no_other_connection_of_its_loop() {
    let fs = HeldSync::default();
    let broker = with_cold_batches(&fs);
    let (mut reader, mut other) = (broker.connect(), broker.connect());
    let cold = fs.cool_down();
    let ids = [Fetch::now(5), Fetch::waiting(6, 10_000)].map(|fetch| reader.send_fetch(&fetch));
    wait_until("the disk is read", || cold.reads() > 0);
    for acks in [1, -1] {
        for index in [0, 1] {
            let produce = Produce::of(acks, vec![(index, Some(batch(10)))]);
            assert_eq!(other.produce(&produce).outcomes()[0].0, 0);
        }
    }
    let end = broker.partition(0).offsets().log_end;
    let hot = other.send_fetch(&Fetch::waiting(end.get(), 1)); // nothing there: it waits, and is due
    assert_eq!(other.fetch_answer(12).correlation_id, hot);
    assert!(reader.is_silent());
    drop(cold);
    for (id, offset) in ids.into_iter().zip(5..) {
        let answer = reader.fetch_answer(12);
        assert_eq!((answer.correlation_id, answer.only().base_offsets()[0]), (id, offset));
    }
    let answer = reader.fetch(&Fetch::now(7));
    assert_eq!(answer.only().base_offsets()[0], 7, "warm again");
}

// Its session goes on, and a fetch that wants more than there is waits on.
#[test]
fn a_cold_fetch_that_is_not_enough_waits_for_more_and_then_has_all() {
    let fs = HeldSync::default();
    let broker = with_cold_batches(&fs);
    let (mut reader, mut other) = (broker.connect(), broker.connect());
    let cold = fs.cool_down();
    reader.send_fetch(&Fetch {
        min_bytes: 1 << 20,
        ..Fetch::waiting(58, 10_000)
    });
    assert!(reader.is_silent());
    drop(cold);
    reader.send_fetch(&Fetch::now(3)); // behind it
    assert!(reader.is_silent(), "it waits for bytes");
    other.produce(&Produce::one(1, batch(1_000_000)));
    other.produce(&Produce::one(1, batch(100_000)));
    assert_eq!(reader.fetch_answer(12).only().base_offsets()[0], 58);
    assert_eq!(reader.fetch_answer(12).only().base_offsets()[0], 3);
}

#[test]
fn a_reader_that_leaves_while_the_disk_is_read_leaves_nothing_behind() {
    let fs = HeldSync::default();
    let broker = with_cold_batches(&fs);
    let mut reader = broker.connect();
    let cold = fs.cool_down();
    reader.send_fetch(&Fetch::waiting(5, 10_000));
    wait_until("the disk is read", || cold.reads() > 0);
    let before = broker.open_connections();
    drop(reader);
    drop(cold);
    wait_until("it is gone", || broker.open_connections() < before);
    let answer = broker.connect().fetch(&Fetch::now(5));
    assert_eq!(answer.only().base_offsets()[0], 5);
}
