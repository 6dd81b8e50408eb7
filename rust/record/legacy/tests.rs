//! The old formats by example, against the naive twin, and damaged.

mod converting;
mod damaged;
mod naive;
mod reading;

use proptest::collection::vec;
use proptest::prelude::*;

use self::naive::Fields;
use crate::{Batch, Codec};

const CODECS: [Codec; 4] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4];

fn only(bytes: &[u8]) -> Batch<'_> {
    let (batch, rest) = Batch::split_first(bytes).unwrap().unwrap();
    assert_eq!(rest, b"");
    batch
}

fn fields(offset: i64, timestamp: i64, key: &str, value: &str) -> Fields {
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    (offset, timestamp, bytes(key), bytes(value))
}

fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![1 => Just(None), 4 => vec(any::<u8>(), 0..20).prop_map(Some), 1 => vec(0u8..3, 0..4000).prop_map(Some)]
}

/// Records with ascending offsets, with gaps when `gap` is above 1.
fn records(gap: i64) -> impl Strategy<Value = Vec<Fields>> {
    vec((1..=gap, 0i64..1 << 41, bytes(), bytes()), 1..12).prop_map(|rows| {
        let mut offset = 99;
        let record = |(step, timestamp, key, value)| {
            offset += step;
            (offset, timestamp, key, value)
        };
        rows.into_iter().map(record).collect()
    })
}

fn codec() -> impl Strategy<Value = Codec> {
    prop::sample::select(&CODECS[..])
}
