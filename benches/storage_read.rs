//! Reading from an offset, beside `pread` alone.
//!
//! Rows: `plan+resolve` at random offsets and at the log's end (no bytes of records touched), the same followed by the
//! `pread` of what was found, and that `pread` alone.

#![expect(clippy::unwrap_used, reason = "a bench may panic")]

use std::hint::black_box;
use std::sync::Arc;

use base::place::{LeaderEpoch, Offset};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{BatchBuilder, Codec, Origin};
use storage::{Log, LogConfig, LogContext, TopicPartition};

const BATCHES: i64 = 16_384;
const FETCH: usize = 16 * 1024;

fn sample(dir: &std::path::Path) -> Log {
    let context = LogContext::system();
    let partition = TopicPartition::new("bench", 0);
    let config = LogConfig {
        segment_bytes: 32 * 1024 * 1024,
        ..LogConfig::default()
    };
    let mut log = Log::create(&context, &dir.join("bench-0"), partition, None, Arc::new(config)).unwrap();
    for _ in 0..BATCHES {
        let mut builder = BatchBuilder::new(Codec::None);
        for _ in 0..4 {
            builder.append(1_700_000_000_000, None, Some(&[b'v'; 1000]), &[]);
        }
        log.append_as_leader(
            &mut builder.build(Offset(0), LeaderEpoch::NONE),
            LeaderEpoch(0),
            Origin::Client,
            1_700_000_000_000,
        )
        .unwrap();
    }
    log
}

fn bench(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let log = sample(dir.path());
    let end = log.log_end_offset();
    let mut buffer = vec![0; FETCH];
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Offset(((seed >> 33) as i64) % (end.get() - 16))
    };
    let mut group = criterion.benchmark_group("storage_read");
    group.bench_function("plan/random", |b| {
        b.iter(|| black_box(log.plan_read(random(), end).unwrap()));
    });
    group.bench_function("plan+resolve/random", |b| {
        b.iter(|| black_box(log.plan_read(random(), end).unwrap().resolve(FETCH, true).unwrap().len));
    });
    group.bench_function("plan+resolve/bounded", |b| {
        b.iter(|| {
            black_box(
                log.plan_read(random(), end - 8)
                    .unwrap()
                    .resolve(FETCH, true)
                    .unwrap()
                    .len,
            )
        });
    });
    group.bench_function("plan+resolve/tail", |b| {
        b.iter(|| black_box(log.plan_read(end - 4, end).unwrap().resolve(FETCH, true).unwrap().len));
    });
    group.throughput(Throughput::Bytes(FETCH as u64));
    group.bench_function(BenchmarkId::new("read", FETCH), |b| {
        b.iter(|| {
            let slice = log.plan_read(random(), end).unwrap().resolve(FETCH, true).unwrap();
            slice
                .file
                .read_exact_at(&mut buffer[..slice.len], slice.position.get())
                .unwrap();
        });
    });
    let slice = log.plan_read(Offset(0), end).unwrap().resolve(FETCH, true).unwrap();
    group.bench_function(BenchmarkId::new("pread", FETCH), |b| {
        b.iter(|| {
            slice
                .file
                .read_exact_at(&mut buffer, (random().get() as u64 * 1000) % (16 << 20))
                .unwrap();
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
