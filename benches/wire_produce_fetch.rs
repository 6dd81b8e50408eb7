//! What the wire costs per request: decode and answer one partition of Produce and of Fetch.

#![expect(clippy::unwrap_used, reason = "a bench that cannot set up has to stop")]

use std::hint::black_box;

use base::error::ErrorCode;
use criterion::{Criterion, criterion_group, criterion_main};
use protocol::{
    FetchPartitionHead, FetchRequest, FetchResponseWriter, ProduceRequest, ProduceResult, RequestHeader, Writer,
    ZERO_TOPIC_ID, encode_produce_response, write_response_header,
};

const TOPIC: &str = "bench-topic";

fn header(key: i16, version: i16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.i16(key);
    w.i16(version);
    w.i32(7);
    w.string("rdkafka");
    w.raw(&[0]);
    out
}

/// The one topic of a request, up to its partitions.
fn begin_topic(w: &mut Writer, version: i16, partitions: i32) {
    w.length(Some(1));
    if version >= 13 {
        w.raw(&[7; 16]);
    } else {
        w.string(TOPIC);
    }
    w.length(Some(partitions as usize));
}

fn produce_frame(version: i16, partitions: i32) -> Vec<u8> {
    let mut frame = header(0, version);
    let mut w = Writer::new(&mut frame, true);
    w.nullable_string(None);
    w.i16(-1);
    w.i32(30_000);
    begin_topic(&mut w, version, partitions);
    for index in 0..partitions {
        w.i32(index);
        w.length(Some(168));
        w.raw(&[0x55; 168]);
        w.no_tags();
    }
    w.no_tags();
    w.no_tags();
    frame
}

fn fetch_frame(version: i16, partitions: i32) -> Vec<u8> {
    let mut frame = header(1, version);
    let mut w = Writer::new(&mut frame, true);
    if version < 15 {
        w.i32(-1);
    }
    for value in [500, 1, 50_000_000] {
        w.i32(value);
    }
    w.raw(&[0]);
    w.i32(0);
    w.i32(-1);
    begin_topic(&mut w, version, partitions);
    for index in 0..partitions {
        w.i32(index);
        w.i32(-1);
        w.i64(1000);
        w.i32(-1);
        w.i64(-1);
        w.i32(1 << 20);
        w.no_tags();
    }
    w.no_tags();
    w.length(Some(0));
    w.string("");
    w.no_tags();
    frame
}

fn produce(criterion: &mut Criterion) {
    for (version, partitions) in [(9, 1), (13, 1), (9, 100)] {
        let frame = produce_frame(version, partitions);
        let mut request = ProduceRequest::default();
        let mut out = Vec::with_capacity(16 << 10);
        let result = ProduceResult {
            base_offset: 5,
            log_start_offset: 0,
            ..ProduceResult::refused(ErrorCode::NONE, None)
        };
        let results = vec![result; partitions as usize];
        criterion.bench_function(&format!("produce_v{version}/{partitions}_partitions"), |bencher| {
            bencher.iter(|| {
                let head = RequestHeader::parse(black_box(&frame), |_, _| true).unwrap();
                let body = &frame[head.body_at..];
                request.decode(head.api_version, body).unwrap();
                out.clear();
                write_response_header(&mut out, head.correlation_id, true);
                encode_produce_response(&mut out, head.api_version, body, &request, black_box(&results), &[], 0);
                black_box(&out);
            });
        });
    }
}

fn fetch(criterion: &mut Criterion) {
    for (version, partitions) in [(12, 1), (13, 1), (17, 1), (13, 100)] {
        let frame = fetch_frame(version, partitions);
        let mut request = FetchRequest::default();
        let mut out = Vec::with_capacity(16 << 10);
        criterion.bench_function(&format!("fetch_v{version}/{partitions}_partitions"), |bencher| {
            bencher.iter(|| {
                let head = RequestHeader::parse(black_box(&frame), |_, _| true).unwrap();
                let body = &frame[head.body_at..];
                request.decode(head.api_version, body).unwrap();
                out.clear();
                write_response_header(&mut out, head.correlation_id, true);
                let mut w = FetchResponseWriter::begin(&mut out, head.api_version, 0, ErrorCode::NONE, 0, 1);
                w.topic(TOPIC, ZERO_TOPIC_ID, request.partitions.len());
                for partition in &request.partitions {
                    let part = FetchPartitionHead {
                        high_watermark: 2000,
                        ..FetchPartitionHead::refused(partition.index, ErrorCode::NONE)
                    };
                    w.partition(&part, Some(black_box(16_384)));
                    w.partition_end(&part);
                }
                w.topic_end();
                w.end(&[]);
                black_box(&out);
            });
        });
    }
}

criterion_group!(benches, produce, fetch);
criterion_main!(benches);
