//! `ListOffsets`, every version, against the fixture.

use base::error::ErrorCode;
use protocol::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResult, TopicKey, encode_list_offsets_response};

use crate::fixtures::{bodies, decodes};

fn find(body: &[u8], text: &[u8]) -> TopicKey {
    let at = body.windows(text.len()).position(|window| window == text).unwrap();
    TopicKey::Name(at..at + text.len())
}

fn full_request(version: i16, body: &[u8]) -> ListOffsetsRequest {
    let (events, log) = (find(body, b"events"), find(body, "é-log".as_bytes()));
    let partition = |topic: &TopicKey, first_of_topic, index, current_leader_epoch, timestamp| ListOffsetsPartition {
        topic: topic.clone(),
        first_of_topic,
        index,
        current_leader_epoch,
        timestamp,
        max_num_offsets: 1,
    };
    ListOffsetsRequest {
        replica_id: -2,
        isolation_level: i8::from(version >= 2),
        timeout_ms: if version >= 10 { 1500 } else { 0 },
        partitions: vec![
            partition(&events, true, 0, if version >= 4 { 5 } else { -1 }, 1_700_000_000_000),
            partition(&events, false, 3, -1, -1),
            partition(&log, true, 1, -1, -3),
        ],
    }
}

#[test]
fn list_offsets_request_decodes_to_the_values_that_were_encoded() {
    let mut used = ListOffsetsRequest::default();
    for body in bodies("list_offsets", "request") {
        let expected = match body.case {
            "full" => full_request(body.version, &body.bytes),
            _ => ListOffsetsRequest {
                replica_id: -1,
                ..ListOffsetsRequest::default()
            },
        };
        decodes(&body, &used, &expected, ListOffsetsRequest::decode);
        used = expected;
    }
}

#[test]
fn list_offsets_response_encodes_to_the_bytes_of_the_other_codec() {
    let requests = bodies("list_offsets", "request");
    let results = [
        ListOffsetsResult {
            error: ErrorCode::NONE,
            timestamp: 1_700_000_000_000,
            offset: 42,
            leader_epoch: 5,
        },
        ListOffsetsResult::nothing(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ListOffsetsResult {
            offset: 7,
            ..ListOffsetsResult::nothing(ErrorCode::NONE)
        },
    ];
    for response in bodies("list_offsets", "response") {
        let asked = requests
            .iter()
            .find(|body| (body.version, body.case) == (response.version, response.case))
            .unwrap();
        let mut request = ListOffsetsRequest::default();
        request.decode(asked.version, &asked.bytes).unwrap();
        let (results, throttle) = if response.case == "full" {
            (&results[..], 12)
        } else {
            (&[][..], 0)
        };
        let mut out = Vec::new();
        encode_list_offsets_response(&mut out, asked.version, &asked.bytes, &request, results, throttle);
        assert_eq!(out, response.bytes, "v{} {}", response.version, response.case);
    }
}
