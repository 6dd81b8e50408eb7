//! What is inflated to judge a batch: how much, where, and that judging piece by piece says the same as judging the
//! whole.

use proptest::prelude::*;

use super::judge::Judge;
use super::*;
use crate::rewrite::seal;
use crate::{BATCH_HEADER, BatchBuilder, compress, decompress};
use base::place::LeaderEpoch;

const NOW_MS: i64 = 1_700_000_000_000;
const CODECS: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

fn compacted() -> Rules {
    Rules {
        compacted: true,
        max_message_bytes: 16 << 20,
        ..Rules::default()
    }
}

/// A batch of one record whose value is so many zeros.
fn zeros(codec: Codec, bytes: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec);
    builder.append(NOW_MS, Some(b"k"), Some(&vec![0; bytes]), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// `payload` compressed behind the header of `batch`.
fn with_payload(batch: &[u8], codec: Codec, payload: &[u8]) -> Vec<u8> {
    let mut bytes = batch[..BATCH_HEADER].to_vec();
    compress(codec, None, payload, &mut bytes).unwrap();
    let length = i32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    seal(&mut bytes);
    bytes
}

#[test]
fn batch_that_inflates_beyond_a_turn_is_left_and_judged_elsewhere() {
    for codec in CODECS {
        let bytes = zeros(codec, 3 << 20);
        let mut here = Room::here(1 << 20);
        let left = validate_within(&bytes, &compacted(), Origin::Client, NOW_MS, &mut here);
        assert_eq!(left, Ok(None), "{codec}");
        assert!(
            validate(&bytes, &compacted(), Origin::Client, NOW_MS).is_ok(),
            "{codec}"
        );
    }
}

#[test]
fn turn_has_room_for_small_batches_until_it_is_used_up() {
    let bytes = zeros(Codec::Zstd, 300 << 10);
    let mut here = Room::here(1 << 20);
    let judged: Vec<bool> = (0..5)
        .map(|_| {
            validate_within(&bytes, &compacted(), Origin::Client, NOW_MS, &mut here)
                .unwrap()
                .is_some()
        })
        .collect();
    assert_eq!(judged, [true, true, true, false, false]);
}

/// Of many values that hardly shrink; its payload is larger than what a loop inflates.
fn dense(codec: Codec) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec);
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        builder.append(NOW_MS, Some(b"key"), Some(&state.to_be_bytes()), &[]);
    }
    builder.build(Offset(0), LeaderEpoch::NONE)
}

#[test]
fn little_room_elsewhere_has_place_for_batches_of_any_kind_until_it_is_used_up() {
    let rewritten = Rules {
        codec: Some((Codec::Zstd, 3)),
        ..compacted()
    };
    for (codec, rules) in CODECS
        .map(|codec| (codec, compacted()))
        .into_iter()
        .chain([(Codec::None, rewritten)])
    {
        let bytes = dense(codec);
        let left = validate_within(&bytes, &rules, Origin::Client, NOW_MS, &mut Room::here(32 << 20));
        assert_eq!(left, Ok(None), "{codec}");
        let mut little = Room::little(6 << 20);
        let mut judged = || {
            validate_within(&bytes, &rules, Origin::Client, NOW_MS, &mut little)
                .unwrap()
                .is_some()
        };
        assert_eq!((judged(), (0..20).all(|_| judged())), (true, false), "{codec}");
        let none = validate_within(&bytes, &rules, Origin::Client, NOW_MS, &mut Room::little(1000));
        assert_eq!(none, Ok(None), "{codec}");
    }
}

#[test]
fn request_that_inflates_beyond_its_room_is_refused() {
    for codec in CODECS {
        let mut room = Room::of_request(5 << 20);
        let bytes = zeros(codec, 2 << 20);
        let mut next =
            || validate_within(&bytes, &compacted(), Origin::Client, NOW_MS, &mut room).map_err(|refused| refused.code);
        assert!(matches!(next(), Ok(Some(_))), "{codec}");
        assert!(matches!(next(), Ok(Some(_))), "{codec}");
        assert_eq!(next(), Err(ErrorCode::MESSAGE_TOO_LARGE), "{codec}");
    }
}

#[test]
fn large_batch_from_the_future_is_refused_by_its_header_without_inflating() {
    for codec in CODECS {
        let mut builder = BatchBuilder::new(codec);
        builder.append(NOW_MS + 7_200_000, Some(b"k"), Some(b"v"), &[]);
        let mut bytes = with_payload(
            &builder.build(Offset(0), LeaderEpoch::NONE),
            Codec::None,
            &vec![0xff; 70_000],
        ); // no codec inflates this
        bytes[22] = codec as u8;
        seal(&mut bytes);
        for mut room in [Room::here(0), Room::here(1 << 20), Room::unlimited()] {
            let refused = validate_within(&bytes, &Rules::default(), Origin::Client, NOW_MS, &mut room).unwrap_err();
            assert_eq!(refused.code, ErrorCode::INVALID_TIMESTAMP, "{codec} {room:?}");
        }
    }
}

#[test]
fn batch_for_a_slow_codec_is_never_compressed_on_a_loop() {
    let rules = Rules {
        codec: Some((Codec::Zstd, 19)),
        ..Rules::default()
    };
    let left = validate_within(
        &zeros(Codec::None, 100),
        &rules,
        Origin::Client,
        NOW_MS,
        &mut Room::here(1 << 20),
    );
    assert_eq!(left, Ok(None));
}

/// (key, value, headers) sizes; some records are larger than the window.
fn sizes() -> impl Strategy<Value = Vec<(Option<usize>, Option<usize>, usize)>> {
    let value = prop_oneof![8 => 0usize..300, 1 => 60_000usize..200_000];
    let record = (
        proptest::option::of(0usize..40),
        proptest::option::of(value),
        prop_oneof![4 => Just(0usize), 1 => 1usize..4],
    );
    proptest::collection::vec(record, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn walk_piece_by_piece_matches_walk_of_the_whole(
        records in sizes(),
        codec in 0usize..4,
        damage in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
        cut in proptest::option::of(any::<prop::sample::Index>()),
        extra in 0usize..3,
    ) {
        let codec = CODECS[codec];
        let mut builder = BatchBuilder::new(Codec::None);
        for (i, (key, value, headers)) in records.iter().enumerate() {
            let (key, value) = (key.map(|n| vec![i as u8; n]), value.map(|n| vec![7u8; n]));
            let headers = vec![(&b"name"[..], Some(&b"content"[..])); *headers];
            builder.append(NOW_MS + i as i64, key.as_deref(), value.as_deref(), &headers);
        }
        let plain = builder.build(Offset(0), LeaderEpoch::NONE);
        let mut payload = plain[BATCH_HEADER..].to_vec();
        if let Some((at, byte)) = damage {
            let at = at.index(payload.len());
            payload[at] = byte;
        }
        if let Some(cut) = cut {
            payload.truncate(cut.index(payload.len() + 1).max(1));
        }
        payload.extend(std::iter::repeat_n(0u8, extra));
        let bytes = with_payload(&plain, codec, &payload);
        let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
        let rules = compacted();
        let judge = Judge::new(batch.header(), &rules, NOW_MS);
        let mut inflated = Vec::new();
        decompress(codec, batch.payload(), usize::MAX - 1, &mut inflated).unwrap();
        let whole = judge.walk(&inflated);
        let mut room = Room::unlimited();
        let pieces = judge.walk_inflating(batch.payload(), codec, usize::MAX, &mut room);
        match (whole, pieces) {
            (Ok(whole), Ok(pieces)) => prop_assert_eq!(whole, pieces),
            (Err(whole), Err(pieces)) => {
                prop_assert_eq!(whole.code, pieces.code);
                prop_assert_eq!(whole.record_errors, pieces.record_errors);
            }
            (whole, pieces) => prop_assert!(false, "whole {whole:?}, pieces {pieces:?}"),
        }
    }

    #[test]
    fn damaged_payload_is_refused_piece_by_piece_as_it_is_whole(
        bytes in 1usize..200_000, codec in 0usize..4, cut in any::<prop::sample::Index>(),
    ) {
        let codec = CODECS[codec];
        let whole = zeros(codec, bytes);
        let payload = &whole[BATCH_HEADER..];
        let payload = &payload[..cut.index(payload.len())];
        let header = BatchHeader::parse(&whole).unwrap();
        let rules = compacted();
        let judge = Judge::new(&header, &rules, NOW_MS);
        let mut inflated = Vec::new();
        let is_whole_good = decompress(codec, payload, 1 << 30, &mut inflated).is_ok() && judge.walk(&inflated).is_ok();
        let is_good = judge.walk_inflating(payload, codec, usize::MAX, &mut Room::unlimited()).is_ok();
        prop_assert_eq!(is_whole_good, is_good);
    }
}
