//! The memory of a scan is bounded by its batches, not by its data.
//!
//! The peak of a process cannot be shared, so nothing else is tested here.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use base::place::{LeaderEpoch, Offset, Position};
use record::{BatchBuilder, Codec};
use scan::{Column, LostRanges, ScanOptions, ScanReader, Slice, Split};

const BATCH_BYTES: usize = 128 * 1024;
const THREADS: usize = 2;
const SPLITS: i64 = 8;
/// Far above what the test needs: windows, batches in queues and in pools, stacks of threads.
const BOUND_KIB: u64 = 12 * 1024;

/// Batches of 64 records with values of 1 KB, one for each of `batches`; gives the bytes of one.
fn write_log(path: &Path, batches: i64) -> u64 {
    let mut builder = BatchBuilder::new(Codec::None);
    for n in 0..64 {
        builder.append(n, None, Some(&[b'v'; 1000]), &[]);
    }
    let batch = builder.build(Offset(0), LeaderEpoch(0));
    let mut file = File::create(path).unwrap();
    for n in 0..batches {
        // The base offset is outside of the CRC.
        file.write_all(&(n * 64).to_be_bytes()).unwrap();
        file.write_all(&batch[8..]).unwrap();
    }
    batch.len() as u64
}

/// Rows of a scan of `batches`, none of its record batches kept.
fn scan(path: &Path, batches: i64, threads: usize) -> usize {
    let bytes = write_log(path, batches);
    let per_split = batches / SPLITS;
    let split = |n: i64| Split {
        topic: "topic".into(),
        partition: 0,
        start_offset: Offset(n * per_split * 64),
        end_offset: Offset((n + 1) * per_split * 64),
        slices: vec![Slice {
            path: path.to_path_buf(),
            link: None,
            file: None,
            identity: None,
            base_offset: Offset(0),
            next_base_offset: Offset::MAX,
            start: Position((n * per_split) as u64 * bytes),
            end: Position(((n + 1) * per_split) as u64 * bytes),
        }],
        leader_epoch: LeaderEpoch::NONE,
        remote: None,
        aborted: None,
    };
    let splits = (0..SPLITS).map(|n| Arc::new(split(n))).collect();
    let mut options = ScanOptions::new(&Column::ALL).unwrap();
    (options.batch_bytes, options.threads) = (BATCH_BYTES, threads);
    let mut reader = ScanReader::new(splits, Arc::new(options), LostRanges::default()).unwrap();
    std::iter::from_fn(|| reader.next_batch())
        .map(|batch| batch.unwrap().num_rows())
        .sum()
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn peak_memory_is_bounded_by_batches_and_not_by_data() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    for threads in [1, THREADS] {
        let before = peak_kib();
        assert_eq!(scan(&path, 128, threads), 128 * 64);
        let small = peak_kib();
        // 8 MB, then 64 MB.
        assert_eq!(scan(&path, 1024, threads), 1024 * 64);
        let large = peak_kib();
        assert!(small - before < BOUND_KIB, "{threads} threads: {} KiB", small - before);
        assert!(
            large - small < BOUND_KIB,
            "{threads} threads: {} KiB more for 8 times the data",
            large - small
        );
    }
}
