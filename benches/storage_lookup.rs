//! Index and timestamp lookups, in few segments and in many, and recovery beside the checksum alone.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use ::io::OsFileSystem;
use base::place::{LeaderEpoch, Offset, Position};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use index::OffsetIndex;
use index::entry_file::EntryFile;
use record::{BatchBuilder, Codec, Origin, crc32c};
use storage::{Extent, LoadArgs, Log, LogConfig, LogContext, RecoveryProgress, TopicPartition};

const START_MS: i64 = 1_700_000_000_000;

fn append(log: &mut Log, builder: BatchBuilder) {
    let mut batch = builder.build(Offset(0), LeaderEpoch::NONE);
    log.append_as_leader(&mut batch, LeaderEpoch(0), Origin::Client, START_MS)
        .unwrap();
}

fn sample(context: &LogContext, dir: &std::path::Path, batches: i64) -> Log {
    let partition = TopicPartition::new("bench", 0);
    let mut log = Log::create(context, dir, partition, None, Arc::new(LogConfig::default())).unwrap();
    for n in 0..batches {
        let mut builder = BatchBuilder::new(Codec::None);
        for k in 0..16 {
            builder.append(START_MS + n * 16 + k, None, Some(&[b'v'; 1000]), &[]);
        }
        append(&mut log, builder);
    }
    log
}

fn lookups(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("storage_lookup");
    for entries in [1_000i64, 250_000] {
        let mut index = OffsetIndex::new(EntryFile::new(PathBuf::new()), Offset(0));
        (1..=entries).for_each(|n| index.append(Offset(n * 10), Position(n as u64)));
        let mut target = 0;
        group.bench_function(BenchmarkId::new("offset_index", entries), |b| {
            b.iter(|| {
                target = (target + 7_919) % (entries * 10);
                black_box(index.lookup(&OsFileSystem, Offset(target)).unwrap())
            });
        });
    }
    let dir = tempfile::tempdir().unwrap();
    let log = sample(&LogContext::system(), &dir.path().join("bench-0"), 4_000);
    let mut target = 0;
    group.bench_function("timestamp", |b| {
        b.iter(|| {
            target = (target + 7_919) % 64_000;
            black_box(log.lookup_timestamp(START_MS + target).unwrap().resolve().unwrap())
        });
    });
    group.finish();
}

/// As many segments as there are batches, each a millisecond later than the one before.
fn many_segments(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("storage_lookup_segments");
    for segments in [100i64, 10_000] {
        let dir = tempfile::tempdir().unwrap();
        let partition = TopicPartition::new("bench", 0);
        let config = LogConfig::from_pairs([("segment.bytes", "100")]).unwrap();
        let context = LogContext::of_process();
        let mut log = Log::create(&context, &dir.path().join("bench-0"), partition, None, Arc::new(config)).unwrap();
        for n in 0..segments {
            let mut builder = BatchBuilder::new(Codec::None);
            builder.append(START_MS + n, None, Some(b"v"), &[]);
            append(&mut log, builder);
        }
        assert_eq!(log.segment_count() as i64, segments);
        let mut target = 0;
        // Under the lock of the log; then without it, from one file out of many.
        group.bench_function(BenchmarkId::new("plan", segments), |b| {
            b.iter(|| {
                target = (target + 7_919) % segments;
                black_box(log.lookup_timestamp(START_MS + target).unwrap())
            });
        });
        group.bench_function(BenchmarkId::new("greatest", segments), |b| {
            b.iter(|| black_box(log.max_timestamp().unwrap()));
        });
        group.bench_function(BenchmarkId::new("plan and resolve", segments), |b| {
            b.iter(|| {
                target = (target + 7_919) % segments;
                black_box(log.lookup_timestamp(START_MS + target).unwrap().resolve().unwrap())
            });
        });
    }
    group.finish();
}

fn recovery(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let (context, path) = (LogContext::system(), dir.path().join("bench-0"));
    let log = sample(&context, &path, 4_000);
    let bytes = log.size_bytes();
    drop(log);
    let open = |clean_shutdown| {
        let progress = RecoveryProgress::default();
        let args = LoadArgs {
            recovery_point: Offset(0),
            log_start_offset: Offset(0),
            first_dirty_offset: None,
            clean_shutdown,
            extent: Extent::default(),
            progress: &progress,
        };
        Log::open(
            &context,
            &path,
            TopicPartition::new("bench", 0),
            Arc::new(LogConfig::default()),
            args,
        )
        .unwrap()
    };
    let mut group = criterion.benchmark_group("storage_recovery");
    group.sample_size(10).throughput(Throughput::Bytes(bytes));
    group.bench_function("unclean", |b| b.iter(|| open(false).log_end_offset()));
    let whole = std::fs::read(path.join("00000000000000000000.log")).unwrap();
    group.bench_function("crc alone", |b| b.iter(|| crc32c(black_box(&whole))));
    open(false).close().unwrap();
    group.throughput(Throughput::Elements(1));
    group.bench_function("clean", |b| b.iter(|| open(true).log_end_offset()));
    group.finish();
}

criterion_group!(benches, lookups, many_segments, recovery);
criterion_main!(benches);
