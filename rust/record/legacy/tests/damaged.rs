//! Bytes that lie about sizes, depth, offsets, counts and checksums.

use proptest::prelude::*;

use super::naive::{self, Fields};
use super::{CODECS, fields, only};
use crate::legacy::{DownConverter, Magic, convert_up};
use crate::{Batch, BatchError, Batches, Codec, Rules};
use base::error::ErrorCode;
use base::place::Offset;

fn read(wrapper: &[u8], limit: usize) -> Result<usize, BatchError> {
    let (batch, _) = Batch::split_first(wrapper)?.unwrap();
    batch.verify_crc()?;
    let mut scratch = Vec::new();
    batch
        .records(&mut scratch, limit)?
        .try_fold(0, |count, record| record.map(|_| count + 1))
}

fn pair(magic: u8) -> [Vec<u8>; 2] {
    [0, 1].map(|offset| naive::message(magic, 0, &fields(offset, 0, "k", "v")))
}

/// A lie in a wrapper's set, and the reason that is given.
type Lie = (&'static str, fn(Vec<u8>) -> Vec<u8>);

const LIES: [Lie; 7] = [
    ("a compressed message holds no messages", |_| Vec::new()),
    ("its size is more than the bytes that are left", |mut set| {
        set.pop();
        set
    }),
    ("its size is negative or cut short", |mut set| {
        set.extend([0; 11]);
        set
    }),
    ("its size is negative or cut short", |mut set| {
        set[8] = 0xff;
        set
    }),
    ("its size is more than the bytes that are left", |mut set| {
        set[8] = 0x7f;
        set
    }),
    ("key and value do not fill the message", |mut set| {
        set[11] += 1;
        set
    }),
    ("a message within a compressed message is compressed itself", |set| {
        naive::wrapper_of(set[16], 1, 0, 0, &set)
    }),
];

#[test]
fn wrapper_that_lies_is_one_clear_error() {
    for magic in 0..2 {
        for codec in &CODECS[1..] {
            for (reason, lie) in LIES {
                let wrapper = naive::wrapper_of(magic, *codec as u8, 1, 0, &lie(pair(magic).concat()));
                let error = read(&wrapper, 1 << 20).unwrap_err();
                assert!(
                    matches!(error, BatchError::InvalidRecord { reason: given, .. } if given == reason),
                    "{error} instead of {reason}"
                );
                let refused = convert_up(&wrapper, &Rules::default()).unwrap_err();
                assert_eq!(refused.code, ErrorCode::INVALID_RECORD);
            }
        }
    }
}

#[test]
fn message_in_a_wrapper_with_a_wrong_crc_is_refused() {
    let [first, mut second] = pair(1);
    *second.last_mut().unwrap() ^= 1;
    let wrapper = naive::wrapper_of(1, 2, 1, 0, &[first, second].concat());
    assert!(matches!(read(&wrapper, 1 << 20), Err(BatchError::Crc { .. })));
    let refused = convert_up(&wrapper, &Rules::default()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::CORRUPT_MESSAGE);
}

#[test]
fn wrapper_below_its_last_offset_is_refused() {
    let wrapper = naive::wrapper_of(1, 1, 1, 0, &naive::message(1, 0, &fields(2, 0, "k", "v")));
    assert!(matches!(read(&wrapper, 1 << 20), Err(BatchError::InvalidRecord { .. })));
    let refused = convert_up(&wrapper, &Rules::default()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::INVALID_RECORD);
}

#[test]
fn offsets_that_no_batch_can_have_are_refused() {
    for (wrapper_offset, offsets) in [
        (i64::MAX, [i64::MIN, i64::MAX]),
        (1 << 40, [0, 1 << 33]),
        (5, [-1, i64::MIN]),
    ] {
        let inner: Vec<Fields> = offsets.map(|offset| fields(offset, 0, "k", "v")).into();
        for magic in 0..2 {
            let wrapper = naive::wrapper(magic, Codec::Gzip, wrapper_offset, 0, &inner);
            assert!(matches!(read(&wrapper, 1 << 20), Err(BatchError::InvalidRecord { .. })));
        }
    }
}

#[test]
fn wrapper_without_value_or_with_zstd_is_refused() {
    for magic in 0..2 {
        for codec in 4..8 {
            let message = naive::message(magic, codec, &fields(0, 0, "", "1"));
            assert!(matches!(read(&message, 1 << 20), Err(BatchError::InvalidRecord { .. })));
        }
        let empty = naive::message(magic, 1, &(0, 0, None, None));
        assert!(matches!(read(&empty, 1 << 20), Err(BatchError::InvalidRecord { .. })));
    }
}

#[test]
fn bomb_costs_no_more_than_the_limit() {
    let zeros = vec![0; 8 << 20];
    let set = naive::message(1, 0, &(0, 0, None, Some(zeros)));
    for codec in &CODECS[1..] {
        let wrapper = naive::wrapper_of(1, *codec as u8, 0, 0, &set);
        assert_eq!(
            read(&wrapper, 1 << 20),
            Err(BatchError::InflateLimit { limit: 1 << 20 })
        );
        let rules = Rules {
            inflate_limit: 1 << 20,
            ..Rules::default()
        };
        assert_eq!(
            convert_up(&wrapper, &rules).unwrap_err().code,
            ErrorCode::MESSAGE_TOO_LARGE
        );
    }
}

/// A small set: a message, and a wrapper.
fn small(magic: u8, codec: Codec) -> Vec<u8> {
    let mut set = naive::message(magic, 0, &fields(3, 10, "key", "value"));
    let offsets = if magic == 0 { [4, 5] } else { [0, 1] };
    let inner = offsets.map(|offset| fields(offset, 11, "k", "vvvvvvvv"));
    set.extend(naive::wrapper(magic, codec, 5, 11, &inner));
    set
}

/// Whether all batches are whole and all records good.
fn records(set: &[u8]) -> Option<Vec<Fields>> {
    let mut scratch = Vec::new();
    let mut out = Vec::new();
    let mut batches = Batches::new(set);
    for batch in batches.by_ref() {
        let batch = batch.ok()?;
        batch.verify_crc().ok()?;
        for record in batch.records(&mut scratch, 1 << 16).ok()? {
            let record = record.ok()?;
            let bytes = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            out.push((
                record.offset.get(),
                record.timestamp,
                bytes(record.key),
                bytes(record.value),
            ));
        }
    }
    batches.rest().is_empty().then_some(out)
}

#[test]
fn no_changed_byte_gives_other_records() {
    for (magic, codec) in (0..2).flat_map(|magic| CODECS[1..].iter().map(move |codec| (magic, *codec))) {
        let set = small(magic, codec);
        let good = records(&set).unwrap();
        let first = 12 + i32::from_be_bytes(set[8..12].try_into().unwrap()) as usize;
        for at in 0..set.len() {
            // No checksum covers a message's offset.
            let is_offset = at < 8 || (first..first + 8).contains(&at);
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = set.clone();
                bad[at] ^= flip;
                let read = records(&bad);
                assert!(read.is_none() || is_offset, "byte {at} of magic {magic}, {codec}");
                let converted = convert_up(&bad, &Rules::default());
                if let Ok(Some(batch)) = converted {
                    // What is left is cut short: a size that reaches beyond the end.
                    let converted: Vec<Fields> = naive::records(&batch);
                    assert!(
                        is_offset || converted.len() < good.len(),
                        "byte {at} of magic {magic}, {codec}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_cut_gives_other_records() {
    for (magic, codec) in (0..2).flat_map(|magic| CODECS[1..].iter().map(move |codec| (magic, *codec))) {
        let set = small(magic, codec);
        let good = records(&set).unwrap();
        for len in 0..set.len() {
            let whole: Vec<_> = Batches::new(&set[..len])
                .flat_map(|it| naive::records_of(&it.unwrap()))
                .collect();
            assert_eq!(whole, good[..whole.len()]);
            assert!(whole.len() < good.len());
            let converted = convert_up(&set[..len], &Rules::default()).unwrap();
            assert_eq!(converted.map_or(0, |batch| naive::records(&batch).len()), whole.len());
        }
    }
}

proptest! {
    #[test]
    fn nothing_panics_on_arbitrary_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        (magic, codec) in (0u8..2, 0u8..8),
        is_sealed in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if bytes.len() > 26 {
            let size = (bytes.len() - 12) as i32;
            bytes[8..12].copy_from_slice(&size.to_be_bytes());
            bytes[16..18].copy_from_slice(&[magic, codec]);
            if is_sealed {
                let crc = naive::crc32(&bytes[16..]);
                bytes[12..16].copy_from_slice(&crc.to_be_bytes());
            }
        }
        let _ = records(&bytes);
        let _ = convert_up(&bytes, &Rules::default());
        let mut out = Vec::new();
        for batch in Batches::new(&bytes).flatten() {
            let _ = DownConverter::new(Magic::V0).push(&batch, Offset(0), &mut out);
        }
    }

    #[test]
    fn nothing_panics_on_an_arbitrary_set_in_a_wrapper(
        set in prop::collection::vec(any::<u8>(), 0..100),
        (magic, codec, offset) in (0u8..2, 1u8..4, any::<i64>()),
    ) {
        let mut set = set;
        if set.len() > 26 {
            let size = (set.len() - 12) as i32;
            set[8..12].copy_from_slice(&size.to_be_bytes());
            set[16..18].copy_from_slice(&[magic, 0]);
            let crc = naive::crc32(&set[16..]);
            set[12..16].copy_from_slice(&crc.to_be_bytes());
        }
        let wrapper = naive::wrapper_of(magic, codec, offset, 0, &set);
        let _ = Batch::split_first(&wrapper);
        let _ = records(&wrapper);
        let _ = convert_up(&wrapper, &Rules::default());
        let _ = DownConverter::new(Magic::V0).push(&only(&wrapper), Offset(0), &mut Vec::new());
    }
}
