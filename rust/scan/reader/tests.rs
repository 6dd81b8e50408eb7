//! What a split gives, beside the naive way; and what it says of files that are cut, flipped or gone.

use std::fs;

use arrow_array::Int32Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::test_batches::{
    NOW_MS, Row, aborted, build, empty_batch, file, made_batches, naive_rows, options, read, rows_of, split,
};
use super::*;
use crate::{Column, Predicate};
use ::io::{FileSystem, OpenMode, OsFileSystem};
use base::place::LeaderEpoch;
use record::BatchBuilder;

/// Offsets 0 to 8 in three batches: plain, compressed, transactional.
fn small_file() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, codec) in [Codec::None, Codec::Zstd, Codec::None].into_iter().enumerate() {
        let mut builder = BatchBuilder::new(codec);
        if index == 2 {
            builder = builder.producer(1, 0, 0).transactional(true);
        }
        for i in 0..3 {
            builder.append(NOW_MS + i, Some(b"key"), Some(b"value"), &[(b"h", Some(b"x"))]);
        }
        bytes.extend(builder.build(Offset(index as i64 * 3), LeaderEpoch(5)));
    }
    bytes
}

fn one_batch(base_offset: i64, records: i32) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    for i in 0..records {
        builder.append(NOW_MS + i64::from(i), Some(b"k"), Some(&[i as u8; 10]), &[]);
    }
    builder.build(Offset(base_offset), LeaderEpoch(0))
}

fn offsets(rows: &[Row]) -> Vec<i64> {
    rows.iter().map(|row| row.offset).collect()
}

/// A range of offsets, of timestamps, keys, and limits.
fn requests() -> impl Strategy<Value = (i64, i64, Predicate, usize, usize)> {
    let keys = proptest::option::of(vec(proptest::option::of(vec(any::<u8>(), 0..2)), 0..12));
    let bound = || proptest::option::of(NOW_MS..NOW_MS + 20_000);
    (0..300i64, 0..600i64, bound(), bound(), keys, 1..30usize, 1..300usize).prop_map(
        |(from, to, min_timestamp_ms, end_timestamp_ms, keys, rows, bytes)| {
            let predicate = Predicate {
                min_timestamp_ms,
                end_timestamp_ms,
                keys: keys.map(Into::into),
            };
            (from, to, predicate, rows, bytes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn decode_matches_record_iter(
        batches in made_batches(),
        (from, to, predicate, rows, bytes) in requests(),
        (base, next_base) in (0..100i64, 0..10usize),
        is_whole in any::<bool>(),
        check_crcs in any::<bool>(),
    ) {
        let made = build(&batches);
        let file = file(&made);
        let mut split = split(&file.path, made.len() as u64);
        let mut options = options();
        options.check_crcs = check_crcs;
        if !is_whole {
            (split.start_offset, split.end_offset) = (Offset(from), Offset(to));
            // A slice never begins with an offset below its own.
            split.slices[0].base_offset = Offset(base.min(batches_start(&made)));
            let next = starts(&made).get(next_base).map(|at| batches_start(&made[*at..]));
            split.slices[0].next_base_offset = Offset(next.unwrap_or(i64::MAX));
            split.aborted = Some(vec![aborted(1, 0, 60), aborted(2, 30, 90), aborted(1, 80, 400)]);
            options.predicate = predicate.clone();
            (options.batch_rows, options.batch_bytes) = (rows, bytes);
        }
        let read = read(&split, &options).unwrap();
        prop_assert_eq!(read, naive_rows(&made, &split, &options.predicate));
    }

    #[test]
    fn any_columns_in_any_order_have_the_values_of_all(
        batches in made_batches(),
        order in proptest::sample::subsequence(Column::ALL.to_vec(), 0..=Column::ALL.len()).prop_shuffle(),
    ) {
        let made = build(&batches);
        let file = file(&made);
        let split = Arc::new(split(&file.path, made.len() as u64));
        let read = |columns: &[Column]| -> Vec<RecordBatch> {
            let options = Arc::new(ScanOptions::new(columns).unwrap());
            SplitReader::new(Arc::clone(&split), options, LostRanges::default()).map(Result::unwrap).collect()
        };
        let (all, some) = (read(&Column::ALL), read(&order));
        prop_assert_eq!(all.len(), some.len());
        for (all, some) in all.iter().zip(&some) {
            prop_assert_eq!(all.num_rows(), some.num_rows());
            for (at, column) in order.iter().enumerate() {
                prop_assert_eq!(all.column_by_name(column.name()).unwrap(), some.column(at));
            }
        }
    }
}

proptest! {
    #[test]
    fn sizes_are_those_of_keys_and_values(batches in made_batches()) {
        let made = build(&batches);
        let file = file(&made);
        let split = Arc::new(split(&file.path, made.len() as u64));
        let read = |columns: &[Column]| -> Vec<RecordBatch> {
            let options = Arc::new(ScanOptions::new(columns).unwrap());
            SplitReader::new(Arc::clone(&split), options, LostRanges::default()).map(Result::unwrap).collect()
        };
        let with_headers = [Column::Headers, Column::SerializedKeySize, Column::SerializedValueSize];
        for columns in [&Column::SIZES[..], &with_headers] {
            let (strings, sizes) = (read(&[Column::Key, Column::Value]), read(columns));
            prop_assert_eq!(strings.len(), sizes.len());
            for (strings, sizes) in strings.iter().zip(&sizes) {
                for (string, size) in [("key", "serializedKeySize"), ("value", "serializedValueSize")] {
                    let strings = strings.column_by_name(string).unwrap().as_binary::<i32>();
                    let sizes = sizes.column_by_name(size).unwrap().as_primitive::<Int32Type>();
                    let expected: Int32Array = strings.iter().map(|it| it.map(|bytes| bytes.len() as i32)).collect();
                    prop_assert_eq!(&expected, sizes);
                }
            }
        }
    }
}

fn batches_start(bytes: &[u8]) -> i64 {
    bytes
        .first_chunk()
        .map_or(i64::MAX, |offset| i64::from_be_bytes(*offset))
}

#[test]
fn batches_end_at_rows_or_bytes() {
    let made = [one_batch(0, 10), one_batch(10, 10)].concat();
    let file = file(&made);
    let lengths = |rows, bytes| {
        let options = ScanOptions {
            batch_rows: rows,
            batch_bytes: bytes,
            ..options()
        };
        let split = Arc::new(split(&file.path, made.len() as u64));
        let reader = SplitReader::new(split, Arc::new(options), LostRanges::default());
        reader.map(|batch| batch.unwrap().num_rows()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(8, usize::MAX), [8, 8, 4]);
    // Key and value take 11 bytes.
    assert_eq!(lengths(usize::MAX, 33), [3, 3, 3, 3, 3, 3, 2]);
    assert_eq!(lengths(usize::MAX, 1), [1; 20]);
    assert_eq!(lengths(usize::MAX, usize::MAX), [20]);
}

#[test]
fn every_flipped_bit_fails_or_changes_nothing() {
    let good = small_file();
    let end = good.len() as u64;
    let whole = file(&good);
    let mut split = split(&whole.path, end);
    split.end_offset = Offset(9);
    split.slices[0].next_base_offset = Offset(9);
    let rows = read(&split, &options()).unwrap();
    assert_eq!(offsets(&rows), (0..9).collect::<Vec<_>>());
    let last_batch = good.len() - one_len(&good);
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&whole.path, &bytes).unwrap();
        match read(&split, &options()) {
            Err(ScanError::CorruptBatch { .. }) => {}
            Err(error) => panic!("bit {bit}: {error}"),
            Ok(read) if read == rows => assert!(is_leader_epoch(&good, bit / 8), "bit {bit}"),
            // The last base offset has nothing behind it that could tell.
            Ok(read) => {
                assert!((last_batch..last_batch + 8).contains(&(bit / 8)), "bit {bit}");
                assert_eq!(read, rows[..6], "bit {bit}");
            }
        }
    }
}

fn one_len(bytes: &[u8]) -> usize {
    BatchHeader::parse(&bytes[starts(bytes)[2]..]).unwrap().size_bytes()
}

fn starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    while let Some(last) = starts.last().copied().filter(|last| *last < bytes.len()) {
        starts.push(last + BatchHeader::parse(&bytes[last..]).unwrap().size_bytes());
    }
    starts
}

fn is_leader_epoch(bytes: &[u8], at: usize) -> bool {
    starts(bytes).iter().any(|start| (start + 12..start + 16).contains(&at))
}

#[test]
fn a_file_cut_anywhere_is_loss_from_the_first_batch_that_is_not_whole() {
    let good = small_file();
    let starts = starts(&good);
    let cut_file = file(&good);
    let mut split = split(&cut_file.path, good.len() as u64);
    split.end_offset = Offset(9);
    for cut in 0..good.len() {
        fs::write(&cut_file.path, &good[..cut]).unwrap();
        let whole = starts.iter().filter(|start| **start <= cut).count() as i64 - 1;
        match read(&split, &options()) {
            Err(ScanError::Lost { from, to, .. }) => {
                assert_eq!((from, to), (Offset(whole * 3), Offset(9)), "cut at {cut}");
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
        let lost = LostRanges::default();
        let lenient = ScanOptions {
            fail_on_data_loss: false,
            ..options()
        };
        let reader = SplitReader::new(Arc::new(split.clone()), Arc::new(lenient), Arc::clone(&lost));
        let rows: Vec<Row> = reader.flat_map(|batch| rows_of(&batch.unwrap())).collect();
        assert_eq!(offsets(&rows), (0..whole * 3).collect::<Vec<_>>(), "cut at {cut}");
        let lost = lost.lock();
        assert_eq!(
            (lost.len(), lost[0].from, lost[0].to),
            (1, Offset(whole * 3), Offset(9)),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_cut_behind_the_wanted_offsets_is_no_loss() {
    let good = small_file();
    let cut = starts(&good)[2];
    let file = file(&good[..cut]);
    let mut split = split(&file.path, good.len() as u64);
    split.end_offset = Offset(6);
    assert_eq!(offsets(&read(&split, &options()).unwrap()), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_range_that_ends_within_a_batch_is_corrupt() {
    let good = small_file();
    let file = file(&good);
    for end in 1..good.len() {
        let read = read(&split(&file.path, end as u64), &options());
        if starts(&good).contains(&end) {
            assert!(read.is_ok(), "end {end}");
        } else {
            assert!(matches!(read, Err(ScanError::CorruptBatch { .. })), "end {end}");
        }
    }
}

#[test]
fn a_crc_mismatch_names_file_and_position_of_the_batch() {
    let mut bytes = small_file();
    let at = starts(&bytes)[1];
    bytes[at + 70] ^= 1;
    let file = file(&bytes);
    let error = read(&split(&file.path, bytes.len() as u64), &options())
        .unwrap_err()
        .to_string();
    let path = file.path.display();
    assert!(
        error.contains(&format!(" cannot be read: {path} is corrupt at position {at}: ")),
        "{error}"
    );
    assert!(error.contains("stored crc"), "{error}");
}

#[test]
fn without_the_crc_a_flipped_value_is_read() {
    let mut bytes = one_batch(0, 1);
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    let file = file(&bytes);
    let split = split(&file.path, bytes.len() as u64);
    assert!(read(&split, &options()).is_err());
    let unchecked = ScanOptions {
        check_crcs: false,
        ..options()
    };
    assert_eq!(read(&split, &unchecked).unwrap().len(), 1);
}

#[test]
fn batch_with_the_magic_of_an_old_format_is_corrupt() {
    for magic in 0..2 {
        let mut bytes = one_batch(0, 1);
        bytes[16] = magic;
        let file = file(&bytes);
        let error = read(&split(&file.path, bytes.len() as u64), &options()).unwrap_err();
        assert!(matches!(error, ScanError::CorruptBatch { .. }), "{error}");
    }
}

#[test]
fn a_batch_of_two_segments_is_corrupt() {
    let made = one_batch(0, 5);
    let file = file(&made);
    let mut split = split(&file.path, made.len() as u64);
    split.slices[0].next_base_offset = Offset(4);
    let error = read(&split, &options()).unwrap_err().to_string();
    assert!(
        error.contains(": its offsets 0 to 4 go beyond 4, where the next segment begins; "),
        "{error}"
    );
}

#[test]
fn batches_of_a_neighbour_segment_are_left_to_it() {
    // As after a cleaner's swap: this file has the records of the next one too.
    let made = [one_batch(0, 5), one_batch(5, 5), one_batch(10, 5)].concat();
    let file = file(&made);
    let mut split = split(&file.path, made.len() as u64);
    split.slices[0].next_base_offset = Offset(10);
    let mut second = split.slices[0].clone();
    (second.base_offset, second.next_base_offset) = (Offset(10), Offset::MAX);
    second.start = Position(one_batch(0, 5).len() as u64 * 2);
    split.slices.push(second);
    assert_eq!(offsets(&read(&split, &options()).unwrap()), (0..15).collect::<Vec<_>>());
}

#[test]
fn last_batch_behind_the_segment_is_the_next_segments_only_when_that_is_gone() {
    let made = [one_batch(0, 5), one_batch(10, 5)].concat();
    let file = file(&made);
    let mut split = split(&file.path, made.len() as u64);
    split.end_offset = Offset(10);
    split.slices[0].next_base_offset = Offset(10);
    assert_eq!(offsets(&read(&split, &options()).unwrap()), [0, 1, 2, 3, 4]);
    fs::write(file.path.with_file_name("00000000000000000010.log"), "").unwrap();
    let error = read(&split, &options()).unwrap_err();
    assert!(
        matches!(error, ScanError::CorruptBatch { offset: Offset(5), .. }),
        "{error}"
    );
}

#[test]
fn a_huge_batch_is_read_through_a_window_that_grew() {
    let value: Vec<u8> = (0..3_000_000u32).map(|i| (i >> 3) as u8).collect();
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(NOW_MS, None, Some(&value), &[]);
    builder.append(NOW_MS, None, Some(b"after"), &[]);
    let made = [
        one_batch(0, 3),
        builder.build(Offset(3), LeaderEpoch(0)),
        one_batch(5, 3),
    ]
    .concat();
    let file = file(&made);
    let rows = read(&split(&file.path, made.len() as u64), &options()).unwrap();
    assert_eq!(offsets(&rows), (0..8).collect::<Vec<_>>());
    assert_eq!(rows[3].value.as_deref(), Some(&value[..]));
}

#[test]
fn a_length_beyond_the_slice_allocates_nothing() {
    let mut made = one_batch(0, 3);
    made[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
    let file = file(&made);
    let split = Arc::new(split(&file.path, made.len() as u64));
    let mut reader = SplitReader::new(split, Arc::new(options()), LostRanges::default());
    assert!(matches!(
        reader.next(),
        Some(Err(ScanError::CorruptBatch {
            position: Position::START,
            ..
        }))
    ));
    assert!(reader.next().is_none());
    assert!(reader.into_workspace().walk.room_bytes() <= made.len());
}

#[test]
fn empty_batches_and_empty_splits_give_nothing() {
    let made = [empty_batch(0, 4), one_batch(5, 2), empty_batch(7, 9)].concat();
    let file = file(&made);
    let whole = split(&file.path, made.len() as u64);
    assert_eq!(offsets(&read(&whole, &options()).unwrap()), [5, 6]);
    assert_eq!(read(&split(&file.path, 0), &options()).unwrap(), []);
    let mut none = whole;
    none.slices.clear();
    assert_eq!(read(&none, &options()).unwrap(), []);
}

#[test]
fn a_deleted_segment_is_read_by_its_open_file_or_its_link_or_is_loss() {
    let made = one_batch(0, 4);
    let file = file(&made);
    let link = file.path.with_extension("link");
    fs::hard_link(&file.path, &link).unwrap();
    let mut split = split(&file.path, made.len() as u64);
    split.end_offset = Offset(4);
    split.slices[0].link = Some(link.clone());
    split.slices[0].file = Some(OsFileSystem.open(&file.path, OpenMode::Read).unwrap());
    fs::remove_file(&file.path).unwrap();
    assert_eq!(read(&split, &options()).unwrap().len(), 4);
    split.slices[0].file = None;
    assert_eq!(read(&split, &options()).unwrap().len(), 4);
    fs::rename(&link, &file.path).unwrap();
    assert_eq!(read(&split, &options()).unwrap().len(), 4);
    fs::remove_file(&file.path).unwrap();
    let error = read(&split, &options()).unwrap_err();
    assert!(matches!(
        error,
        ScanError::Lost {
            from: Offset(0),
            to: Offset(4),
            ..
        }
    ));
    assert!(
        error.to_string().starts_with("flights-3: offsets 0 to 4 are lost: "),
        "{error}"
    );
}

#[test]
fn what_cannot_be_read_names_operation_and_file() {
    let dir = tempfile::tempdir().unwrap();
    let error = read(&split(dir.path(), 100), &options()).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("open of {} failed: it is a directory", dir.path().display())),
        "{error}"
    );
}

#[test]
fn no_timestamp_is_a_millisecond_before_the_epoch_as_in_spark() {
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(-1, None, None, &[]);
    let made = builder.build(Offset(0), LeaderEpoch(0));
    let file = file(&made);
    assert_eq!(
        read(&split(&file.path, made.len() as u64), &options()).unwrap()[0].timestamp_us,
        -1000
    );
}

#[test]
fn timestamps_beyond_microseconds_are_the_farthest() {
    let mut made = Vec::new();
    for (offset, timestamp_ms) in [i64::MAX / 2, i64::MIN, NOW_MS].into_iter().enumerate() {
        let mut builder = BatchBuilder::new(Codec::None);
        builder.append(timestamp_ms, None, None, &[]);
        made.extend(builder.build(Offset(offset as i64), LeaderEpoch(0)));
    }
    let file = file(&made);
    let rows = read(&split(&file.path, made.len() as u64), &options()).unwrap();
    let found: Vec<_> = rows.iter().map(|row| row.timestamp_us).collect();
    assert_eq!(found, [i64::MAX, -i64::MAX, NOW_MS * 1000]);
}

#[test]
fn header_keys_that_are_not_utf8_are_read_as_java_reads_them() {
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(NOW_MS, None, None, &[(b"a\xffb", None), (b"", Some(b""))]);
    builder.append(NOW_MS, None, None, &[]);
    let made = builder.build(Offset(0), LeaderEpoch(0));
    let file = file(&made);
    let rows = read(&split(&file.path, made.len() as u64), &options()).unwrap();
    let expected = vec![("a\u{fffd}b".to_owned(), None), (String::new(), Some(vec![]))];
    assert_eq!(rows[0].headers, Some(expected));
    assert_eq!(rows[1].headers, None);
}

#[test]
fn a_count_that_is_not_the_records_is_corrupt_though_the_crc_is_right() {
    for count in [-1i32, 0, 1, 3, 4, i32::MAX] {
        let mut made = one_batch(0, 2);
        made[57..61].copy_from_slice(&count.to_be_bytes());
        let crc = crc32c(&made[21..]);
        made[17..21].copy_from_slice(&crc.to_be_bytes());
        let file = file(&made);
        let read = read(&split(&file.path, made.len() as u64), &options());
        assert!(
            matches!(
                read,
                Err(ScanError::CorruptBatch {
                    position: Position::START,
                    ..
                })
            ),
            "{count}: {read:?}"
        );
    }
}

#[test]
fn memory_of_a_dropped_batch_is_taken_again() {
    let made: Vec<u8> = (0..4).flat_map(|i| one_batch(i * 100, 100)).collect();
    let file = file(&made);
    let options = ScanOptions {
        batch_rows: 100,
        ..options()
    };
    let split = Arc::new(split(&file.path, made.len() as u64));
    let mut reader = SplitReader::new(split, Arc::new(options), LostRanges::default());
    let mut addresses = Vec::new();
    let mut kept = None;
    for _ in 0..4 {
        let batch = reader.next().unwrap().unwrap();
        let value = batch
            .column_by_name("value")
            .unwrap()
            .as_binary::<i32>()
            .value_data()
            .as_ptr();
        let offset = batch
            .column_by_name("offset")
            .unwrap()
            .as_primitive::<Int64Type>()
            .values()
            .as_ptr();
        let time = batch.column_by_name("timestamp").unwrap();
        assert_eq!(time.as_primitive::<TimestampMicrosecondType>().len(), 100);
        addresses.push((value as usize, offset as usize));
        // The second is kept, so the third must stand elsewhere.
        if addresses.len() == 2 {
            kept = Some(batch);
        }
    }
    assert_eq!(addresses[0], addresses[1]);
    assert_ne!(addresses[1], addresses[2]);
    assert_eq!(addresses[2], addresses[3]);
    assert_eq!(rows_of(&kept.unwrap())[0].offset, 100);
}

#[test]
fn a_column_named_twice_is_refused() {
    let error = ScanOptions::new(&[Column::Key, Column::Key]).err().unwrap();
    assert_eq!(error.to_string(), "columns: key is named twice; name each column once");
}

#[test]
fn records_that_a_later_leader_has_put_in_place_of_planned_ones_are_lost() {
    let bytes = small_file();
    let test_file = file(&bytes);
    let checkpoint = test_file.path.with_file_name("leader-epoch-checkpoint");
    let mut planned = split(&test_file.path, bytes.len() as u64);
    (planned.leader_epoch, planned.end_offset) = (LeaderEpoch(5), Offset(9));
    let planned = Arc::new(planned);
    let offsets = |epochs: &str, options: ScanOptions| {
        fs::write(&checkpoint, epochs).unwrap();
        let lost = LostRanges::default();
        let reader = SplitReader::new(Arc::clone(&planned), Arc::new(options), Arc::clone(&lost));
        let rows: Result<Vec<_>> = reader.map(|batch| batch.map(|batch| batch.num_rows())).collect();
        let ranges: Vec<_> = lost.lock().iter().map(|it| (it.from.get(), it.to.get())).collect();
        (rows.map(|rows| rows.iter().sum::<usize>()), ranges)
    };
    let columns = || ScanOptions::new(&[Column::Offset]).unwrap();
    let (rows, lost) = offsets("0\n2\n5 0\n6 9\n", columns());
    assert_eq!((rows.unwrap(), lost), (9, Vec::new()));

    let (failed, _) = offsets("0\n2\n5 0\n6 6\n", columns());
    assert!(matches!(failed, Err(ScanError::Lost { from, to, .. }) if (from, to) == (Offset(6), Offset(9))));
    let mut lenient = columns();
    lenient.fail_on_data_loss = false;
    let (rows, lost) = offsets("0\n2\n5 0\n6 6\n", lenient);
    assert_eq!((rows.unwrap(), lost), (9, vec![(6, 9)]));
}
