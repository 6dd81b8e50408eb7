//! What is handed over of fetched batches, how a partition follows its leaders, and mistakes in properties. That
//! brokers are asked as they want to be is proven with brokers (`tests/clients/test_record_clients.py`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ConsumerOptions;
use super::chunk::Chunk;
use super::partition::{Assigned, Leader};
use super::records::FetchedRecords;
use base::place::{LeaderEpoch, Offset};
use client::Properties;
use record::{
    AbortedFrom, Batch, BatchBuilder, BatchError, BatchHeader, Codec, end_transaction_marker, legacy,
    set_offset_and_epoch,
};

const ABORT: bool = false;

/// Three records from an offset on.
fn batch(at: i64, codec: Codec, producer_id: Option<i64>) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec);
    if let Some(id) = producer_id {
        builder = builder.producer(id, 0, 0).transactional(true);
    }
    for _ in 0..3 {
        builder.append(7, Some(b"key"), Some(b"value"), &[]);
    }
    builder.build(Offset(at), LeaderEpoch(4))
}

fn marker(producer_id: i64, at: i64) -> Vec<u8> {
    let mut bytes = end_transaction_marker(ABORT, producer_id, 0, 0, 0);
    set_offset_and_epoch(&mut bytes, Offset(at), LeaderEpoch(4));
    bytes
}

fn chunk(batches: &[Vec<u8>], aborted: Option<Vec<AbortedFrom>>) -> (Chunk, Offset) {
    let answer = Arc::new([&b"before"[..], &batches.concat(), b"behind"].concat());
    let end = answer.len() - 6;
    Chunk::of(&answer, 6..end, aborted, true).unwrap()
}

/// A partition to which batches were fetched.
fn fetched(position: i64, batches: &[Vec<u8>], aborted: Option<Vec<AbortedFrom>>) -> Assigned {
    let mut one = Assigned::new(Arc::from("t"), 0, position);
    let (chunk, next_offset) = chunk(batches, aborted);
    one.push(chunk, next_offset);
    one
}

fn offsets(taken: &FetchedRecords) -> Vec<i64> {
    assert_eq!(taken.records().count(), taken.count);
    assert_eq!(taken.bytes, taken.count as u64 * 8);
    let offsets: Vec<i64> = taken.records().map(|record| record.offset.get()).collect();
    assert_eq!(offsets.first().copied().unwrap_or(-1), taken.first_offset.get());
    assert_eq!(offsets.last().copied().unwrap_or(-1), taken.last_offset.get());
    offsets
}

#[test]
fn records_are_handed_over_from_the_position_on_by_parts_whatever_the_codec() {
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let batches = [batch(10, codec, None), batch(13, codec, None), batch(20, codec, None)];
        for most in 1..9 {
            let mut one = fetched(11, &batches, None);
            assert_eq!(one.fetched_to, Offset(23));
            let mut all = Vec::new();
            loop {
                let taken = one.take(most).unwrap();
                if taken.count == 0 {
                    break;
                }
                assert!(taken.count <= most);
                assert_eq!(one.position, taken.last_offset + 1);
                assert_eq!(one.last_epoch, LeaderEpoch(4));
                all.extend(offsets(&taken));
            }
            assert_eq!(all, [11, 12, 13, 14, 15, 20, 21, 22], "{codec} by {most}");
            assert_eq!(one.position, Offset(23));
        }
    }
}

#[test]
fn messages_of_kafka_before_0_11_are_records_without_epoch() {
    for (magic, codec, named) in [
        (0, Codec::None, "NoTimestampType"),
        (0, Codec::Gzip, "NoTimestampType"),
        (1, Codec::None, "CreateTime"),
        (1, Codec::Lz4, "CreateTime"),
    ] {
        let messages = [10, 13].map(|at| {
            let bytes = batch(at, Codec::None, None);
            let (whole, _) = Batch::split_first(&bytes).unwrap().unwrap();
            let header = BatchHeader {
                magic,
                attributes: codec.attribute_bits(),
                ..*whole.header()
            };
            let mut messages = Vec::new();
            legacy::to_message(&header, whole.payload(), &mut messages).unwrap();
            messages
        });
        let mut one = fetched(11, &messages, None);
        assert_eq!(one.fetched_to, Offset(16));
        let taken = one.take(99).unwrap();
        assert_eq!(offsets(&taken), [11, 12, 13, 14, 15], "magic {magic} with {codec}");
        assert_eq!(
            (taken.runs[0].timestamp_type(), taken.runs[0].leader_epoch()),
            (named, LeaderEpoch::NONE)
        );
        assert_eq!(
            taken.records().next().unwrap().timestamp,
            if magic == 0 { -1 } else { 7 }
        );
    }
}

#[test]
fn a_batch_that_came_in_part_is_left_for_the_next_fetch() {
    let cut = [batch(0, Codec::None, None), batch(3, Codec::None, None)[..40].to_vec()];
    let (mut chunk, next_offset) = chunk(&cut, None);
    assert_eq!(next_offset, Offset(3));
    let mut taken = FetchedRecords::of(&Arc::from("t"), 0);
    assert!(chunk.take(&mut Offset(0), &mut taken, 9).unwrap());
    assert_eq!(taken.count, 3);
}

#[test]
fn markers_are_never_seen_and_aborted_records_only_without_read_committed() {
    let batches = [
        batch(0, Codec::None, Some(5)),
        batch(3, Codec::None, Some(6)),
        marker(5, 6),
        batch(7, Codec::None, Some(5)),
        batch(10, Codec::None, None),
        marker(6, 13),
    ];
    let aborted = [(5, 0), (6, 3)].map(|(producer_id, first)| AbortedFrom {
        producer_id,
        first_offset: Offset(first),
    });
    let mut committed = fetched(0, &batches, Some(aborted.to_vec()));
    assert_eq!(offsets(&committed.take(99).unwrap()), [7, 8, 9, 10, 11, 12]);
    let mut all = fetched(0, &batches, None);
    assert_eq!(offsets(&all.take(99).unwrap()), [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]);
    for one in [committed, all] {
        assert_eq!(one.position, Offset(14), "behind the last marker");
    }
}

#[test]
fn what_is_before_a_corrupt_batch_is_handed_over_and_then_it_is_an_error_each_time() {
    let mut corrupt = batch(3, Codec::None, None);
    *corrupt.last_mut().unwrap() ^= 1;
    let mut one = fetched(0, &[batch(0, Codec::None, None), corrupt], None);
    assert_eq!(offsets(&one.take(99).unwrap()), [0, 1, 2]);
    for _ in 0..2 {
        assert!(matches!(one.take(99), Err(BatchError::Crc { .. })));
        assert_eq!(one.position, Offset(3));
    }
}

#[test]
fn a_partition_follows_later_leaders_alone_and_compares_logs_once_it_has_read() {
    let leader = |node, epoch| Leader {
        node,
        epoch: LeaderEpoch(epoch),
    };
    let now = Instant::now();
    let mut one = fetched(0, &[batch(0, Codec::None, None)], None);
    assert!(!one.is_fetchable(now), "it has no leader");
    assert!(one.follow(leader(1, 4)));
    assert!(one.is_fetchable(now));
    assert!(!one.follow(leader(2, 3)), "an older one");
    one.preferred = Some((9, now + Duration::from_secs(1)));
    assert_eq!(one.source(now), Some(9));
    one.take(9).unwrap();
    assert!(one.follow(leader(2, 5)));
    assert_eq!(one.source(now), Some(2));
    assert!(one.wants_check(now) && !one.is_fetchable(now));
    one.seek(Offset(1));
    assert!(one.is_fetchable(now));
    one.back_off(now, Duration::from_secs(1));
    assert!(!one.is_fetchable(now));
}

#[test]
fn a_partition_holds_one_answer_beside_that_which_is_handed_over() {
    let now = Instant::now();
    let mut one = fetched(0, &[batch(0, Codec::None, None)], None);
    one.follow(Leader {
        node: 1,
        epoch: LeaderEpoch(0),
    });
    assert!(one.is_fetchable(now));
    let (second, next_offset) = chunk(&[batch(3, Codec::None, None)], None);
    one.push(second, next_offset);
    assert!(!one.is_fetchable(now));
    one.is_paused = true;
    assert_eq!(one.take(99).unwrap().count, 0);
    one.is_paused = false;
    assert_eq!(offsets(&one.take(4).unwrap()), [0, 1, 2, 3]);
    assert!(one.is_fetchable(now));
}

#[test]
fn a_mistake_in_a_property_is_one_sentence_and_unknown_keys_are_named() {
    let parse = |more: &[(&'static str, &str)]| {
        let given = more.iter().map(|(key, value)| (*key, (*value).to_owned()));
        let servers = [("bootstrap.servers", "a:1".to_owned())];
        ConsumerOptions::parse(&Properties::new(servers.into_iter().chain(given), ""))
    };
    let (options, ignored) = parse(&[("group.id", "g"), ("sasl.mechanism", "PLAIN"), ("client.rack", "r")]).unwrap();
    assert_eq!(
        (options.client_rack.as_str(), ignored),
        ("r", vec!["group.id".to_owned()])
    );
    for (key, value, sentence) in [
        (
            "bootstrap.servers",
            "",
            "bootstrap.servers: none is given; give host:port, as localhost:9092",
        ),
        (
            "isolation.level",
            "x",
            "isolation.level: 'x' is none; say one of read_uncommitted, read_committed",
        ),
        (
            "auto.offset.reset",
            "x",
            "auto.offset.reset: 'x' is none; say one of earliest, latest, none",
        ),
        (
            "fetch.max.bytes",
            "-1",
            "fetch.max.bytes: '-1' is no whole number of at least 0; give one",
        ),
        (
            "check.crcs",
            "yes",
            "check.crcs: 'yes' is neither true nor false; say one of them",
        ),
    ] {
        assert_eq!(parse(&[(key, value)]).unwrap_err().sentence, sentence);
    }
}
