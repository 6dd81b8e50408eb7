//! Planning, and counts from batch headers, beside `pread` of the headers alone.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use ::io::{FileSystem, OsFileSystem};
use base::place::{LeaderEpoch, Offset};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{BATCH_HEADER, BatchBuilder, BatchHeader, Codec, Origin};
use scan::{ScanRequest, TimeLimits, plan_scan};
use storage::{Log, LogConfig, LogContext, TopicPartition};

const START_MS: i64 = 1_700_000_000_000;
const LOG_BYTES: usize = 512 * 1024 * 1024;
const VALUE_BYTES: usize = 1000;

/// A partition of `LOG_BYTES` in segments of a quarter, in batches of about `batch_bytes`.
fn sample(log_dir: &Path, batch_bytes: usize) -> u64 {
    let per_batch = (batch_bytes / VALUE_BYTES).max(1);
    let pairs = [("segment.bytes", "134217728")];
    let config = Arc::new(LogConfig::from_pairs(pairs).unwrap());
    let partition = TopicPartition::new("bench", 0);
    let mut log = Log::create(&LogContext::system(), &log_dir.join("bench-0"), partition, None, config).unwrap();
    for n in 0..LOG_BYTES / (per_batch * VALUE_BYTES) {
        let mut builder = BatchBuilder::new(Codec::None);
        for _ in 0..per_batch {
            builder.append(START_MS + n as i64, None, Some(&[b'v'; VALUE_BYTES]), &[]);
        }
        let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
        log.append_as_leader(&mut bytes, LeaderEpoch(0), Origin::Client, START_MS)
            .unwrap();
    }
    let bytes = log.size_bytes();
    log.close().unwrap();
    bytes
}

/// One `pread` for each header, nothing else.
fn pread_headers(dir: &Path) -> u64 {
    let mut batches = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "log") {
            continue;
        }
        let file = std::fs::File::open(path).unwrap();
        let (mut position, len) = (0, file.metadata().unwrap().len());
        let mut head = [0; BATCH_HEADER];
        while position < len {
            file.read_exact_at(&mut head, position).unwrap();
            position += BatchHeader::parse(&head).unwrap().size_bytes() as u64;
            batches += 1;
        }
    }
    batches
}

fn headers(criterion: &mut Criterion) {
    let fs: Arc<dyn FileSystem> = Arc::new(OsFileSystem);
    let mut group = criterion.benchmark_group("scan_headers");
    for batch_kib in [1, 16, 128] {
        let dir = tempfile::tempdir().unwrap();
        let bytes = sample(dir.path(), batch_kib * 1024);
        let request = ScanRequest {
            log_dirs: vec![dir.path().to_path_buf()],
            topic: "bench".to_owned(),
            keep_open: true,
            ..Default::default()
        };
        let of = format!("{batch_kib}KiB_batches");
        group.sample_size(10).throughput(Throughput::Bytes(bytes));
        group.bench_function(BenchmarkId::new("pread_alone", &of), |b| {
            b.iter(|| black_box(pread_headers(&dir.path().join("bench-0"))));
        });
        let plans = plan_scan(&fs, &request).unwrap();
        group.bench_function(BenchmarkId::new("summary", &of), |b| {
            b.iter(|| black_box(plans[0].summary(TimeLimits::default()).unwrap()));
        });
        group.bench_function(BenchmarkId::new("splits_64MiB", &of), |b| {
            b.iter(|| black_box(plans[0].splits(64 * 1024 * 1024).unwrap()));
        });
        group.bench_function(BenchmarkId::new("plan", &of), |b| {
            b.iter(|| black_box(plan_scan(&fs, &request).unwrap()));
        });
    }
    group.finish();
}

criterion_group!(benches, headers);
criterion_main!(benches);
