//! Up to magic 2, and down from it.

use proptest::prelude::*;

use super::naive::{self, Fields};
use super::{CODECS, codec, fields, only, records};
use crate::legacy::{DownConverter, Magic, convert_up, fits};
use crate::{
    Batch, BatchBuilder, BatchError, Batches, Codec, Origin, Rules, TimestampType, end_transaction_marker, validate,
};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};

const MAGICS: [Magic; 2] = [Magic::V0, Magic::V1];

fn rules() -> Rules {
    Rules {
        timestamp_after_max_ms: i64::MAX,
        ..Rules::default()
    }
}

fn up(set: &[u8]) -> Vec<u8> {
    convert_up(set, &rules()).unwrap().unwrap()
}

fn batch_of(records: &[Fields], builder: BatchBuilder) -> Vec<u8> {
    let mut builder = builder;
    let base = records[0].0;
    for (offset, timestamp, key, value) in records {
        let headers: [(&[u8], Option<&[u8]>); 1] = [(b"h", Some(b"dropped"))];
        let delta = (offset - base) as i32;
        builder.append_at(delta, *timestamp, key.as_deref(), value.as_deref(), headers.into_iter());
    }
    builder.build(Offset(base), LeaderEpoch(3))
}

fn down(batches: &[u8], magic: Magic, first_offset: i64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut converter = DownConverter::new(magic);
    for batch in Batches::new(batches) {
        converter.push(&batch.unwrap(), Offset(first_offset), &mut out).unwrap();
    }
    out
}

#[test]
fn set_of_messages_becomes_one_batch() {
    let set = [
        naive::message(1, 0, &fields(0, 50, "a", "1")),
        naive::message(1, 0, &fields(0, 40, "b", "2")),
    ]
    .concat();
    let bytes = up(&set);
    let batch = only(&bytes);
    assert_eq!(batch.header().magic, 2);
    assert_eq!((batch.header().record_count, batch.header().max_timestamp), (2, 50));
    assert_eq!(
        naive::records_of(&batch),
        [fields(0, 50, "a", "1"), fields(1, 40, "b", "2")]
    );
    validate(&bytes, &rules(), Origin::Client, 0).unwrap();
}

#[test]
fn batch_has_the_codec_of_the_topic_or_else_of_the_wrapper() {
    for codec in &CODECS[1..] {
        let set = naive::wrapper(1, *codec, 0, 0, &[fields(0, 0, "a", "1"), fields(1, 0, "b", "2")]);
        assert_eq!(only(&up(&set)).header().codec(), Ok(*codec));
        let topic = Rules {
            codec: Some((Codec::Zstd, 3)),
            ..rules()
        };
        let batch = convert_up(&set, &topic).unwrap().unwrap();
        assert_eq!(only(&batch).header().codec(), Ok(Codec::Zstd));
        validate(&batch, &topic, Origin::Client, 0).unwrap();
    }
}

#[test]
fn set_without_a_whole_message_gives_no_batch() {
    let message = naive::message(0, 0, &fields(0, 0, "a", "1"));
    for len in 0..message.len() {
        assert_eq!(convert_up(&message[..len], &rules()), Ok(None));
    }
}

/// A set that is refused, and the code.
fn refused() -> Vec<(ErrorCode, Vec<u8>)> {
    let message = |magic, attributes| naive::message(magic, attributes, &fields(0, 5, "a", "1"));
    let corrupt = |at: usize, byte: u8| {
        let mut message = message(1, 0);
        message[at] = byte;
        message
    };
    let v2 = BatchBuilder::new(Codec::None).build(Offset(0), LeaderEpoch::NONE);
    let other_inside = naive::wrapper_of(1, 1, 0, 0, &message(0, 0));
    vec![
        (ErrorCode::CORRUPT_MESSAGE, corrupt(12, 1)),
        (ErrorCode::CORRUPT_MESSAGE, corrupt(11, 3)),
        (ErrorCode::CORRUPT_MESSAGE, corrupt(16, 3)),
        (ErrorCode::INVALID_RECORD, [message(0, 0), message(1, 0)].concat()),
        (ErrorCode::INVALID_RECORD, [message(1, 0), v2.clone()].concat()),
        (ErrorCode::INVALID_RECORD, v2),
        (ErrorCode::INVALID_RECORD, other_inside),
        (ErrorCode::INVALID_RECORD, message(1, 4)),
        (ErrorCode::INVALID_RECORD, message(1, 5)),
        (ErrorCode::UNKNOWN_SERVER_ERROR, message(1, 1)),
        (
            ErrorCode::MESSAGE_TOO_LARGE,
            naive::message(0, 0, &(0, 0, None, Some(vec![0; 2_000_000]))),
        ),
    ]
}

#[test]
fn bad_set_is_refused_with_kafkas_code() {
    for (code, set) in refused() {
        assert_eq!(convert_up(&set, &rules()).unwrap_err().code, code, "{:?}", &set[..30]);
    }
}

#[test]
fn keys_and_timestamps_are_left_to_the_validation_of_the_batch() {
    let compacted = Rules {
        compacted: true,
        ..Rules::default()
    };
    let set = naive::message(0, 0, &(0, 0, None, Some(Vec::new())));
    let batch = convert_up(&set, &compacted).unwrap().unwrap();
    let refused = validate(&batch, &compacted, Origin::Client, 0).unwrap_err();
    assert_eq!(
        (refused.code, refused.record_errors.len()),
        (ErrorCode::INVALID_RECORD, 1)
    );
    let set = naive::wrapper(1, Codec::Gzip, 0, 1 << 50, &[fields(0, 1 << 50, "a", "1")]);
    let batch = convert_up(&set, &Rules::default()).unwrap().unwrap();
    let refused = validate(&batch, &Rules::default(), Origin::Client, 0).unwrap_err();
    assert_eq!(refused.code, ErrorCode::INVALID_TIMESTAMP);
}

#[test]
fn log_append_time_of_a_producer_is_refused_as_in_kafka() {
    let set = |timestamp| naive::message(1, 8, &fields(0, timestamp, "a", "1"));
    let log_append_time = Rules {
        timestamp_type: TimestampType::LogAppendTime,
        ..rules()
    };
    for (set, rules) in [(set(5), log_append_time), (set(-1), rules())] {
        assert_eq!(convert_up(&set, &rules).unwrap_err().code, ErrorCode::INVALID_TIMESTAMP);
    }
    let batch = up(&set(5));
    assert_eq!(only(&batch).header().timestamp_type(), TimestampType::CreateTime);
    assert_eq!(naive::records(&batch), [fields(0, 5, "a", "1")]);
}

#[test]
fn control_batch_becomes_nothing() {
    for magic in MAGICS {
        let marker = end_transaction_marker(true, 1, 0, 0, 5);
        assert_eq!(down(&marker, magic, 0), b"");
    }
}

#[test]
fn zstd_cannot_be_converted_down() {
    let batch = batch_of(&[fields(0, 0, "a", "1")], BatchBuilder::new(Codec::Zstd));
    let error = DownConverter::new(Magic::V1).push(&only(&batch), Offset(0), &mut Vec::new());
    let error = error.unwrap_err();
    assert_eq!(error, BatchError::NotInLegacy { codec: Codec::Zstd });
    assert_eq!(error.code(), ErrorCode::UNSUPPORTED_COMPRESSION_TYPE);
}

#[test]
fn large_batch_becomes_several_wrappers() {
    let value = "x".repeat(1000);
    let records: Vec<_> = (0..2000).map(|offset| fields(offset, 5, "k", &value)).collect();
    for codec in &CODECS[1..] {
        let batch = batch_of(&records, BatchBuilder::new(*codec));
        for magic in MAGICS {
            let set = down(&batch, magic, 0);
            let sizes: Vec<_> = Batches::new(&set)
                .map(|it| naive::records_of(&it.unwrap()).len())
                .collect();
            assert!(sizes.len() >= 7 && sizes.iter().all(|size| *size < 300), "{sizes:?}");
            assert_eq!(naive::read(&set).len(), 2000);
        }
    }
}

#[test]
fn set_that_fits_is_sent_as_it_is() {
    let v0 = naive::message(0, 0, &fields(0, 0, "a", "1"));
    let v1 = naive::message(1, 0, &fields(1, 0, "a", "1"));
    let v2 = batch_of(&[fields(2, 0, "a", "1")], BatchBuilder::new(Codec::None));
    let all = [&v0[..], &v1, &v2].concat();
    assert!(fits(&v0, Magic::V0) && fits(&[&v0[..], &v1].concat(), Magic::V1) && fits(b"", Magic::V0));
    assert!(!fits(&[&v0[..], &v1].concat(), Magic::V0) && !fits(&all, Magic::V1));
    // cut short, the last batch does not count
    assert!(fits(&all[..all.len() - 1], Magic::V1));
    assert_eq!(down(&all, Magic::V1, 0)[..v0.len() + v1.len()], [&v0[..], &v1].concat());
}

#[test]
fn lz4_wrapper_of_magic_0_has_the_checksum_that_old_clients_expect() {
    let batch = batch_of(&[fields(0, 0, "a", "1")], BatchBuilder::new(Codec::Lz4));
    // offset, size, CRC, magic, attributes, (timestamp,) no key, the value's length, the frame's first six bytes
    assert_eq!(down(&batch, Magic::V0, 0)[12 + 6 + 4 + 4 + 6], 0x1a);
    assert_eq!(down(&batch, Magic::V1, 0)[12 + 6 + 8 + 4 + 4 + 6], 0x82);
}

fn without_times(records: &[Fields], magic: Magic) -> Vec<Fields> {
    let mut records = records.to_vec();
    if magic == Magic::V0 {
        for record in &mut records {
            record.1 = -1;
        }
    }
    records
}

proptest! {
    #[test]
    fn batch_is_converted_down_record_for_record(
        records in records(3),
        codec in codec(),
        skipped in 0i64..8,
        log_append_time in proptest::option::of(0i64..1 << 40),
    ) {
        let mut builder = BatchBuilder::new(codec);
        let mut expected: Vec<Fields> = records.iter().filter(|it| it.0 >= 98 + skipped).cloned().collect();
        if let Some(time) = log_append_time {
            builder = builder.log_append_time(time);
            for record in &mut expected { record.1 = time; }
        }
        let batch = batch_of(&records, builder);
        for magic in MAGICS {
            let set = down(&batch, magic, 98 + skipped);
            let expected = without_times(&expected, magic);
            prop_assert_eq!(&naive::read(&set), &expected);
            prop_assert_eq!(&naive::records(&set), &expected);
            prop_assert!(fits(&set, magic));
            let same_codec = |batch: Batch<'_>| batch.header().codec() == Ok(codec);
            prop_assert!(Batches::new(&set).all(|batch| batch.is_ok_and(same_codec)));
        }
        // and from magic 1 to magic 0
        let set = down(&down(&batch, Magic::V1, 0), Magic::V0, 98 + skipped);
        prop_assert_eq!(naive::read(&set), without_times(&expected, Magic::V0));
    }

    #[test]
    fn set_is_converted_up_record_for_record(records in records(1), codec in codec(), is_v1 in any::<bool>()) {
        let magic = MAGICS[usize::from(is_v1)];
        let set = down(&batch_of(&records, BatchBuilder::new(codec)), magic, 0);
        let batch = up(&set);
        let mut expected = without_times(&records, magic);
        expected.iter_mut().enumerate().for_each(|(at, record)| record.0 = at as i64);
        prop_assert_eq!(only(&batch).header().codec(), Ok(codec));
        prop_assert_eq!(naive::records(&batch), expected);
        prop_assert!(validate(&batch, &rules(), Origin::Client, 0).is_ok());
    }
}
