use super::*;

fn body(version: i16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, version >= FLEXIBLE_FROM);
    w.string("group");
    w.i32(7);
    w.string("member");
    if version >= INSTANCE_FROM {
        w.nullable_string(Some("instance"));
    }
    w.no_tags();
    out
}

#[test]
fn every_version_is_read() {
    for version in 0..=MAX_VERSION {
        let body = body(version);
        let request = HeartbeatRequest::decode(version, &body).expect("a whole request");
        let instance = (version >= INSTANCE_FROM).then_some("instance");
        let expected = HeartbeatRequest {
            group_id: "group",
            generation_id: 7,
            member_id: "member",
            group_instance_id: instance,
        };
        assert_eq!(request, expected, "version {version}");
    }
}

#[test]
fn a_request_that_ends_early_is_refused_at_every_byte() {
    for version in 0..=MAX_VERSION {
        let body = body(version);
        for end in 0..body.len() {
            assert!(
                HeartbeatRequest::decode(version, &body[..end]).is_err(),
                "version {version}, {end} bytes"
            );
        }
    }
}

#[test]
fn answers_are_as_long_as_their_version_says() {
    for (version, length) in [(0, 2), (1, 6), (3, 6), (4, 7)] {
        let mut out = Vec::new();
        encode_heartbeat_response(&mut out, version, ErrorCode::ILLEGAL_GENERATION, 0);
        assert_eq!(out.len(), length, "version {version}");
    }
}
