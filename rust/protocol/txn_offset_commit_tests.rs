use super::*;

/// A body of version 0 with one topic and one partition.
const BODY: &[u8] =
    b"\0\x02tx\0\x01g\0\0\0\0\0\0\0\x05\0\x02\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0\x09\xff\xff";

#[test]
fn request_before_version_2_has_no_member_and_no_leader_epoch() {
    let mut request = TxnOffsetCommitRequest {
        generation_id: 4,
        member_id: 1..2,
        group_instance_id: Some(1..2),
        ..TxnOffsetCommitRequest::default()
    };
    for version in [0, 1] {
        request.decode(version, BODY).unwrap();
        assert_eq!((request.generation_id, &request.member_id), (-1, &(0..0)));
        assert_eq!(request.group_instance_id, None);
        let expected = CommitPartition {
            index: 7,
            offset: 9,
            leader_epoch: -1,
            commit_timestamp: -1,
            metadata: None,
        };
        assert_eq!(request.partitions, [expected], "version {version}");
    }
}

#[test]
fn request_of_another_version_is_refused() {
    let mut request = TxnOffsetCommitRequest::default();
    for version in [-1, MAX_VERSION + 1] {
        assert_eq!(request.decode(version, BODY), Err(WireError::UnsupportedVersion));
    }
}

#[test]
fn a_count_beyond_the_bytes_reserves_nothing() {
    let mut body = BODY[..17].to_vec();
    body.extend_from_slice(&i32::MAX.to_be_bytes());
    let mut request = TxnOffsetCommitRequest::default();
    assert_eq!(request.decode(0, &body), Err(WireError::CountTooLarge));
    assert_eq!(request.topics.capacity(), 0);
}
