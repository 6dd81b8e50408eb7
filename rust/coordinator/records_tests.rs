use super::*;
use crate::partition_for;
use broker::testing::row;
use record::Batches;

/// What Apache Kafka 4.3 wrote into the five partitions of its topic.
const KAFKAS: [&[u8]; 5] = [
    include_bytes!("../../tests/fixtures/offsets/partition-0.log"),
    include_bytes!("../../tests/fixtures/offsets/partition-1.log"),
    include_bytes!("../../tests/fixtures/offsets/partition-2.log"),
    include_bytes!("../../tests/fixtures/offsets/partition-3.log"),
    include_bytes!("../../tests/fixtures/offsets/partition-4.log"),
];

/// Key and value of every record.
fn kafkas_records() -> Vec<(usize, Vec<u8>, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut scratch = Vec::new();
    for (partition, bytes) in KAFKAS.iter().enumerate() {
        for batch in Batches::new(bytes) {
            for record in batch.unwrap().records(&mut scratch, 1 << 20).unwrap() {
                let record = record.unwrap();
                found.push((
                    partition,
                    record.key.unwrap().to_vec(),
                    record.value.map(<[u8]>::to_vec),
                ));
            }
        }
    }
    found
}

#[test]
fn records_of_kafka_are_written_again_byte_for_byte_in_the_same_partition() {
    let (mut offsets, mut others) = (0, 0);
    for (partition, key, value) in kafkas_records() {
        match read_key(&key).unwrap() {
            Key::Offset { group_id, topic, index } => {
                offsets += 1;
                let mut again = Vec::new();
                write_offset_key(&mut again, group_id, topic, index);
                assert_eq!(again, key);
                assert_eq!(partition_for(group_id, &row("t", [1; 16], 5)), partition as i32);
                if let Some(value) = value {
                    let mut again = Vec::new();
                    write_offset_value(&mut again, &read_offset_value(&value).unwrap());
                    assert_eq!(again, value);
                }
            }
            Key::Group(_) | Key::Other(_) => others += 1,
        }
    }
    assert!(offsets > 5 && others > 5, "{offsets} {others}");
}

fn value(offset: i64, leader_epoch: i32, expire_ms: i64) -> OffsetValue<'static> {
    OffsetValue {
        offset,
        leader_epoch,
        metadata: "x",
        commit_ms: 9,
        expire_ms,
        topic_id: None,
    }
}

#[test]
fn values_of_every_version_are_read() {
    let nine = 9i64.to_be_bytes();
    let five = 5i64.to_be_bytes();
    let two = 2i32.to_be_bytes();
    let cases: [(&[&[u8]], OffsetValue<'_>); 5] = [
        (&[b"\0\0", &five, b"\0\x01x", &nine], value(5, -1, -1)),
        (
            &[b"\0\x01", &five, b"\0\x01x", &nine, &10i64.to_be_bytes()],
            value(5, -1, 10),
        ),
        (&[b"\0\x02", &five, b"\0\x01x", &nine], value(5, -1, -1)),
        (&[b"\0\x03", &five, &two, b"\0\x01x", &nine], value(5, 2, -1)),
        (&[b"\0\x04", &five, &two, b"\x02x", &nine, b"\0"], value(5, 2, -1)),
    ];
    for (parts, expected) in cases {
        assert_eq!(read_offset_value(&parts.concat()), Ok(expected));
    }
    assert_eq!(read_offset_value(b"\0\x05"), Err(WireError::UnsupportedVersion));
    let key = b"\0\0\0\x01g\0\x01t\0\0\0\x03"; // version 0
    let expected = Key::Offset {
        group_id: "g",
        topic: "t",
        index: 3,
    };
    assert_eq!(read_key(key), Ok(expected));
}

#[test]
fn long_metadata_has_a_length_of_two_bytes() {
    let words = "y".repeat(4096);
    let long = OffsetValue {
        metadata: &words,
        topic_id: Some([7; 16]),
        ..value(5, 2, -1)
    };
    let mut bytes = Vec::new();
    write_offset_value(&mut bytes, &long);
    assert_eq!(read_offset_value(&bytes), Ok(long));
}

#[test]
fn every_cut_of_a_key_or_a_value_is_refused() {
    for (_, key, value) in kafkas_records() {
        if !matches!(read_key(&key).unwrap(), Key::Offset { .. }) {
            continue;
        }
        for cut in 0..key.len() {
            assert!(read_key(&key[..cut]).is_err());
        }
        let value = value.unwrap_or_default();
        for cut in 0..value.len() {
            assert!(read_offset_value(&value[..cut]).is_err());
        }
    }
}
