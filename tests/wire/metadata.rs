//! Metadata, every version, against the fixture.

use base::error::ErrorCode;
use protocol::{
    AUTHORIZED_OPERATIONS_OMITTED, MetadataPartition, MetadataRequest, MetadataResponseWriter, MetadataTop,
    MetadataTopic, MetadataTopicRequest, ZERO_TOPIC_ID,
};

use crate::fixtures::{ENDPOINTS, EVENTS, bodies, decodes};

fn named(body: &[u8], text: &str) -> MetadataTopicRequest {
    let at = body
        .windows(text.len())
        .position(|window| window == text.as_bytes())
        .unwrap();
    MetadataTopicRequest {
        name: Some(at..at + text.len()),
        id: ZERO_TOPIC_ID,
    }
}

#[test]
fn metadata_request_decodes_to_the_values_that_were_encoded() {
    let mut used = MetadataRequest::default();
    for body in bodies("metadata", "request") {
        let expected = match body.case {
            "full" => MetadataRequest {
                all_topics: false,
                topics: vec![named(&body.bytes, "events"), named(&body.bytes, "é-log")],
                allow_auto_topic_creation: true,
                include_cluster_authorized_operations: (8..=10).contains(&body.version),
                include_topic_authorized_operations: body.version >= 8,
            },
            "ids" => MetadataRequest {
                topics: vec![MetadataTopicRequest { name: None, id: EVENTS }],
                allow_auto_topic_creation: true,
                ..MetadataRequest::default()
            },
            "all" => MetadataRequest {
                all_topics: true,
                allow_auto_topic_creation: true,
                ..MetadataRequest::default()
            },
            _ => MetadataRequest {
                all_topics: body.version == 0,
                allow_auto_topic_creation: body.version < 4,
                ..MetadataRequest::default()
            },
        };
        decodes(&body, &used, &expected, MetadataRequest::decode);
        used = expected;
    }
}

fn write_full(out: &mut Vec<u8>, version: i16) {
    let top = MetadataTop {
        throttle_time_ms: 12,
        brokers: &ENDPOINTS,
        cluster_id: Some("c1"),
        controller_id: 2,
    };
    let events = MetadataTopic {
        error: ErrorCode::NONE,
        name: Some("events"),
        id: EVENTS,
        is_internal: true,
        authorized_operations: 0x0df8,
    };
    let log = MetadataTopic {
        error: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        name: Some("é-log"),
        id: ZERO_TOPIC_ID,
        is_internal: false,
        authorized_operations: AUTHORIZED_OPERATIONS_OMITTED,
    };
    let mut w = MetadataResponseWriter::begin(out, version, &top, 2);
    w.topic(&events, 2);
    w.partition(&MetadataPartition {
        error: ErrorCode::NONE,
        index: 0,
        leader_id: 2,
        leader_epoch: 9,
        replicas: &[2, 3],
        isr: &[2],
        offline: &[3],
    });
    w.partition(&MetadataPartition {
        error: ErrorCode::LEADER_NOT_AVAILABLE,
        index: 1,
        leader_id: -1,
        leader_epoch: -1,
        replicas: &[],
        isr: &[],
        offline: &[],
    });
    w.topic_end(&events);
    w.topic(&log, 0);
    w.topic_end(&log);
    w.end(7, ErrorCode::NONE);
}

#[test]
fn metadata_response_is_written_to_the_bytes_of_the_other_codec() {
    let empty = MetadataTop {
        throttle_time_ms: 0,
        brokers: &[],
        cluster_id: None,
        controller_id: -1,
    };
    for response in bodies("metadata", "response") {
        let mut out = Vec::new();
        match response.case {
            "full" => write_full(&mut out, response.version),
            "unknown_id" => {
                let topic = MetadataTopic {
                    error: ErrorCode::UNKNOWN_TOPIC_ID,
                    name: None,
                    id: EVENTS,
                    is_internal: false,
                    authorized_operations: AUTHORIZED_OPERATIONS_OMITTED,
                };
                let mut w = MetadataResponseWriter::begin(&mut out, response.version, &empty, 1);
                w.topic(&topic, 0);
                w.topic_end(&topic);
                w.end(AUTHORIZED_OPERATIONS_OMITTED, ErrorCode::NONE);
            }
            _ => MetadataResponseWriter::begin(&mut out, response.version, &empty, 0)
                .end(AUTHORIZED_OPERATIONS_OMITTED, ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        }
        assert_eq!(out, response.bytes, "v{} {}", response.version, response.case);
    }
}
