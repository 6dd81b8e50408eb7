//! `kafkastore check` beside its limits, CRC-32C alone over the same bytes and reading alone, in one run.
//!
//! A log of 2 GB (`CHECK_BENCH_MB` says otherwise) of 16 KB batches in 256 MB segments. Rows: `pread` into a reused
//! 1 MiB buffer; the same and the CRC of it; the check with one thread and with two. Rates in bytes/s. Smoke mode takes
//! 16 MB.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::io::{FileSystem, OpenMode, OsFileSystem};
use base::place::{LeaderEpoch, Offset};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{BatchBuilder, Codec, Origin, crc32c};
use scan::check::{Check, Options};
use storage::format::LOG_SUFFIX;
use storage::{Log, LogConfig, LogContext, TopicPartition};

const BUFFER: usize = 1024 * 1024;
const SEGMENT_BYTES: u32 = 256 * 1024 * 1024;
const NOW_MS: i64 = 1_700_000_000_000;

fn size_mb() -> u64 {
    let is_smoke = std::env::args().any(|argument| argument == "--test");
    let asked = std::env::var("CHECK_BENCH_MB").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(if is_smoke { 16 } else { 2048 })
}

fn fill(dir: &Path, bytes: u64) {
    let config = LogConfig {
        segment_bytes: SEGMENT_BYTES,
        ..LogConfig::default()
    };
    let partition = TopicPartition::new("bench", 0);
    let mut log = Log::create(&LogContext::system(), dir, partition, None, Arc::new(config)).unwrap();
    let mut now_ms = NOW_MS;
    while log.segments().size_bytes() < bytes {
        let mut builder = BatchBuilder::new(Codec::None);
        for _ in 0..16 {
            builder.append(now_ms, None, Some(&[b'v'; 1000]), &[]);
        }
        log.append_as_leader(
            &mut builder.build(Offset(0), LeaderEpoch::NONE),
            LeaderEpoch(0),
            Origin::Client,
            NOW_MS,
        )
        .unwrap();
        now_ms += 1;
    }
    log.close().unwrap();
}

fn segments(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = OsFileSystem.read_dir(dir).unwrap();
    let logs = entries.into_iter().filter(|entry| entry.name.ends_with(LOG_SUFFIX));
    logs.map(|entry| entry.path).collect()
}

/// Reads every segment in large pieces.
fn read_all(dir: &Path, buffer: &mut [u8], mut each: impl FnMut(&[u8])) {
    for path in segments(dir) {
        let file = OsFileSystem.open(&path, OpenMode::Read).unwrap();
        let mut position = 0;
        loop {
            let len = file.read_at(buffer, position).unwrap();
            if len == 0 {
                break;
            }
            each(&buffer[..len]);
            position += len as u64;
        }
    }
}

fn run(dir: &Path, threads: usize, is_deep: bool) -> u64 {
    let options = Options {
        paths: vec![dir.to_path_buf()],
        topic: None,
        threads,
        is_deep,
    };
    let report = Check::new(Arc::new(OsFileSystem), options).run().unwrap();
    assert_eq!(report.faults, 0);
    report.totals.batches
}

fn bench(criterion: &mut Criterion) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("bench-0");
    fill(&dir, size_mb() * 1_000_000);
    let bytes: u64 = segments(&dir)
        .iter()
        .map(|path| OsFileSystem.metadata_len(path).unwrap())
        .sum();
    let mut buffer = vec![0; BUFFER];
    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Bytes(bytes));
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(5));
    group.bench_function("limit_pread", |b| {
        b.iter(|| {
            read_all(&dir, &mut buffer, |piece| {
                black_box(piece);
            });
        });
    });
    group.bench_function("limit_pread_crc32c", |b| {
        b.iter(|| {
            read_all(&dir, &mut buffer, |piece| {
                black_box(crc32c(piece));
            });
        });
    });
    for threads in [1, 2] {
        group.bench_function(BenchmarkId::new("check", format!("{threads}_threads")), |b| {
            b.iter(|| run(&dir, threads, false));
        });
    }
    group.bench_function("deep/1_threads", |b| b.iter(|| run(&dir, 1, true)));
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
