//! The greatest memory of a scan with the default options: a fresh process for each size and number of threads, after
//! it read every batch and kept none. It should not grow with the data. Without `--bench` the sizes are small, to see
//! that it still runs.
#![expect(
    clippy::expect_used,
    reason = "a bench of its own good input stops at the first surprise"
)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base::place::{LeaderEpoch, Offset, Position};
use record::{BatchBuilder, Codec};
use scan::{Column, LostRanges, ScanOptions, ScanReader, Slice, Split};

const NOW_MS: i64 = 1_700_000_000_000;
const RECORDS_PER_BATCH: i64 = 128;
const VALUE_BYTES: usize = 1000;
const SPLIT_BYTES: u64 = 16 << 20;
/// Tells a child what to scan: its file and its threads.
const CHILD: &str = "--scan";

/// Writes at least `bytes` of batches; gives where splits may be cut, as (position, offset).
fn write_log(path: &Path, bytes: u64) -> Vec<(u64, i64)> {
    let mut builder = BatchBuilder::new(Codec::None);
    for n in 0..RECORDS_PER_BATCH {
        builder.append(NOW_MS + n, Some(b"key-0042"), Some(&[b'v'; VALUE_BYTES]), &[]);
    }
    let batch = builder.build(Offset(0), LeaderEpoch(0));
    let mut file = File::create(path).expect("a file");
    let (mut position, mut offset, mut cuts) = (0, 0_i64, vec![(0, 0)]);
    while position < bytes {
        // The base offset is outside of the CRC.
        file.write_all(&offset.to_be_bytes()).expect("space");
        file.write_all(&batch[8..]).expect("space");
        position += batch.len() as u64;
        offset += RECORDS_PER_BATCH;
        if position - cuts[cuts.len() - 1].0 >= SPLIT_BYTES || position >= bytes {
            cuts.push((position, offset));
        }
    }
    cuts
}

fn splits(path: &Path, cuts: &[(u64, i64)]) -> Arc<[Arc<Split>]> {
    let slice = |start, end| Slice {
        path: path.to_path_buf(),
        link: None,
        file: None,
        identity: None,
        base_offset: Offset(0),
        next_base_offset: Offset::MAX,
        start: Position(start),
        end: Position(end),
    };
    let split = |from: (u64, i64), to: (u64, i64)| Split {
        topic: "events".into(),
        partition: 0,
        start_offset: Offset(from.1),
        end_offset: Offset(to.1),
        slices: vec![slice(from.0, to.0)],
        leader_epoch: LeaderEpoch::NONE,
        remote: None,
        aborted: None,
    };
    cuts.windows(2).map(|cut| Arc::new(split(cut[0], cut[1]))).collect()
}

/// `VmHWM` of this process, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace()
        .nth(1)
        .and_then(|it| it.parse().ok())
        .expect("a number")
}

/// A child's life: arguments are the file, its threads, and the cuts. Prints rows, the peak before and the peak after.
fn scan(arguments: &[String]) {
    let numbers: Vec<i64> = arguments[1..].iter().map(|it| it.parse().expect("a number")).collect();
    let cuts: Vec<(u64, i64)> = numbers[1..].chunks(2).map(|cut| (cut[0] as u64, cut[1])).collect();
    let mut options = ScanOptions::new(&Column::ALL).expect("columns");
    options.threads = numbers[0] as usize;
    let before = peak_kib();
    let splits = splits(Path::new(&arguments[0]), &cuts);
    let mut reader = ScanReader::new(splits, Arc::new(options), LostRanges::default()).expect("threads");
    let mut rows = 0;
    while let Some(batch) = reader.next_batch() {
        rows += batch.expect("good").num_rows();
    }
    println!(
        "{rows} rows, peak {} KiB, {before} KiB of them before the scan",
        peak_kib()
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|it| it == CHILD) {
        return scan(&arguments[at + 1..]);
    }
    let is_smoke = !arguments.iter().any(|it| it == "--bench");
    let dir = tempfile::tempdir().expect("a directory");
    let path: PathBuf = dir.path().join("0.log");
    for megabytes in if is_smoke { [1, 4] } else { [1000, 20_000] } {
        let cuts = write_log(&path, megabytes * 1_000_000);
        for threads in [1, 2] {
            let mut child = Command::new(std::env::current_exe().expect("a program"));
            child.arg(CHILD).arg(&path).arg(threads.to_string());
            child.args(
                cuts.iter()
                    .flat_map(|(position, offset)| [position.to_string(), offset.to_string()]),
            );
            let output = child.output().expect("a child");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            print!(
                "{megabytes} MB, {threads} threads: {}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
    }
}
