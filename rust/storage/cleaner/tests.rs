//! A cleaned log reads as the naive cleaning says, before and after it is opened again.

mod faults;
mod reopening;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::testing::{
    Pair, append, append_of, batches, clean, clean_within, end, in_transaction, markers, records, roll,
};
use crate::Log;
use crate::segment::Segment;
use crate::swap_rules::Passing;
use crate::testing::{Bench, aborted_in, batch};
use base::place::{LeaderEpoch, Offset};
use record::legacy::{DownConverter, Magic};
use record::{Batch, BatchBuilder, BatchHeader, Codec};

const COMPACTED: [(&str, &str); 3] = [
    ("cleanup.policy", "compact"),
    ("index.interval.bytes", "100"),
    ("file.delete.delay.ms", "0"),
];

fn bench() -> Bench {
    Bench::new(&COMPACTED)
}

fn values(log: &Log) -> Vec<(i64, String)> {
    let value = |(offset, (_, value)): (i64, Pair)| (offset, value.unwrap_or_else(|| "-".to_owned()));
    records(log).into_iter().map(value).collect()
}

fn headers(log: &Log) -> Vec<BatchHeader> {
    batches(log)
        .iter()
        .map(|bytes| BatchHeader::parse(bytes).unwrap())
        .collect()
}

#[test]
fn last_value_of_each_key_stays_at_its_offset() {
    let bench = bench();
    let mut log = bench.create();
    append(
        &bench,
        &mut log,
        Codec::None,
        &[("a", Some("1")), ("b", Some("2")), ("a", Some("3"))],
    );
    append(&bench, &mut log, Codec::Lz4, &[("c", Some("4")), ("b", Some("5"))]);
    roll(&bench, &mut log);
    append(&bench, &mut log, Codec::None, &[("c", Some("6"))]);
    let stats = clean(&bench, &mut log);
    // The active segment is not cleaned, and does not take part.
    assert_eq!(
        values(&log),
        [(2, "3".into()), (3, "4".into()), (4, "5".into()), (5, "6".into())]
    );
    assert_eq!((stats.read_records, stats.kept_records), (5, 3));
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(0), Offset(6)));
    assert_eq!(log.contents().offsets().first_dirty(), Some(Offset(5)));
    assert_eq!(bench.base_offsets(), [0, 5]);
    assert!(!bench.names().iter().any(|name| Passing::of(name).is_some()));
}

#[test]
fn batch_that_keeps_all_its_records_is_not_encoded_again() {
    let bench = bench();
    let mut log = bench.create();
    append(&bench, &mut log, Codec::Gzip, &[("a", Some("1")), ("b", Some("2"))]);
    append(&bench, &mut log, Codec::None, &[("c", Some("3"))]);
    append(&bench, &mut log, Codec::None, &[("c", Some("4"))]);
    roll(&bench, &mut log);
    let before = batches(&log);
    clean(&bench, &mut log);
    assert_eq!(batches(&log), [before[0].clone(), before[2].clone()]);
}

#[test]
fn tombstone_stays_until_its_delete_horizon() {
    let bench = Bench::new(&[&COMPACTED[..], &[("delete.retention.ms", "1000")]].concat());
    let mut log = bench.create();
    append(&bench, &mut log, Codec::None, &[("a", Some("1")), ("b", Some("2"))]);
    append(&bench, &mut log, Codec::None, &[("a", None)]);
    append(&bench, &mut log, Codec::None, &[("z", Some("end"))]);
    roll(&bench, &mut log);
    clean(&bench, &mut log);
    assert_eq!(values(&log), [(1, "2".into()), (2, "-".into()), (3, "end".into())]);
    assert_eq!(headers(&log)[1].delete_horizon_ms(), Some(bench.now_ms() + 1000));
    for (advance_ms, stays) in [(999, true), (1, false)] {
        bench.clock.advance(advance_ms);
        append(&bench, &mut log, Codec::None, &[("z", Some("end"))]);
        roll(&bench, &mut log);
        clean(&bench, &mut log);
        assert_eq!(records(&log).contains_key(&2), stays, "{advance_ms}");
    }
}

#[test]
fn aborted_records_go_and_their_marker_goes_after_its_horizon() {
    let bench = Bench::new(&[&COMPACTED[..], &[("delete.retention.ms", "10")]].concat());
    let mut log = bench.create();
    append_of(&bench, &mut log, in_transaction(1, 0), &[("a", Some("aborted"))]);
    append_of(&bench, &mut log, in_transaction(2, 0), &[("a", Some("committed"))]);
    end(&bench, &mut log, 1, false);
    end(&bench, &mut log, 2, true);
    append_of(&bench, &mut log, in_transaction(1, 1), &[("b", Some("later"))]);
    end(&bench, &mut log, 1, true);
    append(&bench, &mut log, Codec::None, &[("z", Some("end"))]);
    roll(&bench, &mut log);
    clean(&bench, &mut log);
    assert_eq!(
        values(&log),
        [(1, "committed".into()), (4, "later".into()), (6, "end".into())]
    );
    // The first cleaning still saw the aborted record, so the marker stays with its index entry.
    assert_eq!(markers(&log), [2, 3, 5]);
    assert_eq!(aborted_in(&log, Offset(0), Offset(7)).len(), 1);
    let again = |log: &mut Log| {
        append(&bench, log, Codec::None, &[("z", Some("end"))]);
        roll(&bench, log);
        clean(&bench, log);
    };
    again(&mut log); // the marker is needed no longer: it gets its horizon
    assert_eq!(markers(&log), [2, 3, 5]);
    assert_eq!(aborted_in(&log, Offset(0), Offset(7)), []);
    bench.clock.advance(11);
    again(&mut log);
    assert_eq!(markers(&log), [3, 5]);
    assert_eq!(
        values(&log),
        [(1, "committed".into()), (4, "later".into()), (8, "end".into())]
    );
}

#[test]
fn open_transaction_is_not_cleaned_nor_what_follows_it() {
    let bench = bench();
    let mut log = bench.create();
    append(&bench, &mut log, Codec::None, &[("a", Some("1"))]);
    append(&bench, &mut log, Codec::None, &[("a", Some("2"))]);
    roll(&bench, &mut log);
    append_of(&bench, &mut log, in_transaction(1, 0), &[("a", Some("open"))]);
    append(&bench, &mut log, Codec::None, &[("a", Some("3"))]);
    append(&bench, &mut log, Codec::None, &[("a", Some("4"))]);
    roll(&bench, &mut log);
    clean(&bench, &mut log);
    assert_eq!(values(&log).iter().map(|it| it.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(log.contents().offsets().first_dirty(), Some(Offset(2)));
}

#[test]
fn last_batch_of_a_producer_stays_without_records() {
    let bench = bench();
    let mut log = bench.create();
    let producer = |sequence| BatchBuilder::new(Codec::None).producer(9, 4, sequence);
    append_of(&bench, &mut log, producer(0), &[("a", Some("1"))]);
    append_of(&bench, &mut log, producer(1), &[("a", Some("2")), ("b", Some("3"))]);
    append(&bench, &mut log, Codec::None, &[("a", Some("4")), ("b", Some("5"))]);
    roll(&bench, &mut log);
    clean(&bench, &mut log);
    assert_eq!(values(&log), [(3, "4".into()), (4, "5".into())]);
    let found: Vec<_> = headers(&log)
        .iter()
        .map(|it| (it.base_offset.get(), it.record_count))
        .collect();
    assert_eq!(found, [(1, 0), (3, 2)]);
    log.close().unwrap();
    std::fs::remove_file(bench.file(5, ".snapshot")).unwrap();
    let mut log = bench.reopen(0).unwrap();
    // The sequence is read from the empty batch: the next one is accepted, the last one is a duplicate.
    let mut next = |sequence, pairs: &[(&str, Option<&str>)]| append_of(&bench, &mut log, producer(sequence), pairs);
    assert_eq!(next(1, &[("a", Some("2")), ("b", Some("3"))]), Offset(1));
    assert_eq!(next(3, &[("a", Some("6"))]), Offset(5));
}

#[test]
fn high_watermark_can_be_read_even_without_a_record() {
    let bench = bench();
    let mut log = bench.create();
    append(&bench, &mut log, Codec::None, &[("a", Some("1"))]);
    append_of(&bench, &mut log, in_transaction(1, 0), &[("a", Some("2"))]);
    end(&bench, &mut log, 1, false);
    roll(&bench, &mut log);
    for _ in 0..3 {
        clean(&bench, &mut log);
        bench.clock.advance(100_000_000);
        log.producers_mut().remove_expired(bench.now_ms());
        append(&bench, &mut log, Codec::None, &[("b", Some("x"))]);
        append_of(&bench, &mut log, in_transaction(1, 0), &[("b", Some("y"))]);
        end(&bench, &mut log, 1, false);
        roll(&bench, &mut log);
    }
    clean(&bench, &mut log);
    // A follower that copies every batch reaches the log's end.
    let end = headers(&log).last().unwrap().next_offset();
    assert_eq!(end, log.log_end_offset());
    // Once the high watermark is past that batch, it goes.
    append(&bench, &mut log, Codec::None, &[("c", Some("z"))]);
    for _ in 0..3 {
        bench.clock.advance(100_000_000);
        log.producers_mut().remove_expired(bench.now_ms());
        log.set_first_dirty_offset(Some(Offset(0)));
        clean(&bench, &mut log);
    }
    assert!(headers(&log).iter().all(|it| it.next_offset() != end), "{end}");
}

#[test]
fn small_map_cleans_in_several_passes() {
    let bench = bench();
    let mut log = bench.create();
    for round in 0..4 {
        for key in 0..50 {
            let (key, value) = (format!("key {key}"), format!("round {round}"));
            append(&bench, &mut log, Codec::None, &[(&key, Some(&value))]);
        }
        roll(&bench, &mut log);
    }
    let end = log.log_end_offset();
    let mut passes = 0;
    while log.contents().offsets().first_dirty() != Some(end) {
        let before = log.contents().offsets().first_dirty();
        clean_within(&bench, &mut log, 20 * 20).unwrap();
        assert!(log.contents().offsets().first_dirty() > before);
        passes += 1;
        assert!(passes < 50);
    }
    assert!(passes > 5, "{passes}");
    // Keys that are older than a pass stay until the next pass over their last value.
    let left = values(&log);
    assert_eq!(left.iter().filter(|(_, value)| value == "round 3").count(), 50);
    assert_eq!(left.len(), 50);
}

#[test]
fn small_segments_are_grouped_and_large_ones_stay() {
    let bench = Bench::new(&[&COMPACTED[..], &[("segment.bytes", "3000")]].concat());
    let mut log = bench.create();
    let text = "x".repeat(900);
    for key in 0..24 {
        append(
            &bench,
            &mut log,
            Codec::None,
            &[(&format!("{}", key % 20), Some(&text))],
        );
    }
    roll(&bench, &mut log);
    assert_eq!(log.segments().count(), 9);
    clean(&bench, &mut log);
    clean(&bench, &mut log);
    assert_eq!(values(&log).len(), 20);
    let sizes: Vec<u64> = log.segments().all().map(Segment::size).collect();
    assert!(sizes.len() < 9 && sizes.iter().all(|size| *size <= 3000), "{sizes:?}");
}

#[test]
fn corrupt_batch_ends_the_cleaning_and_changes_nothing() {
    let bench = bench();
    let mut log = bench.create();
    append(&bench, &mut log, Codec::None, &[("a", Some("1"))]);
    append(&bench, &mut log, Codec::None, &[("a", Some("2"))]);
    roll(&bench, &mut log);
    let path = bench.file(0, ".log");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let failed = clean_within(&bench, &mut log, 1 << 20).unwrap_err();
    let text = format!("{failed:?}");
    assert!(
        text.contains("CorruptFile") && text.contains("00000000000000000000.log"),
        "{text}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(log.contents().offsets().first_dirty(), None);
    assert!(!bench.names().iter().any(|name| Passing::of(name).is_some()));
}

#[test]
fn readers_of_a_replaced_segment_go_on() {
    let bench = bench();
    let mut log = bench.create();
    append(&bench, &mut log, Codec::None, &[("a", Some("1"))]);
    append(&bench, &mut log, Codec::None, &[("a", Some("2"))]);
    roll(&bench, &mut log);
    let plan = log.plan_read(Offset(0), Offset(2)).unwrap();
    clean(&bench, &mut log);
    let slice = plan.resolve(1 << 20, true).unwrap();
    assert_eq!((slice.base_offset, slice.len > 0), (Offset(0), true));
    // A reader that comes later gets what is left.
    assert_eq!(
        log.plan_read(Offset(0), Offset(2))
            .unwrap()
            .resolve(1 << 20, true)
            .unwrap()
            .base_offset,
        Offset(1)
    );
}

#[test]
fn truncation_during_a_cleaning_ends_it() {
    use super::Cleanable;
    use super::cleaning::{Buffers, Cleaning, Inputs, Interrupted};
    use super::plan::Plan;
    use super::testing::AtOnce;
    let bench = bench();
    let mut log = bench.create();
    append(&bench, &mut log, Codec::None, &[("a", Some("1"))]);
    append(&bench, &mut log, Codec::None, &[("a", Some("2"))]);
    roll(&bench, &mut log);
    append(&bench, &mut log, Codec::None, &[("a", Some("3"))]);
    let (mut map, mut buffers) = (super::OffsetMap::new(1 << 20, 0.9), Buffers::new(4096));
    let cleanable = Cleanable::of(&log, bench.now_ms(), Offset(3)).unwrap();
    let mut cleaning = Cleaning::new(Plan::of(&log, cleanable, bench.now_ms()).unwrap());
    cleaning.index_keys(&mut map, &mut buffers, &AtOnce).unwrap();
    let inputs = Inputs::of(&log, cleaning.next_group().unwrap(), cleaning.truncations()).unwrap();
    let cleaned = cleaning
        .clean_next(&inputs, &map, &mut buffers, &AtOnce)
        .unwrap()
        .unwrap();
    log.truncate_to(Offset(1)).unwrap();
    assert!(matches!(
        cleaned.swap_into(&mut log, bench.now_ms()),
        Err(Interrupted::Stopped)
    ));
    assert_eq!(values(&log), [(0, "1".into())]);
    assert!(
        !bench.names().iter().any(|name| Passing::of(name).is_some()),
        "{:?}",
        bench.names()
    );
}

#[test]
fn truncation_below_the_first_dirty_offset_lowers_it() {
    let bench = bench();
    let mut log = bench.create();
    for value in ["1", "2", "3"] {
        append(&bench, &mut log, Codec::None, &[(value, Some(value))]);
    }
    roll(&bench, &mut log);
    clean(&bench, &mut log);
    assert_eq!(log.contents().offsets().first_dirty(), Some(Offset(3)));
    log.truncate_to(Offset(2)).unwrap();
    assert_eq!(log.contents().offsets().first_dirty(), Some(Offset(2)));
    log.truncate_fully_and_start_at(Offset(9)).unwrap();
    assert_eq!(log.contents().offsets().first_dirty(), None);
}

/// One step of a random history.
#[derive(Debug, Clone)]
enum Act {
    Plain {
        codec: usize,
        pairs: Vec<(u8, Option<u8>)>,
    },
    InTransaction {
        producer: i64,
        pairs: Vec<(u8, Option<u8>)>,
    },
    End {
        producer: i64,
        commit: bool,
    },
    Roll,
    Clean {
        map_slots: usize,
    },
    Advance {
        ms: i64,
    },
    Reopen {
        is_clean: bool,
    },
}

fn pairs() -> impl Strategy<Value = Vec<(u8, Option<u8>)>> {
    prop::collection::vec((0_u8..12, prop::option::weighted(0.8, any::<u8>())), 1..6)
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..5_usize, pairs()).prop_map(|(codec, pairs)| Act::Plain { codec, pairs }),
        5 => (0..3_i64, pairs()).prop_map(|(producer, pairs)| Act::InTransaction { producer, pairs }),
        4 => (0..3_i64, any::<bool>()).prop_map(|(producer, commit)| Act::End { producer, commit }),
        2 => Just(Act::Roll),
        2 => (1..60_usize).prop_map(|map_slots| Act::Clean { map_slots }),
        1 => (1..400_i64).prop_map(|ms| Act::Advance { ms }),
        1 => any::<bool>().prop_map(|is_clean| Act::Reopen { is_clean }),
    ]
}

/// What was appended, with the transactions that are known to be decided.
#[derive(Default)]
struct Model {
    /// Offset → key, value, time; the records of aborted transactions are taken out when they are decided.
    records: BTreeMap<i64, (u8, Option<u8>, i64)>,
    open: BTreeMap<i64, Vec<i64>>,
    sequences: BTreeMap<i64, i32>,
}

impl Model {
    /// The last record of each key; `None` for a key whose transaction is undecided or whose last record is in one.
    fn last_of(&self, key: u8) -> Option<(i64, Option<u8>)> {
        let mine = self.records.iter().rev().filter(|(_, record)| record.0 == key);
        mine.map(|(offset, record)| (*offset, record.1)).next()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// What must hold after any number of cleanings: every record that is left is one that was appended, at its
    /// offset; a key's last record is there unless it is a tombstone that may be gone; and no older value is left in
    /// front of a tombstone that is gone.
    #[test]
    fn cleaned_log_keeps_the_last_value_of_each_key(acts in prop::collection::vec(act(), 1..60)) {
        let codecs = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
        let bench = Bench::new(&[&COMPACTED[..], &[("delete.retention.ms", "300"), ("segment.bytes", "700")]].concat());
        let mut log = bench.create();
        let mut model = Model::default();
        let mut durable = 0; // what the checkpoint has, which is written before a cleaning
        let texts = |pairs: &[(u8, Option<u8>)]| -> Vec<(String, Option<String>)> {
            pairs.iter().map(|(key, value)| (format!("k{key}"), value.map(|value| format!("v{value}")))).collect()
        };
        for act in acts {
            match act {
                Act::Plain { codec, pairs } => {
                    let owned = texts(&pairs);
                    let lent: Vec<_> = owned.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect();
                    let first = append(&bench, &mut log, codecs[codec], &lent).get();
                    for (at, (key, value)) in pairs.iter().enumerate() {
                        model.records.insert(first + at as i64, (*key, *value, bench.now_ms()));
                    }
                }
                Act::InTransaction { producer, pairs } => {
                    let owned = texts(&pairs);
                    let lent: Vec<_> = owned.iter().map(|(key, value)| (key.as_str(), value.as_deref())).collect();
                    let sequence = model.sequences.entry(producer).or_default();
                    let first = append_of(&bench, &mut log, in_transaction(producer, *sequence), &lent).get();
                    *sequence += pairs.len() as i32;
                    for (at, (key, value)) in pairs.iter().enumerate() {
                        model.records.insert(first + at as i64, (*key, *value, bench.now_ms()));
                        model.open.entry(producer).or_default().push(first + at as i64);
                    }
                }
                Act::End { producer, commit } => {
                    end(&bench, &mut log, producer, commit);
                    let offsets = model.open.remove(&producer).unwrap_or_default();
                    if !commit {
                        model.records.retain(|offset, _| !offsets.contains(offset));
                    }
                }
                Act::Roll => roll(&bench, &mut log),
                Act::Clean { map_slots } => {
                    clean_within(&bench, &mut log, map_slots * 20).unwrap();
                    durable = log.recovery_point().get();
                }
                Act::Advance { ms } => bench.clock.advance(ms),
                Act::Reopen { is_clean } => {
                    let first_dirty = log.contents().offsets().first_dirty();
                    log.close().unwrap();
                    drop(log);
                    log = bench.open(durable, is_clean).unwrap();
                    log.set_first_dirty_offset(first_dirty);
                }
            }
        }
        for (producer, _) in model.open.clone() {
            end(&bench, &mut log, producer, true);
        }
        roll(&bench, &mut log);
        clean(&bench, &mut log);
        let left = records(&log);
        for (offset, (key, value)) in &left {
            let known = model.records.get(offset);
            prop_assert!(known.is_some(), "{offset} was aborted or never written");
            let (wanted_key, wanted_value, _) = known.unwrap();
            prop_assert_eq!(key.clone().unwrap(), format!("k{wanted_key}"));
            prop_assert_eq!(value.clone(), wanted_value.map(|value| format!("v{value}")));
        }
        for key in 0..12 {
            let name = Some(format!("k{key}"));
            let mine: Vec<i64> = left.iter().filter(|(_, pair)| pair.0 == name).map(|it| *it.0).collect();
            match model.last_of(key) {
                Some((offset, Some(_))) => prop_assert_eq!(mine, vec![offset], "{}", key),
                Some((offset, None)) => prop_assert!(mine.is_empty() || mine == [offset], "{key}: {mine:?} {offset}"),
                None => prop_assert_eq!(mine, Vec::<i64>::new(), "{}", key),
            }
        }
        prop_assert_eq!(log.segments().all().map(Segment::base_offset).is_sorted(), true);
        let all = headers(&log);
        prop_assert!(all.windows(2).all(|pair| pair[0].next_offset() <= pair[1].base_offset));
        if let Some(last) = all.last() {
            prop_assert_eq!(last.next_offset(), log.log_end_offset());
        }
    }
}

/// Copies the batches of these records into a log as old messages, as a follower of an old leader had.
fn append_old(bench: &Bench, log: &mut Log, magic: Magic, codec: Codec, pairs: &[(&str, Option<&str>)]) {
    let mut builder = BatchBuilder::new(codec);
    for (key, value) in pairs {
        builder.append(bench.now_ms(), Some(key.as_bytes()), value.map(str::as_bytes), &[]);
    }
    let bytes = builder.build(log.log_end_offset(), LeaderEpoch(0));
    let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
    let mut old = Vec::new();
    DownConverter::new(magic).push(&batch, Offset(0), &mut old).unwrap();
    log.append_as_follower(&old).unwrap();
}

#[test]
fn old_messages_are_cleaned_and_stay_old() {
    for (magic, codec) in [
        (Magic::V0, Codec::None),
        (Magic::V1, Codec::Gzip),
        (Magic::V1, Codec::Lz4),
    ] {
        let bench = Bench::new(&[&COMPACTED[..], &[("delete.retention.ms", "100000")]].concat());
        let mut log = bench.create();
        append_old(
            &bench,
            &mut log,
            magic,
            codec,
            &[("a", Some("1")), ("b", Some("2")), ("a", Some("3"))],
        );
        append_old(&bench, &mut log, magic, codec, &[("b", None), ("c", Some("4"))]);
        append(&bench, &mut log, Codec::None, &[("c", Some("5"))]);
        roll(&bench, &mut log);
        clean(&bench, &mut log);
        assert_eq!(values(&log), [(2, "3".into()), (3, "-".into()), (5, "5".into())]);
        let magics: Vec<i8> = headers(&log).iter().map(|header| header.magic).collect();
        assert_eq!(magics, [magic.to_byte(), magic.to_byte(), 2]);
        // The old tombstone goes once its segment was left alone for the retention before the newest clean one.
        let age = |log: &Log, at: usize, ms: i64| {
            let path = log.segments().at(at).log().path.clone();
            bench.fs.set_modified(&path, ms).unwrap();
        };
        append(&bench, &mut log, Codec::None, &[("d", Some("6"))]);
        roll(&bench, &mut log);
        clean_within(&bench, &mut log, 1 << 20).unwrap();
        assert!(records(&log).contains_key(&3));
        append(&bench, &mut log, Codec::None, &[("d", Some("7"))]);
        roll(&bench, &mut log);
        append(&bench, &mut log, Codec::None, &[("d", Some("8"))]);
        roll(&bench, &mut log);
        log.set_first_dirty_offset(Some(Offset(8)));
        age(&log, 0, bench.now_ms() - 200_000);
        age(&log, 1, bench.now_ms());
        clean(&bench, &mut log);
        assert_eq!(
            values(&log),
            [(2, "3".into()), (5, "5".into()), (8, "8".into())],
            "{magic:?} {codec:?}"
        );
    }
}

#[test]
fn record_without_a_key_is_left_out() {
    let bench = Bench::new(&[("file.delete.delay.ms", "0")]);
    let mut log = bench.create();
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(1, None, Some(b"no key"), &[]);
    builder.append(1, Some(b"k"), Some(b"v"), &[]);
    append_of(&bench, &mut log, builder, &[("z", Some("end"))]);
    log.append_as_leader(&mut batch(1, 1, 10), LeaderEpoch(0), record::Origin::Client, 1)
        .unwrap();
    roll(&bench, &mut log);
    let stats = clean(&bench, &mut log);
    assert_eq!(stats.records_without_key, 1);
    assert_eq!(records(&log).keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
}
