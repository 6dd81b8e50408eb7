use super::*;

#[test]
fn request_of_another_version_is_refused() {
    let body = b"\0\x02tx\0\0\0\0\0\0\0\x05\0\x02\x01";
    assert!(EndTxnRequest::decode(0, body).is_ok());
    for version in [-1, MAX_VERSION + 1] {
        let decoded = EndTxnRequest::decode(version, body);
        assert_eq!(decoded, Err(WireError::UnsupportedVersion));
    }
}

#[test]
fn response_has_a_producer_from_version_5_on() {
    for (version, length) in [(0, 6), (2, 6), (3, 7), (4, 7), (5, 17)] {
        for ended in [Ok((5, 3)), Err(ErrorCode::PRODUCER_FENCED)] {
            let mut out = Vec::new();
            encode_end_txn_response(&mut out, version, ended);
            assert_eq!(out.len(), length, "version {version}, {ended:?}");
        }
    }
}
