use super::*;

#[test]
fn request_of_another_version_is_refused() {
    let body = b"\0\x02tx\0\0\0\0\0\0\0\x05\0\x02\0\x01g";
    assert!(AddOffsetsToTxnRequest::decode(0, body).is_ok());
    for version in [-1, MAX_VERSION + 1] {
        let decoded = AddOffsetsToTxnRequest::decode(version, body);
        assert_eq!(decoded, Err(WireError::UnsupportedVersion));
    }
}

#[test]
fn response_has_the_length_of_its_version() {
    for (version, length) in [(0, 6), (2, 6), (3, 7), (4, 7)] {
        let mut out = Vec::new();
        encode_add_offsets_to_txn_response(&mut out, version, ErrorCode::NOT_COORDINATOR);
        assert_eq!(out.len(), length, "version {version}");
    }
}
