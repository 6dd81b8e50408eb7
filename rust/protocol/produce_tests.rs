use super::*;

#[test]
fn negative_versions_and_versions_above_13_are_refused() {
    let mut request = ProduceRequest::default();
    for version in [-1, 14] {
        assert_eq!(request.decode(version, &[0; 64]), Err(WireError::UnsupportedVersion));
    }
}

/// Versions 0 to 2, from the message definitions of Kafka 3.9: acks -1, 1500 ms, topic `t` with partition 7.
const OLD_REQUEST: &[u8] = b"\xff\xff\0\0\x05\xdc\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\0\0\0\x03set";

#[test]
fn versions_0_to_2_have_no_transactional_id() {
    let expected = ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: 1500,
        partitions: vec![ProducePartition {
            topic: TopicKey::Name(12..13),
            first_of_topic: true,
            index: 7,
            records: Some(25..28),
        }],
    };
    for version in 0..=2 {
        let mut request = ProduceRequest {
            transactional_id: Some(0..1),
            ..ProduceRequest::default()
        };
        request.decode(version, OLD_REQUEST).unwrap();
        assert_eq!(request, expected, "version {version}");
        for cut in 0..OLD_REQUEST.len() {
            assert!(
                request.decode(version, &OLD_REQUEST[..cut]).is_err(),
                "version {version}, {cut}"
            );
        }
    }
}

#[test]
fn old_responses_gain_the_throttle_time_and_then_the_append_time() {
    let mut request = ProduceRequest::default();
    request.decode(0, OLD_REQUEST).unwrap();
    let result = ProduceResult {
        base_offset: 0x0102_0304_0506_0708,
        log_append_time_ms: 0x1112_1314_1516_1718,
        current_leader: Some((1, 2)),
        ..ProduceResult::refused(ErrorCode::NOT_LEADER_OR_FOLLOWER, None)
    };
    let row = b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\0\x06\x01\x02\x03\x04\x05\x06\x07\x08";
    let (append_time, throttle) = (b"\x11\x12\x13\x14\x15\x16\x17\x18", b"\0\0\0\x09");
    for (version, expected) in [
        (0, row.to_vec()),
        (1, [&row[..], throttle].concat()),
        (2, [&row[..], append_time, throttle].concat()),
    ] {
        let mut out = Vec::new();
        encode_produce_response(
            &mut out,
            version,
            OLD_REQUEST,
            &request,
            std::slice::from_ref(&result),
            &[],
            9,
        );
        assert_eq!(out, expected, "version {version}");
    }
}
