use super::*;

#[test]
fn special_timestamps_have_their_first_versions() {
    for (value, expected) in [
        (0, Some(0)),
        (-1, Some(0)),
        (-2, Some(0)),
        (-3, Some(7)),
        (-4, Some(8)),
        (-5, Some(9)),
        (-6, Some(11)),
        (-7, None),
    ] {
        assert_eq!(timestamp::first_version(value), expected, "{value}");
    }
}

#[test]
fn unknown_versions_are_refused() {
    for version in [-1, 12] {
        assert_eq!(
            ListOffsetsRequest::default().decode(version, &[0; 64]),
            Err(WireError::UnsupportedVersion)
        );
    }
}

#[test]
fn version_0_asks_for_several_offsets_and_gets_a_list() {
    let body = b"\xff\xff\xff\xff\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\xff\xff\xff\xff\xff\xff\xff\xfe\0\0\0\x05";
    let mut request = ListOffsetsRequest::default();
    request.decode(0, body).unwrap();
    let row = &request.partitions[0];
    assert_eq!((row.topic.name(body), row.index), (Some("t"), 7));
    assert_eq!((row.timestamp, row.max_num_offsets), (timestamp::EARLIEST, 5));
    for cut in 0..body.len() {
        assert!(ListOffsetsRequest::default().decode(0, &body[..cut]).is_err(), "{cut}");
    }
    let result = OldestResult {
        error: ErrorCode::NONE,
        offsets: vec![9, 4],
    };
    let mut out = Vec::new();
    encode_oldest_response(&mut out, body, &request, &[result]);
    let rows = b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\0\0\0\0\0\x02";
    assert_eq!(out, [&rows[..], b"\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x04"].concat());
}
