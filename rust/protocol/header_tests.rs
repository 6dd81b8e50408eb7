use super::*;

const FRAME: &[u8] = &[0, 3, 0, 9, 0, 0, 0, 7, 0, 2, b'm', b'e', 1, 5, 1, 0xaa, 0xbb];

#[test]
fn header_v2_skips_tags_and_v1_has_none() {
    let v2 = RequestHeader::parse(FRAME, |key, version| (key, version) == (3, 9)).unwrap();
    let expected = RequestHeader {
        api_key: 3,
        api_version: 9,
        correlation_id: 7,
        client_id: Some("me"),
        body_at: 16,
    };
    assert_eq!(v2, expected);
    assert_eq!(
        RequestHeader::parse(FRAME, |_, _| false),
        Ok(RequestHeader {
            body_at: 12,
            ..expected
        })
    );
}

#[test]
fn null_client_id_is_none() {
    let header = RequestHeader::parse(&[0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff], |_, _| false).unwrap();
    assert_eq!((header.client_id, header.body_at), (None, 10));
}

#[test]
fn every_truncation_of_a_header_is_refused() {
    for end in 0..16 {
        assert!(RequestHeader::parse(&FRAME[..end], |_, _| true).is_err(), "{end}");
    }
}

#[test]
fn twenty_million_tags_of_two_bytes_are_refused_at_once() {
    let mut frame = vec![0, 3, 0, 9, 0, 0, 0, 7, 0xff, 0xff, 0x80, 0xda, 0xc4, 0x09];
    frame.resize(40_000_014, 0);
    assert_eq!(RequestHeader::parse(&frame, |_, _| true), Err(WireError::UnsortedTags));
}

#[test]
fn response_header_has_tags_when_flexible() {
    let mut out = Vec::new();
    write_response_header(&mut out, 258, false);
    write_response_header(&mut out, -1, true);
    assert_eq!(out, [0, 0, 1, 2, 0xff, 0xff, 0xff, 0xff, 0]);
}
