use super::*;

/// A body of version 0 with one topic and one partition.
const BODY: &[u8] =
    b"\0\x02tx\0\x01g\0\0\0\0\0\0\0\x05\0\x02\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0\x09\xff\xff";

#[test]
fn a_count_beyond_the_bytes_reserves_nothing() {
    let mut body = BODY[..17].to_vec();
    body.extend_from_slice(&i32::MAX.to_be_bytes());
    let mut request = TxnOffsetCommitRequest::default();
    assert_eq!(request.decode(0, &body), Err(WireError::CountTooLarge));
    assert_eq!(request.topics.capacity(), 0);
}
