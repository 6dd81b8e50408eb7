use super::super::error::WireError;
use super::*;
use base::error::ErrorCode;

fn decode(version: i16, body: &[u8]) -> Result<MetadataRequest, WireError> {
    let mut request = MetadataRequest::default();
    request.decode(version, body).map(|()| request)
}

#[test]
fn empty_list_is_all_topics_in_version_0_and_none_from_version_1_on() {
    let all = |version, body: &[u8]| decode(version, body).map(|request| request.all_topics);
    assert_eq!(all(0, &[0, 0, 0, 0]), Ok(true));
    assert_eq!(all(0, &[0xff, 0xff, 0xff, 0xff]), Err(WireError::UnexpectedNull));
    assert_eq!(all(1, &[0, 0, 0, 0]), Ok(false));
    assert_eq!(all(1, &[0xff, 0xff, 0xff, 0xff]), Ok(true));
    assert_eq!(all(9, &[1, 1, 0, 0, 0]), Ok(false));
    assert_eq!(all(12, &[0, 1, 0, 0]), Ok(true));
}

#[test]
fn topic_by_id_is_refused_before_version_12() {
    let by_id = [&[2][..], &[7; 16], &[0, 0, 1, 0, 0, 0]].concat();
    let request = decode(10, &by_id).unwrap();
    assert_eq!(request.refusal(10), Some(ErrorCode::INVALID_REQUEST));
    assert_eq!(request.refusal(12), None);
}
