use super::*;

fn batch(markers: usize, partitions: usize) -> Vec<u8> {
    let one = MarkerToSend {
        producer_id: 5,
        producer_epoch: 2,
        is_commit: true,
        coordinator_epoch: 4,
        transaction_version: 2,
        topics: vec![("t", vec![0; partitions])],
    };
    let mut out = Vec::new();
    encode_write_txn_markers_request(&mut out, &vec![one; markers]);
    out
}

#[test]
fn request_of_another_version_is_refused() {
    let body = batch(1, 1);
    for version in [MIN_VERSION - 1, MAX_VERSION + 1] {
        let decoded = WriteTxnMarkersRequest::decode(version, &body);
        assert_eq!(decoded, Err(WireError::UnsupportedVersion));
    }
}

#[test]
fn request_of_version_1_has_transaction_version_0() {
    let mut body = batch(1, 1);
    let at = body.len() - 3; // the transaction version, before two empty tag sections
    assert_eq!(body.remove(at), 2);
    let request = WriteTxnMarkersRequest::decode(1, &body).unwrap();
    let versions: Vec<_> = request.markers.iter().map(|m| m.transaction_version).collect();
    assert_eq!(versions, [0]);
}

#[test]
fn request_with_more_partitions_than_the_limit_in_all_markers_is_refused() {
    let body = batch(2, MAX_ROWS / 2);
    let request = WriteTxnMarkersRequest::decode(2, &body).unwrap();
    assert_eq!(request.markers.len(), 2);
    let body = batch(2, MAX_ROWS / 2 + 1);
    let decoded = WriteTxnMarkersRequest::decode(2, &body);
    assert_eq!(decoded, Err(WireError::TooManyElements));
    let body = batch(MAX_ROWS + 1, 0);
    let decoded = WriteTxnMarkersRequest::decode(2, &body);
    assert_eq!(decoded, Err(WireError::TooManyElements));
}
