use super::*;

#[test]
fn the_first_version_has_no_null_topics() {
    let mut bytes = b"\0\x01g".to_vec();
    bytes.extend_from_slice(&(-1i32).to_be_bytes());
    let mut request = OffsetFetchRequest::default();
    assert_eq!(request.decode(1, &bytes), Err(WireError::UnexpectedNull));
    assert_eq!(request.decode(2, &bytes), Ok(()));
    assert_eq!(request.groups[0].topics, None);
}

#[test]
fn a_count_that_lies_allocates_nothing() {
    let mut bytes = b"\0\x01g".to_vec();
    bytes.extend_from_slice(&i32::MAX.to_be_bytes());
    let mut request = OffsetFetchRequest::default();
    assert_eq!(request.decode(1, &bytes), Err(WireError::CountTooLarge));
    assert_eq!(request.topics.capacity() + request.indexes.capacity(), 0);
}
