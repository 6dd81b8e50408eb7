//! The walk in chunks beside the general walk, its naive twin: the same batches, and the same reason to stop.

use std::sync::Arc;

use arrow_array::RecordBatch;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::builder::Limits;
use super::super::test_batches::NOW_MS;
use super::super::{Column, Predicate, schema};
use super::*;
use base::place::{LeaderEpoch, Offset};
use record::{BATCH_HEADER, BatchBuilder, Codec};

/// Lengths about which the copying of bytes and the forms of varints change.
fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> + Clone {
    let len = prop_oneof![
        8 => 0..20usize,
        4 => 60..70usize,
        4 => 120..140usize,
        1 => 250..260usize,
        1 => 8180..8200usize,
    ];
    option::weighted(
        0.9,
        (len, any::<u8>()).prop_map(|(len, seed)| (0..len).map(|at| seed.wrapping_add(at as u8)).collect()),
    )
}

/// The records of one batch, as they stand behind its header, and how many they are.
fn payload() -> impl Strategy<Value = (Vec<u8>, i32)> {
    let gap = prop_oneof![20 => Just(0), 2 => 0..200i32, 1 => 8000..9000i32];
    let time = prop_oneof![20 => 0..20_000i64, 1 => Just(-1), 1 => Just(1 << 40)];
    let record = (gap, time, bytes(), bytes());
    let count = prop_oneof![3 => 0..20usize, 1 => 250..520usize];
    count
        .prop_flat_map(move |count| vec(record.clone(), count))
        .prop_map(|records| {
            let (mut builder, mut delta) = (BatchBuilder::new(Codec::None), 0);
            for (gap, time, key, value) in &records {
                delta += gap;
                let none = std::iter::empty::<(&[u8], Option<&[u8]>)>();
                builder.append_at(delta, NOW_MS + time, key.as_deref(), value.as_deref(), none);
                delta += 1;
            }
            (
                builder.build(Offset(0), LeaderEpoch(0)).split_off(BATCH_HEADER),
                records.len() as i32,
            )
        })
}

fn frames() -> impl Strategy<Value = Frame> {
    let times = prop_oneof![9 => Just(NOW_MS), 1 => Just(i64::MAX / 1_000 - 5_000), 1 => any::<i64>()];
    let from = prop_oneof![3 => Just(0), 1 => 0..700i64];
    let to = prop_oneof![3 => Just(i64::MAX), 1 => 0..700i64];
    (times, option::weighted(0.2, Just(NOW_MS + 7)), from, to).prop_map(
        |(base_timestamp, log_append_time, from, to)| Frame {
            base_offset: 0,
            base_timestamp,
            log_append_time,
            from,
            to: to.max(from),
        },
    )
}

const WANTED: [&[Column]; 6] = [
    &[Column::Key, Column::Value, Column::Offset, Column::Timestamp],
    &[Column::Key, Column::Timestamp],
    &[Column::Value, Column::Offset],
    &[Column::Offset, Column::Timestamp],
    &[Column::SerializedKeySize, Column::SerializedValueSize],
    &[Column::SerializedValueSize, Column::Key],
];

fn limits() -> impl Strategy<Value = Limits> {
    let rows = prop_oneof![2 => Just(1000usize), 1 => 1..300usize];
    let bytes = prop_oneof![2 => Just(1usize << 20), 1 => 1..20_000usize];
    (rows, bytes).prop_map(|(rows, bytes)| Limits { rows, bytes })
}

/// Every batch that a walk gives, and how it ended.
fn batches_of(
    columns: &[Column],
    limits: Limits,
    count: i32,
    mut walk_on: impl FnMut(&mut Walk, &mut Columns) -> Result<Stopped, Bad>,
) -> (Vec<RecordBatch>, Result<(), Bad>) {
    let mut made = Columns::new(schema(columns), columns, limits, 1);
    let (mut walk, mut batches) = (Walk::new(count), Vec::new());
    loop {
        made.start(1000);
        let stopped = walk_on(&mut walk, &mut made);
        made.end_run(0);
        match stopped {
            Err(bad) => return (batches, Err(bad)),
            Ok(_) => batches.push(made.finish(&Arc::from("t"), 0).unwrap()),
        }
        if matches!(stopped, Ok(Stopped::Done)) {
            return (batches, Ok(()));
        }
    }
}

type Batches = (Vec<RecordBatch>, Result<(), Bad>);

/// By the walk in chunks, and by the general one.
fn both_ways(payload: &[u8], count: i32, frame: &Frame, columns: &[Column], limits: Limits) -> (Batches, Batches) {
    let mut chunk = Box::<Chunk>::default();
    let fast = batches_of(columns, limits, count, |walk, made| {
        plain::walk(payload, walk, frame, made, &mut chunk)
    });
    let filter = Filter::new(&Predicate::default());
    let naive = batches_of(columns, limits, count, |walk, made| {
        if made.wanted.has_body() {
            walk_records::<true, false>(payload, walk, frame, &filter, made)
        } else {
            walk_records::<false, false>(payload, walk, frame, &filter, made)
        }
    });
    (fast, naive)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_walk_matches_general_walk(
        (payload, count) in payload(),
        frame in frames(),
        columns in proptest::sample::select(&WANTED[..]),
        limits in limits(),
    ) {
        let (fast, naive) = both_ways(&payload, count, &frame, columns, limits);
        prop_assert_eq!(fast, naive);
    }

    /// A damaged record that starts a new batch is met by the general walk before it gives the batch in front of it.
    #[test]
    fn plain_walk_refuses_what_the_general_walk_refuses(
        (mut payload, count) in payload(),
        wrong_count in -1..2i32,
        frame in frames(),
        columns in proptest::sample::select(&WANTED[..]),
        limits in limits(),
        damage in vec((any::<proptest::sample::Index>(), any::<u8>()), 0..3),
        cut in option::weighted(0.3, any::<proptest::sample::Index>()),
    ) {
        for (at, byte) in damage {
            if !payload.is_empty() {
                let at = at.index(payload.len());
                payload[at] = byte;
            }
        }
        if let Some(cut) = cut {
            payload.truncate(cut.index(payload.len() + 1));
        }
        let (fast, naive) = both_ways(&payload, count + wrong_count, &frame, columns, limits);
        prop_assert_eq!(&fast.1, &naive.1);
        prop_assert!(fast.0.len() - naive.0.len() <= usize::from(naive.1.is_err()));
        prop_assert_eq!(&fast.0[..naive.0.len()], &naive.0[..]);
    }
}
