use super::Folding;
use crate::homes::READ_BYTES;
use crate::records::{OffsetValue, write_offset_key, write_offset_value};
use crate::testing::{TOPIC_ID, World, nobody};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::testing::{NODE, give, lease, take_fetched};
use record::{BatchBuilder, Batches, Codec, ControlType, Origin, end_transaction_marker};

const UNSTABLE: ErrorCode = ErrorCode::UNSTABLE_OFFSET_COMMIT;

fn key(index: i32) -> Vec<u8> {
    let mut key = Vec::new();
    write_offset_key(&mut key, "g", "t", index);
    key
}

/// A log that another broker wrote, batch by batch.
struct KafkasLog {
    world: World,
    bytes: Vec<u8>,
    next: i64,
}

impl KafkasLog {
    fn new() -> Self {
        Self {
            world: World::new(),
            bytes: Vec::new(),
            next: 0,
        }
    }

    fn push(&mut self, builder: BatchBuilder) {
        let count = i64::from(builder.record_count());
        self.bytes.extend(builder.build(Offset(self.next), LeaderEpoch(0)));
        self.next += count;
    }

    fn commit_in(&mut self, index: i32, offset: i64, producer_id: i64) {
        let mut value = Vec::new();
        write_offset_value(
            &mut value,
            &OffsetValue {
                offset,
                leader_epoch: 3,
                metadata: "m",
                commit_ms: 1,
                expire_ms: -1,
                topic_id: Some(TOPIC_ID),
            },
        );
        let mut builder = BatchBuilder::new(Codec::None);
        if producer_id >= 0 {
            builder = builder.producer(producer_id, 0, self.next as i32).transactional(true);
        }
        builder.append(1, Some(&key(index)), Some(&value), &[]);
        self.push(builder);
    }

    fn commit(&mut self, index: i32, offset: i64) {
        self.commit_in(index, offset, -1);
    }

    fn delete(&mut self, index: i32) {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append(1, Some(&key(index)), None, &[]);
        self.push(builder);
    }

    fn end(&mut self, producer_id: i64, kind: ControlType) {
        let mut batch = end_transaction_marker(kind == ControlType::Commit, producer_id, 0, 0, 1);
        record::set_offset_and_epoch(&mut batch, Offset(self.next), LeaderEpoch(0));
        self.bytes.extend(batch);
        self.next += 1;
    }

    /// This broker followed, and leads now.
    fn take_over(&self) -> super::LoadedGroups {
        let partition = self.world.fixture.partition("__consumer_offsets", 0);
        give(&partition, Some(lease(0, &[2, NODE], &[2, NODE])));
        take_fetched(&partition, 0, &self.bytes, self.next);
        give(&partition, Some(lease(1, &[NODE], &[NODE])));
        self.world.load()
    }

    /// (offset, error) of each partition.
    fn fetched(&self, partitions: &[i32], require_stable: bool) -> Vec<(i64, ErrorCode)> {
        let rows = self.world.fetch("g", Some(partitions), require_stable).unwrap();
        rows.into_iter().map(|(_, _, offset, error)| (offset, error)).collect()
    }
}

// KIP-98 and KIP-447
#[test]
fn offsets_of_an_open_transaction_are_unstable_and_the_last_stable_one_is_answered() {
    let mut log = KafkasLog::new();
    log.commit(0, 5);
    log.commit_in(0, 6, 7);
    log.commit_in(1, 8, 7);
    let loaded = log.take_over();
    assert_eq!(loaded.unstable.iter().map(|id| &**id).collect::<Vec<_>>(), ["g"]);
    assert_eq!(
        log.fetched(&[0, 1, 2], true),
        [(-1, UNSTABLE), (-1, UNSTABLE), (-1, ErrorCode::NONE)]
    );
    assert_eq!(
        log.fetched(&[0, 1, 2], false),
        [5, -1, -1].map(|offset| (offset, ErrorCode::NONE))
    );
}

#[test]
fn a_commit_marker_applies_the_offsets_of_its_producer_alone_and_an_abort_marker_drops_them() {
    let mut log = KafkasLog::new();
    log.commit_in(0, 6, 7);
    log.commit_in(1, 8, 9);
    log.commit_in(2, 1, 11);
    log.end(7, ControlType::Commit);
    log.end(11, ControlType::Abort);
    log.commit_in(2, 2, 11);
    log.end(11, ControlType::Commit);
    log.take_over();
    assert_eq!(
        log.fetched(&[0, 1, 2], true),
        [(6, ErrorCode::NONE), (-1, UNSTABLE), (2, ErrorCode::NONE)]
    );
}

#[test]
fn a_transaction_counts_where_it_was_written_not_where_it_ended() {
    let mut log = KafkasLog::new();
    log.commit_in(0, 6, 7);
    log.commit(0, 9);
    log.end(7, ControlType::Commit);
    log.take_over();
    assert_eq!(log.fetched(&[0], true), [(9, ErrorCode::NONE)]);
}

#[test]
fn a_deletion_drops_earlier_offsets_of_open_transactions() {
    let mut log = KafkasLog::new();
    log.commit_in(0, 6, 7);
    log.delete(0);
    log.end(7, ControlType::Commit);
    log.commit_in(1, 6, 7);
    log.delete(1);
    let loaded = log.take_over();
    assert_eq!(log.fetched(&[0, 1], true), [(-1, ErrorCode::NONE); 2]);
    assert!(loaded.simple.is_empty() && loaded.unstable.is_empty());
}

#[test]
fn a_plain_commit_beside_an_open_transaction_is_taken_but_stays_unstable() {
    let mut log = KafkasLog::new();
    log.commit_in(0, 6, 7);
    log.take_over();
    assert_eq!(log.world.commit(nobody("g"), &[("t", 0, 9)]), [ErrorCode::NONE]);
    assert_eq!(log.fetched(&[0], true), [(-1, UNSTABLE)]);
    assert_eq!(log.fetched(&[0], false), [(9, ErrorCode::NONE)]);
}

#[test]
fn groups_have_their_last_record_and_what_cannot_be_read_is_skipped() {
    let mut log = KafkasLog::new();
    let mut builder = BatchBuilder::new(Codec::Lz4);
    for (key, value) in [
        (&b"\0\x02\0\x01g"[..], Some(&b"first"[..])),
        (b"\0\x02\0\x01h", Some(b"of h")),
        (b"\0\x02\0\x01g", Some(b"last")),
        (b"\0\x02\0\x01h", None),
        (b"\0\x63", Some(b"x")),
        (b"\0", None),
        (b"\0\x01\0\x01i\0\x01t\0\0\0\0", Some(b"\0\x09")),
    ] {
        builder.append(1, Some(key), value, &[]);
    }
    log.push(builder);
    log.commit(0, 5);
    let loaded = log.take_over();
    let records: Vec<_> = loaded
        .metadata
        .iter()
        .map(|(id, value)| (&**id, value.as_slice()))
        .collect();
    assert_eq!(records, [("g", &b"last"[..])]);
    assert!(loaded.simple.is_empty(), "{:?}", loaded.simple);
    assert_eq!(
        (loaded.skipped, loaded.skip_reason.as_str()),
        (3, "offset 4: unknown key version 99")
    );
    assert_eq!(log.fetched(&[0], true), [(5, ErrorCode::NONE)]);
}

#[test]
fn a_load_that_comes_too_late_is_nothing() {
    let world = World::new();
    world.commit(nobody("g"), &[("t", 0, 5)]);
    let (broker, groups) = (&world.fixture.broker, world.groups());
    let first = groups.homes.begin(broker, 0).unwrap();
    let second = groups.homes.begin(broker, 0).unwrap();
    assert!(super::load(broker, groups, 0, first).unwrap().is_none());
    assert!(super::load(broker, groups, 0, second).unwrap().is_some());
    groups.homes.close(0);
    assert!(super::load(broker, groups, 0, second).unwrap().is_none());
}

// H18
#[test]
fn a_log_of_several_reads_is_loaded_to_its_end() {
    let world = World::new();
    let partition = world.fixture.partition("__consumer_offsets", 0);
    let words = "x".repeat(4000);
    let count = 3 * READ_BYTES as i64 / 4000;
    for offset in 0..count {
        let mut value = Vec::new();
        write_offset_value(
            &mut value,
            &OffsetValue {
                offset,
                leader_epoch: -1,
                metadata: &words,
                commit_ms: 1,
                expire_ms: -1,
                topic_id: None,
            },
        );
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append(1, Some(&key((offset % 4) as i32)), Some(&value), &[]);
        partition
            .append(
                &mut builder.build(Offset(0), LeaderEpoch::NONE),
                -1,
                Origin::Coordinator,
                1,
            )
            .unwrap();
    }
    world.load();
    let mut found: Vec<i64> = world.fetched("g").unwrap().into_values().collect();
    found.sort_unstable();
    assert_eq!(found, (count - 4..count).collect::<Vec<_>>());
}

/// What Apache Kafka 4.3 wrote into the five partitions of its topic, and answered to `OffsetFetch` afterwards.
#[test]
fn kafkas_offsets_load_as_kafka_fetches_them() {
    let logs: [&[u8]; 5] = [
        include_bytes!("../../tests/fixtures/offsets/partition-0.log"),
        include_bytes!("../../tests/fixtures/offsets/partition-1.log"),
        include_bytes!("../../tests/fixtures/offsets/partition-2.log"),
        include_bytes!("../../tests/fixtures/offsets/partition-3.log"),
        include_bytes!("../../tests/fixtures/offsets/partition-4.log"),
    ];
    let mut found = Vec::new();
    for log in logs {
        let mut folding = Folding::default();
        for batch in Batches::new(log) {
            folding.apply(&batch.unwrap(), &mut Vec::new()).unwrap();
        }
        for group in [
            "dynamic",
            "static",
            "simple",
            "retention",
            "deleted",
            "gruppe-ä-𝄞",
            "emptied",
            "new-protocol",
        ] {
            let Some(offsets) = folding.shard.offsets(group) else {
                continue;
            };
            for (topic, rows) in offsets.topics() {
                for (index, row) in rows.iter() {
                    found.push(format!(
                        "{group} {topic}-{index} {} {} {}",
                        row.offset, row.leader_epoch, row.metadata
                    ));
                }
            }
        }
    }
    found.sort_unstable();
    let mut expected = [
        "dynamic t-0 9 -1 later",
        "dynamic t-1 8 1 ",
        "simple u-1 3 -1 ü",
        "simple t-0 1 0 a",
        "retention t-0 4 -1 kept",
        "gruppe-ä-𝄞 t-0 6 -1 𝄞",
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn a_load_ends_when_its_partition_is_closed_meanwhile() {
    let world = World::new();
    world.commit(nobody("g"), &[("t", 0, 5)]);
    let homes = &world.groups().homes;
    let home = homes.of(0).unwrap();
    let is_whole = homes.fold(&world.fixture.broker, &home, |_| Ok(()));
    assert!(is_whole.unwrap());
    let is_whole = homes.fold(&world.fixture.broker, &home, |_| {
        homes.close(0);
        Ok(())
    });
    assert!(!is_whole.unwrap());
}

#[test]
fn a_late_load_does_not_activate_the_one_that_took_its_place() {
    let world = World::new();
    let homes = &world.groups().homes;
    let begin = || homes.begin(&world.fixture.broker, 0).unwrap();
    let (late, now) = (begin(), begin());
    homes.activate(0, late);
    assert_eq!(world.fetched("g"), Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    homes.activate(0, now);
    assert_eq!(world.fetched("g").unwrap().len(), 0);
}
