//! CRC-32C of a batch, and CRC-32 of one of magic 0 or 1, beside their physical limit, a copy of the same bytes. Sizes
//! in bytes, rates in bytes/s.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{crc32, crc32c};

fn crc(c: &mut Criterion) {
    let mut group = c.benchmark_group("record_crc");
    for size in [100usize, 172, 1024, 16 * 1024, 64 * 1024, 1024 * 1024] {
        let bytes: Vec<u8> = (0..size).map(|i| (i * 31) as u8).collect();
        let mut copy = vec![0u8; size];
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(BenchmarkId::new("crc32c", format!("{size}_bytes")), |b| {
            b.iter(|| crc32c(black_box(&bytes)));
        });
        group.bench_function(BenchmarkId::new("crc32", format!("{size}_bytes")), |b| {
            b.iter(|| crc32(black_box(&bytes)));
        });
        group.bench_function(BenchmarkId::new("limit_memcpy", format!("{size}_bytes")), |b| {
            b.iter(|| black_box(&mut copy).copy_from_slice(black_box(&bytes)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = crc
}
criterion_main!(benches);
