//! What an append does to a batch before the write: validate and assign, beside their limits (the checksum alone, a
//! copy). Shapes are records × value bytes; rates in batch bytes/s, or records/s where it says so.
#![expect(
    clippy::expect_used,
    reason = "a bench of its own good input stops at the first surprise"
)]

use std::hint::black_box;

use base::place::{LeaderEpoch, Offset};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use record::{
    Batch, BatchBuilder, BatchHeader, Codec, Origin, Rules, TimestampType, assign, crc32c, set_offset_and_epoch,
    validate,
};

const NOW_MS: i64 = 1_700_000_000_000;
const SHAPES: [(i32, usize); 4] = [(1, 100), (100, 100), (1000, 100), (1, 1024 * 1024)];

fn batch(records: i32, value_bytes: usize) -> Vec<u8> {
    let value = vec![7u8; value_bytes];
    let mut builder = BatchBuilder::new(Codec::None);
    for i in 0..records {
        builder.append(NOW_MS + i64::from(i), None, Some(&value), &[]);
    }
    builder.build(Offset(0), LeaderEpoch::NONE)
}

fn produce(c: &mut Criterion) {
    let rules = Rules {
        max_message_bytes: u32::MAX,
        ..Rules::default()
    };
    let mut group = c.benchmark_group("record_validate");
    for (records, value_bytes) in SHAPES {
        let shape = format!("{records}_records_of_{value_bytes}_bytes");
        let mut bytes = batch(records, value_bytes);
        let mut copy = bytes.clone();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("validate_and_assign", &shape), |b| {
            b.iter(|| {
                // A client's base offset is 0, so the one that the last turn gave is taken back.
                set_offset_and_epoch(&mut bytes, Offset(0), LeaderEpoch::NONE);
                let validated = validate(black_box(&bytes), &rules, Origin::Client, NOW_MS).expect("valid");
                assign(
                    &mut bytes,
                    Offset(42),
                    LeaderEpoch(7),
                    TimestampType::CreateTime,
                    validated.max_timestamp(),
                );
            });
        });
        group.bench_function(BenchmarkId::new("limit_crc32c", &shape), |b| {
            b.iter(|| crc32c(black_box(&bytes[21..])));
        });
        group.bench_function(BenchmarkId::new("limit_memcpy", &shape), |b| {
            b.iter(|| black_box(&mut copy).copy_from_slice(black_box(&bytes)));
        });
    }
    group.finish();
}

fn read(c: &mut Criterion) {
    let bytes = batch(1000, 100);
    let (view, _) = Batch::split_first(&bytes).expect("good").expect("whole");
    let mut scratch = Vec::new();
    let mut group = c.benchmark_group("record_read");
    group.throughput(Throughput::Elements(1));
    group.bench_function("header_parse", |b| b.iter(|| BatchHeader::parse(black_box(&bytes))));
    group.bench_function("set_offset_and_epoch", |b| {
        let mut bytes = bytes.clone();
        b.iter(|| set_offset_and_epoch(black_box(&mut bytes), Offset(42), LeaderEpoch(7)));
    });
    group.throughput(Throughput::Elements(1000));
    group.bench_function("iterate_1000_records", |b| {
        b.iter(|| {
            let records = view.records(&mut scratch, usize::MAX).expect("good");
            records.fold(0i64, |sum, record| {
                let record = record.expect("good");
                sum + record.offset.get() + record.timestamp + record.value.map_or(0, |value| value.len() as i64)
            })
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = produce, read
}
criterion_main!(benches);
