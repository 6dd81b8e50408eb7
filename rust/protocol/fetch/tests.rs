use super::super::error::WireError;
use super::super::topic::{TopicKey, ZERO_TOPIC_ID};
use super::*;
use base::error::ErrorCode;

#[test]
fn negative_versions_and_versions_above_18_are_refused() {
    let mut request = FetchRequest::default();
    for version in [-1, 19] {
        assert_eq!(request.decode(version, &[0; 64]), Err(WireError::UnsupportedVersion));
    }
}

/// A body of versions 0 to 3, from the message definitions of Kafka 3.9: topic `t`, partition 7 from offset 9 on.
fn old_request(version: i16) -> Vec<u8> {
    let max_bytes: &[u8] = if version >= 3 { b"\0\0\x10\0" } else { b"" };
    let head = b"\xff\xff\xff\xff\0\0\x01\xf4\0\0\0\x01";
    let rows = b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0\x09\0\0\x08\0";
    [head, max_bytes, rows].concat()
}

#[test]
fn versions_0_to_3_have_no_isolation_and_only_version_3_a_bound() {
    let mut request = FetchRequest {
        isolation_level: 1,
        session_id: 5,
        ..FetchRequest::default()
    };
    for version in 0..=3 {
        let body = old_request(version);
        request.decode(version, &body).unwrap();
        let name = if version >= 3 { 22..23 } else { 18..19 };
        let expected = FetchRequest {
            replica_id: -1,
            replica_epoch: -1,
            max_wait_ms: 500,
            min_bytes: 1,
            max_bytes: if version >= 3 { 4096 } else { i32::MAX },
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            partitions: vec![FetchPartition {
                topic: TopicKey::Name(name),
                first_of_topic: true,
                index: 7,
                current_leader_epoch: -1,
                fetch_offset: 9,
                last_fetched_epoch: -1,
                log_start_offset: -1,
                max_bytes: 2048,
                replica_directory_id: ZERO_TOPIC_ID,
                high_watermark: ABSENT_WATERMARK,
            }],
            forgotten: Vec::new(),
            rack_id: 0..0,
        };
        assert_eq!(request, expected, "version {version}");
        for cut in 0..body.len() {
            assert!(
                request.decode(version, &body[..cut]).is_err(),
                "version {version}, {cut}"
            );
        }
    }
}

#[test]
fn old_responses_have_only_the_high_watermark_before_the_records() {
    for version in 0..=3 {
        let mut out = Vec::new();
        let mut writer = FetchResponseWriter::begin(&mut out, version, 9, ErrorCode::NONE, 0, 1);
        writer.topic("t", ZERO_TOPIC_ID, 1);
        let head = FetchPartitionHead {
            high_watermark: 3,
            ..FetchPartitionHead::refused(7, ErrorCode::NONE)
        };
        writer.partition(&head, Some(3));
        writer.out().extend_from_slice(b"set");
        writer.partition_end(&head);
        writer.topic_end();
        writer.end(&[]);
        let throttle: &[u8] = if version >= 1 { b"\0\0\0\x09" } else { b"" };
        let rows = b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0\0\0\x03\0\0\0\x03set";
        assert_eq!(out, [throttle, rows].concat(), "version {version}");
    }
}

#[test]
fn magic_of_message_sets_is_0_before_version_2_and_1_before_version_4() {
    let magics: Vec<_> = (0..6).map(message_set_magic).collect();
    assert_eq!(magics, [Some(0), Some(0), Some(1), Some(1), None, None]);
}
