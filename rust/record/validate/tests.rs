//! Validation by example; every case was compared with Apache Kafka 4.3's own validator.

use crate::header::{CONTROL_BIT, LOG_APPEND_TIME_BIT};
use crate::rewrite::seal;
use crate::*;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};

const NOW_MS: i64 = 1_700_000_000_000;
const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn deep() -> Rules {
    Rules {
        inflate_to_validate: true,
        ..Rules::default()
    }
}

fn good(codec: Codec) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec).producer(9, 1, 5);
    for i in 0..3 {
        builder.append(NOW_MS + i, Some(b"k"), Some(b"value"), &[(b"h", Some(b"v"))]);
    }
    builder.build(Offset(0), LeaderEpoch::NONE)
}

fn of_timestamps(codec: Codec, timestamps: &[i64]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec);
    for &timestamp in timestamps {
        builder.append(timestamp, Some(b"k"), Some(b"v"), &[]);
    }
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// The good batch with other bytes at a place of its header, and the CRC that fits.
fn patched(codec: Codec, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut batch = good(codec);
    batch[at..at + bytes.len()].copy_from_slice(bytes);
    seal(&mut batch);
    batch
}

fn with_attribute(codec: Codec, bit: i16) -> Vec<u8> {
    patched(codec, 21, &(codec.attribute_bits() | bit).to_be_bytes())
}

fn code(batch: &[u8], rules: &Rules, origin: Origin) -> ErrorCode {
    validate(batch, rules, origin, NOW_MS).map_or_else(|rejection| rejection.code, |_| ErrorCode::NONE)
}

fn client(batch: &[u8], rules: &Rules) -> ErrorCode {
    code(batch, rules, Origin::Client)
}

fn rejected(batch: &[u8], rules: &Rules) -> (ErrorCode, Vec<i32>) {
    let rejection = validate(batch, rules, Origin::Client, NOW_MS).unwrap_err();
    (
        rejection.code,
        rejection.record_errors.iter().map(|(index, _)| *index).collect(),
    )
}

#[test]
fn a_good_batch_of_any_codec_stays_in_place() {
    for codec in CODECS {
        for rules in [Rules::default(), deep()] {
            let bytes = good(codec);
            let header = BatchHeader::parse(&bytes).unwrap();
            let expected = Validated::InPlace {
                header,
                max_timestamp: NOW_MS + 2,
                offset_of_max_timestamp_delta: 2,
            };
            assert_eq!(validate(&bytes, &rules, Origin::Client, NOW_MS), Ok(expected));
        }
    }
}

#[test]
fn a_batch_over_max_message_bytes_is_too_large_at_one_byte_more() {
    let bytes = good(Codec::None);
    let rules = Rules {
        max_message_bytes: bytes.len() as u32,
        ..Rules::default()
    };
    assert_eq!(client(&bytes, &rules), ErrorCode::NONE);
    let rules = Rules {
        max_message_bytes: bytes.len() as u32 - 1,
        ..rules
    };
    assert_eq!(client(&bytes, &rules), ErrorCode::MESSAGE_TOO_LARGE);
    assert_eq!(code(&bytes, &rules, Origin::Coordinator), ErrorCode::MESSAGE_TOO_LARGE);
    assert_eq!(code(&bytes, &rules, Origin::Replication), ErrorCode::NONE);
}

#[test]
fn a_wrong_crc_is_corrupt_for_everyone() {
    for codec in CODECS {
        let mut bytes = good(codec);
        bytes[17] ^= 1;
        for origin in [Origin::Client, Origin::Coordinator, Origin::Replication] {
            assert_eq!(code(&bytes, &Rules::default(), origin), ErrorCode::CORRUPT_MESSAGE);
        }
    }
}

#[test]
fn wrong_header_fields_of_a_client_are_invalid_records() {
    for codec in CODECS {
        let cases: [(&str, Vec<u8>); 8] = [
            ("base offset", patched(codec, 0, &5i64.to_be_bytes())),
            (
                "last offset delta beyond the count",
                patched(codec, 23, &7i32.to_be_bytes()),
            ),
            ("negative last offset delta", patched(codec, 23, &(-5i32).to_be_bytes())),
            ("no records", patched(codec, 57, &0i32.to_be_bytes())),
            ("negative count", patched(codec, 57, &(-3i32).to_be_bytes())),
            (
                "count that wraps",
                patched(codec, 23, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
            ),
            ("producer without sequence", patched(codec, 53, &(-1i32).to_be_bytes())),
            ("control", with_attribute(codec, CONTROL_BIT)),
        ];
        for (name, bytes) in cases {
            assert_eq!(
                client(&bytes, &Rules::default()),
                ErrorCode::INVALID_RECORD,
                "{name}, {codec}"
            );
        }
    }
}

#[test]
fn coordinators_may_write_control_batches_which_are_never_compressed() {
    let marker = end_transaction_marker(true, 5, 2, 3, NOW_MS);
    let rules = Rules {
        codec: Some((Codec::Gzip, 6)),
        ..Rules::default()
    };
    assert_eq!(client(&marker, &rules), ErrorCode::INVALID_RECORD);
    let validated = validate(&marker, &rules, Origin::Coordinator, NOW_MS).unwrap();
    assert!(matches!(validated, Validated::InPlace { .. }));
}

#[test]
fn an_unknown_codec_is_an_unexpected_error_as_in_kafka() {
    for id in 5i16..8 {
        assert_eq!(
            client(&patched(Codec::None, 21, &id.to_be_bytes()), &Rules::default()),
            ErrorCode::UNKNOWN_SERVER_ERROR
        );
    }
}

#[test]
fn record_counts_that_the_payload_belies_are_invalid_records() {
    for codec in CODECS {
        for count in [2i32, 4] {
            let mut bytes = good(codec);
            bytes[57..61].copy_from_slice(&count.to_be_bytes());
            bytes[23..27].copy_from_slice(&(count - 1).to_be_bytes());
            seal(&mut bytes);
            assert_eq!(client(&bytes, &deep()), ErrorCode::INVALID_RECORD, "{codec} {count}");
        }
    }
}

#[test]
fn compressed_payloads_are_left_alone_unless_the_rules_need_them() {
    let mut bytes = good(Codec::Zstd);
    let end = bytes.len();
    bytes[end - 3..].fill(0x55);
    bytes[61..65].fill(0x55);
    seal(&mut bytes);
    assert_eq!(client(&bytes, &Rules::default()), ErrorCode::NONE);
    for rules in [
        deep(),
        Rules {
            compacted: true,
            ..Rules::default()
        },
        Rules {
            codec: Some((Codec::Lz4, 9)),
            ..Rules::default()
        },
        Rules {
            timestamp_before_max_ms: 1_000,
            ..Rules::default()
        },
    ] {
        assert_eq!(client(&bytes, &rules), ErrorCode::UNKNOWN_SERVER_ERROR);
    }
}

#[test]
fn compacted_topics_name_every_record_without_key() {
    for codec in CODECS {
        let mut builder = BatchBuilder::new(codec);
        for key in [Some(&b"k"[..]), None, Some(b""), None] {
            builder.append(NOW_MS, key, Some(b"v"), &[]);
        }
        let bytes = builder.build(Offset(0), LeaderEpoch::NONE);
        assert_eq!(client(&bytes, &Rules::default()), ErrorCode::NONE);
        let rules = Rules {
            compacted: true,
            ..Rules::default()
        };
        assert_eq!(rejected(&bytes, &rules), (ErrorCode::INVALID_RECORD, vec![1, 3]));
    }
}

#[test]
fn timestamps_are_in_range_up_to_the_edge() {
    for codec in CODECS {
        let rules = Rules {
            timestamp_before_max_ms: 1_000,
            timestamp_after_max_ms: 500,
            ..Rules::default()
        };
        let edges = of_timestamps(codec, &[NOW_MS - 1_000, NOW_MS + 500, -1]);
        assert_eq!(client(&edges, &rules), ErrorCode::NONE);
        let beyond = of_timestamps(codec, &[NOW_MS, NOW_MS - 1_001, NOW_MS + 501, i64::MIN, i64::MAX]);
        assert_eq!(
            rejected(&beyond, &rules),
            (ErrorCode::INVALID_TIMESTAMP, vec![1, 2, 3, 4])
        );
        let append_time = Rules {
            timestamp_type: TimestampType::LogAppendTime,
            ..rules
        };
        assert_eq!(
            client(&beyond, &append_time),
            ErrorCode::NONE,
            "the producer's time does not count there"
        );
    }
}

#[test]
fn a_bad_timestamp_outweighs_a_missing_key() {
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append(NOW_MS * 2, Some(b"k"), None, &[]);
    builder.append(NOW_MS, None, None, &[]);
    let rules = Rules {
        compacted: true,
        ..Rules::default()
    };
    assert_eq!(
        rejected(&builder.build(Offset(0), LeaderEpoch::NONE), &rules),
        (ErrorCode::INVALID_TIMESTAMP, vec![0, 1])
    );
}

#[test]
fn a_producer_that_claims_append_time_is_refused_where_it_matters() {
    for codec in CODECS {
        let bytes = with_attribute(codec, LOG_APPEND_TIME_BIT);
        let append_time = Rules {
            timestamp_type: TimestampType::LogAppendTime,
            ..Rules::default()
        };
        assert_eq!(
            rejected(&bytes, &append_time),
            (ErrorCode::INVALID_TIMESTAMP, vec![0, 1, 2])
        );
        // With create time Kafka takes it and clears the bit.
        let mut bytes = bytes;
        let max_timestamp = validate(&bytes, &Rules::default(), Origin::Client, NOW_MS)
            .unwrap()
            .max_timestamp();
        assign(
            &mut bytes,
            Offset(7),
            LeaderEpoch(1),
            TimestampType::CreateTime,
            max_timestamp,
        );
        let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
        batch.verify_crc().unwrap();
        assert_eq!(batch.header().timestamp_type(), TimestampType::CreateTime);
    }
}

#[test]
fn a_maximum_that_the_records_belie_is_corrected() {
    let mut bytes = patched(Codec::None, 35, &(NOW_MS + 99).to_be_bytes());
    let validated = validate(&bytes, &Rules::default(), Origin::Client, NOW_MS).unwrap();
    assert_eq!(validated.max_timestamp(), NOW_MS + 2);
    assign(
        &mut bytes,
        Offset(0),
        LeaderEpoch(0),
        TimestampType::CreateTime,
        validated.max_timestamp(),
    );
    let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
    batch.verify_crc().unwrap();
    assert_eq!(batch.header().max_timestamp, NOW_MS + 2);
}

#[test]
fn the_topics_codec_replaces_the_producers() {
    for from in CODECS {
        for to in CODECS {
            for timestamp_type in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
                let rules = Rules {
                    codec: Some((to, 3)),
                    timestamp_type,
                    ..Rules::default()
                };
                let bytes = good(from);
                let validated = validate(&bytes, &rules, Origin::Client, NOW_MS + 50).unwrap();
                let Validated::Rewritten {
                    bytes: rewritten,
                    header,
                    max_timestamp,
                    ..
                } = validated
                else {
                    assert_eq!(from, to);
                    continue;
                };
                let (batch, _) = Batch::split_first(&rewritten).unwrap().unwrap();
                batch.verify_crc().unwrap();
                assert_eq!(*batch.header(), header);
                assert_eq!((header.codec(), header.timestamp_type()), (Ok(to), timestamp_type));
                assert_eq!(
                    (header.max_timestamp, header.base_sequence, header.record_count),
                    (max_timestamp, 5, 3)
                );
                let (original, _) = Batch::split_first(&bytes).unwrap().unwrap();
                assert_eq!(values(&original), values(&batch));
            }
        }
    }
}

type Value = (Offset, Option<Vec<u8>>, Option<Vec<u8>>);

fn values(batch: &Batch<'_>) -> Vec<Value> {
    let mut scratch = Vec::new();
    let records = batch.records(&mut scratch, 1 << 20).unwrap().map(Result::unwrap);
    records
        .map(|it| (it.offset, it.key.map(<[u8]>::to_vec), it.value.map(<[u8]>::to_vec)))
        .collect()
}

#[test]
fn a_rewritten_batch_must_fit_max_message_bytes_too() {
    let mut builder = BatchBuilder::new(Codec::Zstd);
    builder.append(NOW_MS, None, Some(&[7; 10_000]), &[]);
    let rules = Rules {
        max_message_bytes: 1_000,
        codec: Some((Codec::None, 0)),
        ..Rules::default()
    };
    assert_eq!(
        client(&builder.build(Offset(0), LeaderEpoch::NONE), &rules),
        ErrorCode::MESSAGE_TOO_LARGE
    );
}

#[test]
fn compressed_offsets_with_gaps_are_renumbered() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let mut builder = BatchBuilder::new(codec);
        for delta in [2, 1, 5] {
            builder.append_at(delta, NOW_MS, None, Some(b"v"), [].into_iter());
        }
        let mut bytes = builder.build(Offset(0), LeaderEpoch::NONE);
        bytes[23..27].copy_from_slice(&2i32.to_be_bytes());
        seal(&mut bytes);
        let Ok(Validated::Rewritten { bytes, .. }) = validate(&bytes, &deep(), Origin::Client, NOW_MS) else {
            panic!("{codec} is not rewritten");
        };
        let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
        assert_eq!(
            values(&batch).iter().map(|it| it.0.get()).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }
}

#[test]
fn a_bomb_is_refused_at_the_limit() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let mut builder = BatchBuilder::new(codec);
        builder.append(NOW_MS, None, Some(&vec![0; 4 << 20]), &[]);
        let rules = Rules {
            inflate_limit: 1 << 20,
            ..deep()
        };
        assert_eq!(
            client(&builder.build(Offset(0), LeaderEpoch::NONE), &rules),
            ErrorCode::MESSAGE_TOO_LARGE,
            "{codec}"
        );
    }
}

#[test]
fn bytes_after_the_batch_never_reach_the_log() {
    let one = good(Codec::None);
    let two = [&one[..], &one[..]].concat();
    assert_eq!(client(&two, &Rules::default()), ErrorCode::INVALID_RECORD);
    assert_eq!(
        client(&two[..one.len() + 5], &Rules::default()),
        ErrorCode::INVALID_RECORD
    );
    assert_eq!(
        client(&one[..one.len() - 1], &Rules::default()),
        ErrorCode::INVALID_RECORD
    );
}

#[test]
fn a_request_carries_one_v2_batch() {
    let one = good(Codec::None);
    let size = |bytes: &[u8], version| single_batch(bytes, version).map_err(|rejection| rejection.code);
    assert_eq!(size(&one, 9), Ok(one.len()));
    assert_eq!(
        size(&[&one[..], &one[..40]].concat(), 9),
        Ok(one.len()),
        "a cut second batch is dropped"
    );
    assert_eq!(size(&[&one[..], &one[..]].concat(), 9), Err(ErrorCode::INVALID_RECORD));
    assert_eq!(size(&[&one[..], &[0; 40]].concat(), 9), Err(ErrorCode::CORRUPT_MESSAGE));
    assert_eq!(size(&one[..70], 9), Err(ErrorCode::INVALID_RECORD));
    assert_eq!(size(b"", 9), Err(ErrorCode::INVALID_RECORD));
    for (magic, code) in [
        (0, ErrorCode::INVALID_RECORD),
        (1, ErrorCode::INVALID_RECORD),
        (3, ErrorCode::CORRUPT_MESSAGE),
    ] {
        assert_eq!(size(&patched(Codec::None, 16, &[magic]), 9), Err(code));
    }
    for (length, code) in [
        (13, ErrorCode::CORRUPT_MESSAGE),
        (20, ErrorCode::CORRUPT_MESSAGE),
        (-1, ErrorCode::CORRUPT_MESSAGE),
        (i32::MAX, ErrorCode::INVALID_RECORD),
    ] {
        let bytes = patched(Codec::None, 8, &i32::to_be_bytes(length));
        let verdict =
            single_batch(&bytes, 9).and_then(|size| validate(&bytes[..size], &Rules::default(), Origin::Client, 0));
        assert_eq!(
            verdict.map_err(|rejection| rejection.code).err(),
            Some(code),
            "{length}"
        );
    }
    assert_eq!(
        size(&good(Codec::Zstd), 6),
        Err(ErrorCode::UNSUPPORTED_COMPRESSION_TYPE)
    );
    assert_eq!(size(&good(Codec::Zstd), 7), Ok(good(Codec::Zstd).len()));
}
