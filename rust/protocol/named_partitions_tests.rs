use super::*;

/// An array of `topics` topics with `partitions` partitions each.
fn body(is_flexible: bool, topics: usize, partitions: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let indexes: Vec<i32> = (0..partitions as i32).collect();
    encode_topics(&mut Writer::new(&mut out, is_flexible), &vec![("t", indexes); topics]);
    out
}

fn results(topics: usize, partitions: usize) -> Vec<u8> {
    let one = NamedPartitions {
        topic: "t",
        partitions: vec![3; partitions],
    };
    let mut out = Vec::new();
    let errors = vec![ErrorCode::PRODUCER_FENCED; topics * partitions];
    encode_results(&mut Writer::new(&mut out, true), &vec![one; topics], &errors);
    out
}

#[test]
fn topics_are_the_same_bytes_both_ways_in_both_encodings() {
    let topics = [("a", &[0, 3][..]), ("b", &[])];
    for (is_flexible, bytes) in [
        (true, b"\x03\x02a\x03\0\0\0\0\0\0\0\x03\0\x02b\x01\0".as_slice()),
        (false, b"\0\0\0\x02\0\x01a\0\0\0\x02\0\0\0\0\0\0\0\x03\0\x01b\0\0\0\0"),
    ] {
        let mut out = Vec::new();
        encode_topics(&mut Writer::new(&mut out, is_flexible), &topics);
        assert_eq!(out, bytes);
        let mut reader = Reader::new(bytes, is_flexible);
        let decoded = decode_topics(&mut reader).unwrap();
        let decoded: Vec<_> = decoded.iter().map(|t| (t.topic, &t.partitions[..])).collect();
        assert_eq!(decoded, topics);
        assert_eq!(reader.remaining(), 0);
    }
}

#[test]
fn more_partitions_than_the_limit_are_refused() {
    let decode = |topics, partitions| {
        decode_topics(&mut Reader::new(&body(true, topics, partitions), true)).map(|topics| topics.len())
    };
    assert_eq!(decode(2, MAX_ROWS / 2), Ok(2));
    assert_eq!(decode(2, MAX_ROWS / 2 + 1), Err(WireError::TooManyElements));
    assert_eq!(decode(MAX_ROWS, 1), Ok(MAX_ROWS));
    assert_eq!(decode(MAX_ROWS + 1, 0), Err(WireError::TooManyElements));
}

#[test]
fn the_limit_counts_all_arrays_of_a_message() {
    let (topics, rows) = (body(true, 1, MAX_ROWS / 2 + 1), results(1, MAX_ROWS / 2));
    let mut limit = RowLimit::new();
    assert!(limit.decode_topics(&mut Reader::new(&topics, true)).is_ok());
    let again = limit.decode_topics(&mut Reader::new(&topics, true));
    assert_eq!(again, Err(WireError::TooManyElements));
    let mut limit = RowLimit::new();
    for _ in 0..2 {
        assert!(limit.decode_results(&mut Reader::new(&rows, true)).is_ok());
    }
    let again = limit.decode_results(&mut Reader::new(&rows, true));
    assert_eq!(again, Err(WireError::TooManyElements));
}

#[test]
fn a_count_beyond_the_bytes_is_refused() {
    let count = i32::MAX.to_be_bytes();
    let decoded = decode_topics(&mut Reader::new(&count, false));
    assert_eq!(decoded, Err(WireError::CountTooLarge));
    let partitions = [b"\0\0\0\x01\0\x01t".as_slice(), &count].concat();
    let decoded = decode_topics(&mut Reader::new(&partitions, false));
    assert_eq!(decoded, Err(WireError::CountTooLarge));
}

#[test]
fn a_result_with_a_longer_topic_name_than_kafkas_limit_is_refused() {
    for (length, is_refused) in [(249, false), (250, true)] {
        let name = "n".repeat(length);
        let topic = NamedPartitions {
            topic: &name,
            partitions: vec![3],
        };
        let mut out = Vec::new();
        encode_results(&mut Writer::new(&mut out, true), &[topic], &[ErrorCode::NONE]);
        let decoded = RowLimit::new().decode_results(&mut Reader::new(&out, true));
        let expected = if is_refused {
            Err(WireError::StringTooLong)
        } else {
            Ok(vec![(name.clone(), 3, ErrorCode::NONE)])
        };
        assert_eq!(decoded, expected, "{length}");
    }
}
