use super::*;

fn body(version: i16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, version >= FLEXIBLE_FROM);
    w.nullable_string(None);
    w.i32(60_000);
    if version >= PRODUCER_FROM {
        w.i64(5);
        w.i16(2);
    }
    w.no_tags();
    out
}

#[test]
fn every_version_is_read() {
    for version in 0..=MAX_VERSION {
        let body = body(version);
        let request = InitProducerIdRequest::decode(version, &body).unwrap();
        assert_eq!(request.transactional_id, None, "version {version}");
        let producer = if version >= PRODUCER_FROM { (5, 2) } else { (-1, -1) };
        assert_eq!(
            (request.producer_id, request.producer_epoch),
            producer,
            "version {version}"
        );
        assert!(!request.is_half(), "version {version}");
    }
}

#[test]
fn an_id_without_an_epoch_is_half_a_producer() {
    let mut body = body(3);
    let at = body.len() - 3;
    body[at..at + 2].copy_from_slice(&[0xff, 0xff]);
    let request = InitProducerIdRequest::decode(3, &body).unwrap();
    assert!(request.is_half());
}

#[test]
fn a_request_that_ends_early_is_refused_at_every_byte() {
    for version in 0..=MAX_VERSION {
        let body = body(version);
        for end in 0..body.len() {
            assert!(
                InitProducerIdRequest::decode(version, &body[..end]).is_err(),
                "version {version}, {end} bytes"
            );
        }
    }
}
