//! Produce, every version, against the fixture.

use base::error::ErrorCode;
use protocol::{ProducePartition, ProduceRequest, ProduceResult, TopicKey, encode_produce_response};

use crate::fixtures::{ENDPOINTS, EVENTS, LOG, bodies, decodes};

/// Where `text` stands in the body for the first time.
fn find(body: &[u8], text: &[u8]) -> std::ops::Range<usize> {
    let at = body.windows(text.len()).position(|window| window == text).unwrap();
    at..at + text.len()
}

fn full_request(version: i16, body: &[u8]) -> ProduceRequest {
    let (events, log) = if version >= 13 {
        (TopicKey::Id(EVENTS), TopicKey::Id(LOG))
    } else {
        (
            TopicKey::Name(find(body, b"events")),
            TopicKey::Name(find(body, "é-log".as_bytes())),
        )
    };
    let partition = |topic: &TopicKey, first_of_topic, index, records| ProducePartition {
        topic: topic.clone(),
        first_of_topic,
        index,
        records,
    };
    // An empty range stands at the end of its length: before the tags of partition, topic and request, if there are
    // any.
    let empty_at = body.len() - if version >= 9 { 3 } else { 0 };
    ProduceRequest {
        transactional_id: Some(find(body, b"tx")),
        acks: -1,
        timeout_ms: 1500,
        partitions: vec![
            partition(&events, true, 0, Some(find(body, b"batch-0"))),
            partition(&events, false, 7, None),
            partition(&log, true, 1, Some(empty_at..empty_at)),
        ],
    }
}

#[test]
fn produce_request_decodes_to_the_values_that_were_encoded() {
    let mut used = ProduceRequest::default();
    for body in bodies("produce", "request") {
        let expected = match body.case {
            "full" => full_request(body.version, &body.bytes),
            _ => ProduceRequest {
                acks: 1,
                ..ProduceRequest::default()
            },
        };
        decodes(&body, &used, &expected, ProduceRequest::decode);
        used = expected;
    }
}

fn full_results() -> Vec<ProduceResult> {
    vec![
        ProduceResult {
            base_offset: 42,
            log_start_offset: 3,
            ..ProduceResult::refused(ErrorCode::NONE, None)
        },
        ProduceResult {
            current_leader: Some((2, 9)),
            ..ProduceResult::refused(ErrorCode::NOT_LEADER_OR_FOLLOWER, Some("moved".into()))
        },
        ProduceResult {
            log_append_time_ms: 1_700_000_000_000,
            log_start_offset: 0,
            record_errors: vec![(0, "bad".into()), (5, "worse".into())],
            ..ProduceResult::refused(ErrorCode::INVALID_RECORD, Some("refused".into()))
        },
    ]
}

#[test]
fn produce_response_encodes_to_the_bytes_of_the_other_codec() {
    let requests = bodies("produce", "request");
    for response in bodies("produce", "response") {
        let asked = requests
            .iter()
            .find(|body| (body.version, body.case) == (response.version, response.case))
            .unwrap();
        let mut request = ProduceRequest::default();
        request.decode(asked.version, &asked.bytes).unwrap();
        let (results, endpoints, throttle) = match response.case {
            "full" => (full_results(), &ENDPOINTS[..], 12),
            _ => (vec![], &[][..], 0),
        };
        let mut out = vec![0xaa];
        encode_produce_response(
            &mut out,
            asked.version,
            &asked.bytes,
            &request,
            &results,
            endpoints,
            throttle,
        );
        assert_eq!(out[1..], response.bytes, "v{} {}", response.version, response.case);
    }
}
