//! Each codec both ways on JSON-like records beside its limit, a copy of the inflated bytes. Rates in inflated bytes/s.
#![expect(
    clippy::expect_used,
    reason = "a bench of its own good input stops at the first surprise"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{Codec, compress, decompress};

/// Text with some redundancy, as events have: a compression ratio of about three.
fn events(size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size + 128);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    while out.len() < size {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (a, b) = (state >> 40, state >> 20 & 0xfff);
        out.extend_from_slice(
            format!("{{\"id\":{a},\"carrier\":\"UA\",\"delay\":{b},\"origin\":\"EWR\"}}\n").as_bytes(),
        );
    }
    out.truncate(size);
    out
}

fn codecs(c: &mut Criterion) {
    for size in [1024usize, 16 * 1024, 1024 * 1024] {
        let plain = events(size);
        let mut group = c.benchmark_group("record_codecs");
        group.throughput(Throughput::Bytes(size as u64)).sample_size(30);
        let mut copy = vec![0u8; size];
        group.bench_function(BenchmarkId::new("limit_memcpy", format!("{size}_bytes")), |b| {
            b.iter(|| black_box(&mut copy).copy_from_slice(black_box(&plain)));
        });
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            let mut packed = Vec::new();
            compress(codec, None, &plain, &mut packed).expect("compresses");
            println!("{codec}: {size} bytes -> {} bytes", packed.len());
            let mut out = Vec::with_capacity(size * 2);
            group.bench_function(
                BenchmarkId::new(format!("{codec}_compress"), format!("{size}_bytes")),
                |b| {
                    b.iter(|| {
                        out.clear();
                        compress(codec, None, black_box(&plain), &mut out).expect("compresses");
                    });
                },
            );
            group.bench_function(
                BenchmarkId::new(format!("{codec}_decompress"), format!("{size}_bytes")),
                |b| {
                    b.iter(|| {
                        out.clear();
                        decompress(codec, black_box(&packed), size, &mut out).expect("inflates");
                    });
                },
            );
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = codecs
}
criterion_main!(benches);
