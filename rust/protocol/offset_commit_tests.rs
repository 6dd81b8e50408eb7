use super::*;

#[test]
fn a_count_that_lies_allocates_nothing() {
    let mut bytes = b"\0\x01g\0\0\0\x07\0\x01m".to_vec();
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&i32::MAX.to_be_bytes());
    let mut request = OffsetCommitRequest::default();
    assert_eq!(request.decode(2, &bytes), Err(WireError::CountTooLarge));
    assert_eq!(request.topics.capacity(), 0);
}
