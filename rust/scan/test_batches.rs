//! For tests: files of generated batches, their rows as a naive walk finds them, and rows out of record batches.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{AbortedRange, Column, LostRanges, Predicate, Result, ScanOptions, Slice, Split, SplitReader};
use base::place::{LeaderEpoch, Offset, Position};
use record::{BATCH_HEADER, Batch, BatchBuilder, BatchHeader, Batches, Codec, TimestampType, crc32c};

pub(super) const NOW_MS: i64 = 1_700_000_000_000;
const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

type Bytes = Option<Vec<u8>>;

/// A row as Spark would give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) offset: i64,
    pub(super) timestamp_us: i64,
    pub(super) timestamp_type: i32,
    pub(super) key: Bytes,
    pub(super) value: Bytes,
    pub(super) headers: Option<Vec<(String, Bytes)>>,
}

/// A record to generate.
#[derive(Debug, Clone)]
pub(super) struct Made {
    /// Offsets missing before the record, as compaction leaves them.
    gap: i32,
    timestamp: i64,
    key: Bytes,
    value: Bytes,
    headers: Vec<(Vec<u8>, Bytes)>,
}

/// A batch to generate.
#[derive(Debug, Clone)]
pub(super) struct MadeBatch {
    codec: Codec,
    gap: i64,
    /// 0 to 5: plain, log append time, transactional of producer 1 or 2, control, empty.
    kind: u8,
    records: Vec<Made>,
}

pub(super) fn made_batches() -> impl Strategy<Value = Vec<MadeBatch>> {
    let bytes = || option::weighted(0.8, vec(any::<u8>(), 0..40));
    let headers = vec((vec(any::<u8>(), 0..6), bytes()), 0..3);
    let time = prop_oneof![8 => NOW_MS..NOW_MS + 20_000, 1 => Just(-1)];
    let record = (
        prop_oneof![4 => Just(0), 1 => 0..200i32],
        time,
        bytes(),
        bytes(),
        headers,
    )
        .prop_map(|(gap, timestamp, key, value, headers)| Made {
            gap,
            timestamp,
            key,
            value,
            headers,
        });
    let codec = (0..CODECS.len()).prop_map(|at| CODECS[at]);
    let gap = prop_oneof![3 => Just(0), 1 => 0..50i64];
    let batch = (codec, gap, 0..6u8, vec(record, 1..12)).prop_map(|(codec, gap, kind, records)| MadeBatch {
        codec,
        gap,
        kind,
        records,
    });
    vec(batch, 0..8)
}

/// A batch as compaction leaves it when it removes every record: a header alone.
pub(super) fn empty_batch(base_offset: i64, last_offset_delta: i32) -> Vec<u8> {
    let built = BatchBuilder::new(Codec::None).build(Offset(base_offset), LeaderEpoch(3));
    let mut header = BatchHeader {
        last_offset_delta,
        ..BatchHeader::parse(&built).unwrap()
    };
    let mut bytes = [0; BATCH_HEADER];
    header.write(&mut bytes);
    header.crc = crc32c(&bytes[21..]);
    header.write(&mut bytes);
    bytes.to_vec()
}

pub(super) fn build(batches: &[MadeBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut offset = 0;
    for batch in batches {
        offset += batch.gap;
        if batch.kind == 5 {
            bytes.extend(empty_batch(offset, 4));
            offset += 5;
            continue;
        }
        let mut builder = BatchBuilder::new(batch.codec).control(batch.kind == 4);
        if let 2..=4 = batch.kind {
            builder = builder.producer(i64::from(batch.kind) - 1, 0, 0).transactional(true);
        }
        if batch.kind == 1 {
            builder = builder.log_append_time(NOW_MS + 9_999);
        }
        let mut delta = 0;
        for record in &batch.records {
            delta += record.gap;
            let headers: Vec<_> = record
                .headers
                .iter()
                .map(|(key, value)| (&key[..], value.as_deref()))
                .collect();
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            builder.append_at(delta, record.timestamp, key, value, headers.into_iter());
            delta += 1;
        }
        bytes.extend(builder.build(Offset(offset), LeaderEpoch(7)));
        offset += i64::from(delta);
    }
    bytes
}

/// The rows of a split over one whole file, as a naive walk finds them.
pub(super) fn naive_rows(bytes: &[u8], split: &Split, predicate: &Predicate) -> Vec<Row> {
    let slice = &split.slices[0];
    let mut rows = Vec::new();
    for batch in Batches::new(bytes).map(Result::unwrap) {
        if batch.header().is_control() || is_aborted(&batch, split) {
            continue;
        }
        let timestamp_type = i32::from(batch.header().timestamp_type() == TimestampType::LogAppendTime);
        for record in batch.records(&mut Vec::new(), 1 << 30).unwrap().map(Result::unwrap) {
            let is_in_range = (split.start_offset..split.end_offset).contains(&record.offset)
                && (slice.base_offset..slice.next_base_offset).contains(&record.offset);
            if !is_in_range || !predicate.wants(record.timestamp, record.key) {
                continue;
            }
            let headers: Vec<_> = record
                .headers
                .map(|(key, value)| (String::from_utf8_lossy(key).into_owned(), value.map(<[u8]>::to_vec)))
                .collect();
            rows.push(Row {
                offset: record.offset.get(),
                timestamp_us: record.timestamp * 1000,
                timestamp_type,
                key: record.key.map(<[u8]>::to_vec),
                value: record.value.map(<[u8]>::to_vec),
                headers: (!headers.is_empty()).then_some(headers),
            });
        }
    }
    rows
}

fn is_aborted(batch: &Batch<'_>, split: &Split) -> bool {
    let header = batch.header();
    header.is_transactional()
        && split.aborted.iter().flatten().any(|range| {
            range.producer_id == header.producer_id
                && (range.first_offset..=range.last_offset).contains(&header.base_offset)
        })
}

/// A file on disk.
pub(super) struct TestFile {
    #[expect(dead_code, reason = "held for its directory")]
    dir: TempDir,
    pub(super) path: PathBuf,
}

pub(super) fn file(bytes: &[u8]) -> TestFile {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000000000000000000.log");
    std::fs::write(&path, bytes).unwrap();
    TestFile { dir, path }
}

/// A split over a whole file.
pub(super) fn split(path: &Path, end: u64) -> Split {
    Split {
        topic: "flights".into(),
        partition: 3,
        start_offset: Offset(0),
        end_offset: Offset::MAX,
        slices: vec![Slice {
            path: path.to_path_buf(),
            link: None,
            file: None,
            identity: None,
            base_offset: Offset(0),
            next_base_offset: Offset::MAX,
            start: Position::START,
            end: Position(end),
        }],
        leader_epoch: LeaderEpoch::NONE,
        remote: None,
        aborted: None,
    }
}

pub(super) fn aborted(producer_id: i64, first_offset: i64, last_offset: i64) -> AbortedRange {
    AbortedRange {
        producer_id,
        first_offset: Offset(first_offset),
        last_offset: Offset(last_offset),
    }
}

pub(super) fn options() -> ScanOptions {
    ScanOptions::new(&Column::ALL).unwrap()
}

/// All rows that a reader gives of a split, or its error.
pub(super) fn read(split: &Split, options: &ScanOptions) -> Result<Vec<Row>> {
    let reader = SplitReader::new(
        Arc::new(split.clone()),
        Arc::new(options.clone()),
        LostRanges::default(),
    );
    let mut rows = Vec::new();
    for batch in reader {
        rows.extend(rows_of(&batch?));
    }
    Ok(rows)
}

fn binary(array: &dyn Array, at: usize) -> Bytes {
    array.is_valid(at).then(|| array.as_binary::<i32>().value(at).to_vec())
}

/// The rows of a batch that has every column.
pub(super) fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let column = |column: Column| batch.column_by_name(column.name()).unwrap().as_ref();
    (0..batch.num_rows())
        .map(|at| {
            assert_eq!(column(Column::Topic).as_string::<i32>().value(at), "flights");
            assert_eq!(column(Column::Partition).as_primitive::<Int32Type>().value(at), 3);
            let headers = column(Column::Headers).as_list::<i32>();
            Row {
                offset: column(Column::Offset).as_primitive::<Int64Type>().value(at),
                timestamp_us: column(Column::Timestamp)
                    .as_primitive::<TimestampMicrosecondType>()
                    .value(at),
                timestamp_type: column(Column::TimestampType).as_primitive::<Int32Type>().value(at),
                key: binary(column(Column::Key), at),
                value: binary(column(Column::Value), at),
                headers: headers.is_valid(at).then(|| {
                    let entries = headers.value(at);
                    let entries = entries.as_struct();
                    (0..entries.len())
                        .map(|at| {
                            let key = entries.column(0).as_string::<i32>().value(at).to_owned();
                            (key, binary(entries.column(1), at))
                        })
                        .collect()
                }),
            }
        })
        .collect()
}
