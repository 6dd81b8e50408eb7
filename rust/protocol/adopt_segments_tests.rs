use super::*;

fn body() -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, true);
    w.string("topic");
    w.i32(3);
    w.i64(90);
    w.i16(4);
    w.i32(5);
    w.i32(70);
    w.boolean(true);
    w.i32(1000);
    w.no_tags();
    out
}

#[test]
fn request_is_read_and_refused_where_it_ends_early() {
    let body = body();
    let request = AdoptSegmentsRequest::decode(&body).unwrap();
    assert_eq!(body.get(request.topic.clone()), Some(b"topic".as_slice()));
    assert_eq!(
        (request.partition, request.producer_id, request.producer_epoch),
        (3, 90, 4)
    );
    assert_eq!(
        (
            request.first_sequence,
            request.record_count,
            request.is_new,
            request.timeout_ms
        ),
        (5, 70, true, 1000)
    );
    for end in 0..body.len() {
        assert!(AdoptSegmentsRequest::decode(&body[..end]).is_err(), "{end} bytes");
    }
}

#[test]
fn response_has_kafka_s_encoding() {
    let mut out = Vec::new();
    encode_adopt_segments_response(&mut out, &AdoptSegmentsResult::refused(ErrorCode::INVALID_RECORD, "no"));
    let mut expected = vec![0, 0, 0, 0, 0, 87, 3, b'n', b'o'];
    expected.extend([0xff; 20]);
    expected.push(0);
    assert_eq!(out, expected);
}
