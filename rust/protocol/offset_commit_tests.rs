use super::*;

const ID: [u8; 16] = [5; 16];

/// A body of one topic with two partitions.
fn body(version: i16) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, version >= FLEXIBLE_FROM);
    w.string("g");
    if version >= MEMBER_FROM {
        w.i32(7);
        w.string("m");
    }
    if version >= INSTANCE_FROM {
        w.nullable_string(Some("i"));
    }
    if (RETENTION_FROM..=RETENTION_UNTIL).contains(&version) {
        w.i64(99);
    }
    w.length(Some(1));
    if version >= TOPIC_ID_FROM {
        w.raw(&ID);
    } else {
        w.string("t");
    }
    w.length(Some(2));
    for (index, metadata) in [(0, Some("words")), (3, None)] {
        w.i32(index);
        w.i64(50 + i64::from(index));
        if version >= LEADER_EPOCH_FROM {
            w.i32(4);
        }
        if version == 1 {
            w.i64(77);
        }
        w.nullable_string(metadata);
        w.no_tags();
    }
    w.no_tags();
    w.no_tags();
    out
}

#[test]
fn every_version_is_read_and_every_cut_of_it_refused() {
    let mut request = OffsetCommitRequest::default();
    for version in MIN_VERSION..=MAX_VERSION {
        let bytes = body(version);
        request.decode(version, &bytes).unwrap();
        let at = |range: &Range<usize>| std::str::from_utf8(&bytes[range.clone()]).unwrap().to_owned();
        let member = if version >= 1 { (7, "m") } else { (-1, "") };
        assert_eq!(at(&request.group_id), "g");
        assert_eq!((request.generation_id, at(&request.member_id).as_str()), member);
        let commit_timestamp = if version == 1 { 77 } else { TIME_OF_ARRIVAL };
        assert_eq!(request.partitions[0].commit_timestamp, commit_timestamp);
        let instance = request.group_instance_id.as_ref().map(&at);
        assert_eq!(instance.as_deref(), (version >= 7).then_some("i"));
        assert_eq!(
            request.retention_time_ms,
            if (2..=4).contains(&version) {
                99
            } else {
                DEFAULT_RETENTION
            }
        );
        let topic = &request.topics[0];
        if version >= 10 {
            assert_eq!(topic.topic, TopicKey::Id(ID));
        } else {
            assert_eq!(topic.topic.name(&bytes), Some("t"));
        }
        assert_eq!(topic.rows, 0..2);
        let epoch = if version >= 6 { 4 } else { -1 };
        let rows: Vec<_> = request
            .partitions
            .iter()
            .map(|p| (p.index, p.offset, p.leader_epoch))
            .collect();
        assert_eq!(rows, [(0, 50, epoch), (3, 53, epoch)]);
        assert_eq!(
            request.partitions[0].metadata.as_ref().map(at).as_deref(),
            Some("words")
        );
        assert_eq!(request.partitions[1].metadata, None);
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
fn a_count_that_lies_allocates_nothing() {
    let mut bytes = b"\0\x01g\0\0\0\x07\0\x01m".to_vec();
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&i32::MAX.to_be_bytes());
    let mut request = OffsetCommitRequest::default();
    assert_eq!(request.decode(2, &bytes), Err(WireError::CountTooLarge));
    assert_eq!(request.topics.capacity(), 0);
}

#[test]
fn a_response_tells_where_its_errors_stand() {
    let mut request = OffsetCommitRequest::default();
    for version in MIN_VERSION..=MAX_VERSION {
        let bytes = body(version);
        request.decode(version, &bytes).unwrap();
        let (mut out, mut places) = (Vec::new(), Vec::new());
        let errors = [ErrorCode::NONE, ErrorCode::OFFSET_METADATA_TOO_LARGE];
        encode_offset_commit_response(&mut out, version, &bytes, &request, &errors, Some(&mut places));
        let codes: Vec<i16> = places
            .iter()
            .map(|at| i16::from_be_bytes([out[*at], out[*at + 1]]))
            .collect();
        assert_eq!(codes, [0, 12]);
        let mut r = Reader::new(&out, version >= FLEXIBLE_FROM);
        if version >= 3 {
            assert_eq!(r.i32(), Ok(0));
        }
        assert_eq!(r.count(1), Ok(1));
        match version {
            10.. => assert_eq!(r.uuid(), Ok(ID)),
            _ => assert_eq!(r.str(), Ok("t")),
        }
        assert_eq!(r.count(1), Ok(2));
        for (index, code) in [(0, 0), (3, 12)] {
            assert_eq!((r.i32(), r.i16()), (Ok(index), Ok(code)));
            r.skip_tags().unwrap();
        }
        r.skip_tags().unwrap();
        r.skip_tags().unwrap();
        assert_eq!(r.remaining(), 0);
    }
}
