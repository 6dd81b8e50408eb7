use super::*;

fn body(version: i16, keys: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, version >= FLEXIBLE_FROM);
    if version < BATCHED_FROM {
        w.string(keys.first().copied().unwrap_or_default());
    }
    if version >= KEY_TYPE_FROM {
        w.raw(&[1]);
    }
    if version >= BATCHED_FROM {
        w.length(Some(keys.len()));
        for key in keys {
            w.string(key);
        }
    }
    w.no_tags();
    out
}

#[test]
fn every_version_is_read() {
    for version in 0..=MAX_VERSION {
        let keys: &[&str] = if version >= BATCHED_FROM { &["a", "b"] } else { &["a"] };
        let body = body(version, keys);
        let request = FindCoordinatorRequest::decode(version, &body).unwrap();
        assert_eq!(request.keys, keys, "version {version}");
        assert_eq!(
            request.key_type,
            i8::from(version >= KEY_TYPE_FROM),
            "version {version}"
        );
    }
}

#[test]
fn a_request_that_ends_early_is_refused_at_every_byte() {
    for version in 0..=MAX_VERSION {
        let body = body(version, &["one", "two"]);
        for end in 0..body.len() {
            assert!(
                FindCoordinatorRequest::decode(version, &body[..end]).is_err(),
                "version {version}, {end} bytes"
            );
        }
    }
}
