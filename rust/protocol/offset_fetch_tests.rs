use super::*;

const ID: [u8; 16] = [5; 16];

/// A body of group `g` with partitions 0 and 3 of one topic; from version 8 on with group `all` and no topics, too.
fn body(version: i16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, version >= FLEXIBLE_FROM);
    if version >= GROUPS_FROM {
        w.length(Some(2));
    }
    group(&mut w, version, "g", true);
    if version >= GROUPS_FROM {
        w.no_tags();
        group(&mut w, version, "all", false);
        w.no_tags();
    }
    if version >= REQUIRE_STABLE_FROM {
        w.boolean(true);
    }
    w.no_tags();
    out
}

fn group(w: &mut Writer<'_>, version: i16, group_id: &str, has_topics: bool) {
    w.string(group_id);
    if version >= MEMBER_FROM {
        w.nullable_string(Some("m"));
        w.i32(1);
    }
    w.length(has_topics.then_some(1));
    if has_topics {
        if version >= TOPIC_ID_FROM {
            w.raw(&ID);
        } else {
            w.string("t");
        }
        w.length(Some(2));
        w.i32(0);
        w.i32(3);
        w.no_tags();
    }
}

#[test]
fn every_version_is_read_and_every_cut_of_it_refused() {
    let mut request = OffsetFetchRequest::default();
    for version in MIN_VERSION..=MAX_VERSION {
        let bytes = body(version);
        request.decode(version, &bytes).unwrap();
        assert_eq!(request.groups.len(), if version >= 8 { 2 } else { 1 });
        assert_eq!(&bytes[request.groups[0].group_id.clone()], b"g");
        assert_eq!(request.groups[0].topics, Some(0..1));
        assert_eq!(request.indexes, [0, 3]);
        assert_eq!(request.require_stable, version >= 7);
        match version {
            10.. => assert_eq!(request.topics[0].topic, TopicKey::Id(ID)),
            _ => assert_eq!(request.topics[0].topic.name(&bytes), Some("t")),
        }
        if let Some(all) = request.groups.get(1) {
            assert_eq!((&bytes[all.group_id.clone()], &all.topics), (&b"all"[..], &None));
        }
        for cut in 0..bytes.len() {
            assert!(
                request.decode(version, &bytes[..cut]).is_err(),
                "version {version}, {cut}"
            );
        }
    }
    for version in [MIN_VERSION - 1, MAX_VERSION + 1] {
        assert_eq!(request.decode(version, &body(9)), Err(WireError::UnsupportedVersion));
    }
}

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
