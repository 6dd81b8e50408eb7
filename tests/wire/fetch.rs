//! Fetch, every version, against the fixture.

use base::error::ErrorCode;
use protocol::{
    AbortedTransaction, FetchPartition, FetchPartitionHead, FetchRequest, FetchResponseWriter, TopicKey, ZERO_TOPIC_ID,
};

use crate::fixtures::{DIRECTORY, ENDPOINTS, EVENTS, LOG, bodies, decodes};

fn find(body: &[u8], text: &[u8]) -> std::ops::Range<usize> {
    let at = body.windows(text.len()).position(|window| window == text).unwrap();
    at..at + text.len()
}

fn rfind(body: &[u8], text: &[u8]) -> std::ops::Range<usize> {
    let at = body.windows(text.len()).rposition(|window| window == text).unwrap();
    at..at + text.len()
}

fn bare_request(version: i16, body: &[u8]) -> FetchRequest {
    // An empty rack stands at the end of its length, before the tags if there are any.
    let rack_at = match version {
        ..11 => 0,
        11 => body.len(),
        _ => body.len() - 1,
    };
    FetchRequest {
        replica_id: -1,
        replica_epoch: -1,
        max_bytes: i32::MAX,
        session_epoch: -1,
        rack_id: rack_at..rack_at,
        ..FetchRequest::default()
    }
}

fn full_request(version: i16, body: &[u8]) -> FetchRequest {
    let since = |first: i16, value: i64, default: i64| if version >= first { value } else { default };
    let (events, log, forgotten) = if version >= 13 {
        (TopicKey::Id(EVENTS), TopicKey::Id(LOG), TopicKey::Id(EVENTS))
    } else {
        let names = [
            find(body, b"events"),
            find(body, "é-log".as_bytes()),
            rfind(body, b"events"),
        ];
        let [events, log, forgotten] = names.map(TopicKey::Name);
        (events, log, forgotten)
    };
    let plain = |topic: &TopicKey, first_of_topic, index, fetch_offset, max_bytes| FetchPartition {
        topic: topic.clone(),
        first_of_topic,
        index,
        current_leader_epoch: -1,
        fetch_offset,
        last_fetched_epoch: -1,
        log_start_offset: -1,
        max_bytes,
        replica_directory_id: ZERO_TOPIC_ID,
        high_watermark: i64::MAX,
    };
    let rich = FetchPartition {
        current_leader_epoch: since(9, 5, -1) as i32,
        last_fetched_epoch: since(12, 4, -1) as i32,
        log_start_offset: since(5, 10, -1),
        replica_directory_id: if version >= 17 { DIRECTORY } else { ZERO_TOPIC_ID },
        high_watermark: since(18, 99, i64::MAX),
        ..plain(&events, true, 0, 100, 1 << 20)
    };
    FetchRequest {
        replica_id: 3,
        replica_epoch: since(15, 77, -1),
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 50_000_000,
        isolation_level: 1,
        session_id: since(7, 9, 0) as i32,
        session_epoch: since(7, 4, -1) as i32,
        partitions: vec![rich, plain(&events, false, 3, 7, 1), plain(&log, true, 1, 0, 2)],
        forgotten: if version >= 7 {
            vec![(forgotten.clone(), 1), (forgotten, 2)]
        } else {
            vec![]
        },
        rack_id: if version >= 11 { find(body, b"r1") } else { 0..0 },
    }
}

#[test]
fn fetch_request_decodes_to_the_values_that_were_encoded() {
    let mut used = FetchRequest::default();
    for body in bodies("fetch", "request") {
        let expected = match body.case {
            "full" => full_request(body.version, &body.bytes),
            _ => bare_request(body.version, &body.bytes),
        };
        decodes(&body, &used, &expected, FetchRequest::decode);
        used = expected;
    }
}

fn write_full(out: &mut Vec<u8>, version: i16) {
    let aborted = [AbortedTransaction {
        producer_id: 1000,
        first_offset: 55,
    }];
    let plain = |index, error| FetchPartitionHead::refused(index, error);
    let rich = FetchPartitionHead {
        high_watermark: 100,
        last_stable_offset: 90,
        log_start_offset: 10,
        aborted: Some(&aborted),
        preferred_read_replica: 2,
        diverging_epoch: Some((4, 80)),
        current_leader: Some((2, 9)),
        snapshot_id: Some((70, 3)),
        ..plain(0, ErrorCode::NONE)
    };
    let moved = FetchPartitionHead {
        aborted: Some(&[]),
        current_leader: Some((3, 1)),
        ..plain(1, ErrorCode::NOT_LEADER_OR_FOLLOWER)
    };
    let out_of_range = plain(3, ErrorCode::OFFSET_OUT_OF_RANGE);
    let mut w = FetchResponseWriter::begin(out, version, 12, ErrorCode::NONE, 9, 2);
    w.topic("events", EVENTS, 2);
    w.partition(&rich, Some(b"records".len()));
    w.out().extend_from_slice(b"records");
    w.partition_end(&rich);
    w.partition(&out_of_range, Some(0));
    w.partition_end(&out_of_range);
    w.topic_end();
    w.topic("é-log", LOG, 1);
    w.partition(&moved, None);
    w.partition_end(&moved);
    w.topic_end();
    w.end(&ENDPOINTS);
}

#[test]
fn fetch_response_is_written_to_the_bytes_of_the_other_codec() {
    for response in bodies("fetch", "response") {
        let mut out = Vec::new();
        if response.case == "full" {
            write_full(&mut out, response.version);
        } else {
            let error = ErrorCode::FETCH_SESSION_ID_NOT_FOUND;
            FetchResponseWriter::begin(&mut out, response.version, 0, error, 0, 0).end(&[]);
        }
        assert_eq!(out, response.bytes, "v{} {}", response.version, response.case);
    }
}
