//! Headers and records of messages and wrappers.

use proptest::prelude::*;

use super::naive::{self, Fields};
use super::{CODECS, codec, fields, only, records};
use crate::legacy::message::{Head, write};
use crate::legacy::{LEAST_BATCH, Magic};
use crate::{Batch, BatchError, BatchHeader, Batches, Codec, TimestampType, crc32};
use base::place::{LeaderEpoch, Offset};

type Row<'a> = (Magic, i64, i64, Option<&'a [u8]>, Option<&'a [u8]>, &'a [u8]);

/// A message's fields, and its bytes without the CRC.
const TABLE: [Row<'_>; 4] = [
    (
        Magic::V0,
        5,
        -1,
        Some(b"k"),
        Some(b"vw"),
        b"\0\0\0\0\0\0\0\x05\0\0\0\x11\0\0\0\0\0\x01k\0\0\0\x02vw",
    ),
    (
        Magic::V0,
        0,
        -1,
        None,
        None,
        b"\0\0\0\0\0\0\0\0\0\0\0\x0e\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    ),
    (
        Magic::V1,
        256,
        1000,
        None,
        Some(b""),
        b"\0\0\0\0\0\0\x01\0\0\0\0\x16\x01\0\0\0\0\0\0\0\x03\xe8\xff\xff\xff\xff\0\0\0\0",
    ),
    (
        Magic::V1,
        1,
        -1,
        Some(b""),
        None,
        b"\0\0\0\0\0\0\0\x01\0\0\0\x16\x01\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff",
    ),
];

#[test]
fn messages_of_the_table_are_written_and_read() {
    for (magic, offset, timestamp, key, value, without_crc) in TABLE {
        let mut expected = without_crc[..12].to_vec();
        expected.extend(naive::crc32(&without_crc[12..]).to_be_bytes());
        expected.extend(&without_crc[12..]);
        let head = Head {
            magic,
            offset,
            timestamp,
            timestamp_type: TimestampType::CreateTime,
        };
        let mut written = Vec::new();
        write(head, key, value, &mut written);
        assert_eq!(written, expected);
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        assert_eq!(
            naive::records(&written),
            [(offset, timestamp, owned(key), owned(value))]
        );
    }
}

#[test]
fn header_of_a_message_has_no_epoch_and_no_producer() {
    let message = naive::message(1, 0x0a, &fields(77, 1234, "k", "v"));
    let header = BatchHeader::parse(&message).unwrap();
    assert_eq!(header, *only(&message).header());
    assert_eq!((header.base_offset, header.last_offset()), (Offset(77), Offset(77)));
    assert_eq!(
        (header.base_timestamp, header.max_timestamp, header.magic),
        (1234, 1234, 1)
    );
    assert_eq!(header.partition_leader_epoch, LeaderEpoch::NONE);
    assert_eq!((header.record_count, header.size_bytes()), (1, message.len()));
    assert_eq!(header.timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(header.codec(), Ok(Codec::Snappy));
    assert!(header.is_legacy() && !header.is_idempotent() && header.last_sequence() == -1);
}

#[test]
fn header_with_bits_or_a_key_length_that_no_message_has_is_refused() {
    for magic in 0..2 {
        for attributes in [4, 7, 0x10, 0x80] {
            let message = naive::message(magic, attributes, &fields(0, 0, "k", "v"));
            assert!(matches!(
                BatchHeader::parse(&message),
                Err(BatchError::InvalidRecord { .. })
            ));
        }
        let timestamp_type = naive::message(magic, 8, &fields(0, 0, "k", "v"));
        let header = BatchHeader::parse(&timestamp_type).unwrap();
        assert_eq!(header.attributes, if magic == 0 { 0 } else { 8 });
        let key_at = if magic == 0 { 18 } else { 26 };
        for length in [-2, 3, i32::MAX, i32::MIN] {
            let mut message = naive::message(magic, 0, &fields(0, 0, "k", "v"));
            message[key_at..key_at + 4].copy_from_slice(&i32::to_be_bytes(length));
            assert!(matches!(
                BatchHeader::parse(&message),
                Err(BatchError::InvalidRecord { .. })
            ));
        }
    }
}

#[test]
fn header_shorter_than_its_magic_needs_is_refused() {
    for (magic, minimum) in [(0, 14), (1, 22)] {
        let mut message = naive::message(magic, 0, &(0, 0, None, None));
        assert_eq!(message.len(), 12 + minimum as usize);
        assert!(BatchHeader::parse(&message).is_ok());
        message[11] -= 1;
        let expected = BatchError::InvalidSize {
            length: minimum - 1,
            minimum: if magic == 0 { 14 } else { minimum },
        };
        assert_eq!(BatchHeader::parse(&message), Err(expected));
        assert_eq!(Batch::split_first(&message).err(), Some(expected));
    }
    let short = &naive::message(0, 0, &(0, 0, None, None))[..LEAST_BATCH - 1];
    assert!(matches!(BatchHeader::parse(short), Err(BatchError::TooShort { .. })));
    assert!(matches!(Batch::split_first(short), Ok(None)));
}

fn inner(offsets: &[i64], timestamps: &[i64]) -> Vec<Fields> {
    let both = offsets.iter().zip(timestamps);
    both.map(|(offset, timestamp)| fields(*offset, *timestamp, "k", "some value"))
        .collect()
}

/// Wrapper offset and inner offsets, and the offsets in the log.
const OFFSETS: [(u8, i64, [i64; 3], [i64; 3]); 6] = [
    (0, 12, [10, 11, 12], [10, 11, 12]),
    (0, 12, [3, 9, 12], [3, 9, 12]),
    (1, 12, [0, 1, 2], [10, 11, 12]),
    (1, 12, [0, 4, 6], [6, 10, 12]),  // compacted
    (1, 12, [5, 6, 7], [10, 11, 12]), // counts from another number
    (1, 0, [0, 1, 2], [0, 1, 2]),     // the wrapper's offset was not set
];

#[test]
fn wrapper_gives_its_records_the_offsets_that_kafka_gives_them() {
    for (magic, offset, inner_offsets, expected) in OFFSETS {
        for codec in &CODECS[1..] {
            let wrapper = naive::wrapper(magic, *codec, offset, 30, &inner(&inner_offsets, &[20, 30, 10]));
            let header = *only(&wrapper).header();
            assert_eq!((header.last_offset(), header.record_count), (Offset(offset), 1));
            let times = if magic == 0 { [-1; 3] } else { [20, 30, 10] };
            assert_eq!(naive::records(&wrapper), inner(&expected, &times));
        }
    }
}

#[test]
fn wrapper_of_log_append_time_gives_its_time_to_all_records() {
    let set: Vec<u8> = inner(&[0, 1], &[20, 30])
        .iter()
        .flat_map(|it| naive::message(1, 0, it))
        .collect();
    let wrapper = naive::wrapper_of(1, 0x08 | Codec::Gzip as u8, 8, 5000, &set);
    assert_eq!(naive::records(&wrapper), inner(&[7, 8], &[5000, 5000]));
}

#[test]
fn wrapper_of_magic_1_may_hold_messages_of_magic_0() {
    let set: Vec<u8> = inner(&[0, 1], &[0, 0])
        .iter()
        .flat_map(|it| naive::message(0, 0, it))
        .collect();
    let wrapper = naive::wrapper_of(1, Codec::Gzip as u8, 8, 5000, &set);
    assert_eq!(naive::records(&wrapper), inner(&[7, 8], &[-1, -1]));
}

#[test]
fn lz4_frame_of_magic_0_is_read_whatever_its_header_checksum() {
    let mut value = Vec::new();
    let set = naive::message(0, 0, &fields(4, -1, "k", "v"));
    crate::compress(Codec::Lz4, None, &set, &mut value).unwrap();
    value[6] = 0x1a;
    let wrapper = naive::message(0, 3, &(4, -1, None, Some(value)));
    assert_eq!(naive::records(&wrapper), [fields(4, -1, "k", "v")]);
}

proptest! {
    #[test]
    fn crc32_matches_naive(bytes in prop::collection::vec(any::<u8>(), 0..3000), start in 0usize..40) {
        let bytes = &bytes[start.min(bytes.len())..];
        prop_assert_eq!(crc32(bytes), naive::crc32(bytes));
    }

    #[test]
    fn records_of_a_set_match_naive(sets in prop::collection::vec((0u8..2, codec(), records(3)), 1..4)) {
        let mut set = Vec::new();
        for (magic, codec, records) in &sets {
            if *codec == Codec::None {
                for record in records { set.extend(naive::message(*magic, 0, record)); }
                continue;
            }
            let last = records.last().unwrap();
            let mut inner = records.clone();
            if *magic == 1 {
                for record in &mut inner { record.0 -= 100; }
            }
            set.extend(naive::wrapper(*magic, *codec, last.0, 9, &inner));
        }
        prop_assert_eq!(naive::records(&set), naive::read(&set));
        prop_assert!(Batches::new(&set).all(|batch| batch.unwrap().header().is_legacy()));
    }
}
