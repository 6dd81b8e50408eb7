//! The module's parts together: what the builder writes, the views read; and the fast decoders against naive twins.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::varint::{read_varint, read_varlong, size_of_varint, size_of_varlong, write_varint, write_varlong};
use super::*;
use base::place::{LeaderEpoch, Offset};

mod naive;
mod views;

type Fields = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn records() -> impl Strategy<Value = Vec<Fields>> {
    let bytes = || vec(any::<u8>(), 0..200);
    let record = (
        any::<i32>().prop_map(i64::from),
        option::of(bytes()),
        option::of(bytes()),
        vec((bytes(), option::of(bytes())), 0..3),
    );
    vec(record, 1..20)
}

fn build(builder: BatchBuilder, records: &[Fields]) -> Vec<u8> {
    let mut builder = builder;
    for (timestamp, key, value, headers) in records {
        let headers: Vec<Header<'_>> = headers
            .iter()
            .map(|(key, value)| (&key[..], value.as_deref()))
            .collect();
        builder.append(*timestamp, key.as_deref(), value.as_deref(), &headers);
    }
    builder.build(Offset(100), LeaderEpoch(3))
}

fn codec() -> impl Strategy<Value = Codec> {
    prop::sample::select(vec![Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd])
}

proptest! {
    #[test]
    fn varint_matches_naive(bytes in vec(any::<u8>(), 0..12)) {
        let mut rest = &bytes[..];
        let read = read_varint(&mut rest).map(|value| (value, bytes.len() - rest.len()));
        let naive = naive::varint(&bytes, 5).map(|(raw, size)| (naive::unzigzag(raw & 0xffff_ffff) as i32, size));
        prop_assert_eq!(read, naive);
        let mut rest = &bytes[..];
        let read = read_varlong(&mut rest).map(|value| (value, bytes.len() - rest.len()));
        prop_assert_eq!(read, naive::varint(&bytes, 10).map(|(raw, size)| (naive::unzigzag(raw), size)));
    }

    #[test]
    fn varint_reads_what_was_written(value in any::<i64>(), shift in 0u32..64) {
        let value = value >> shift;
        let mut out = Vec::new();
        write_varlong(value, &mut out);
        prop_assert_eq!(out.len(), size_of_varlong(value));
        prop_assert_eq!(read_varlong(&mut &out[..]), Some(value));
        out.clear();
        write_varint(value as i32, &mut out);
        prop_assert_eq!(out.len(), size_of_varint(value as i32));
        prop_assert_eq!(read_varint(&mut &out[..]), Some(value as i32));
    }

    #[test]
    fn crc32c_matches_naive(bytes in vec(any::<u8>(), 0..3000), start in 0usize..40) {
        let bytes = &bytes[start.min(bytes.len())..];
        prop_assert_eq!(crc32c(bytes), naive::crc32c(bytes));
    }

    #[test]
    fn records_match_naive(records in records(), codec in codec()) {
        let bytes = build(BatchBuilder::new(codec), &records);
        let (batch, rest) = Batch::split_first(&bytes).unwrap().unwrap();
        prop_assert!(rest.is_empty());
        batch.verify_crc().unwrap();
        let mut scratch = Vec::new();
        let read: Vec<_> = batch.records(&mut scratch, 1 << 20).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), records.len());
        for (index, (record, fields)) in read.iter().zip(&records).enumerate() {
            prop_assert_eq!(record.offset, Offset(100 + index as i64));
            prop_assert_eq!(naive::fields(record), fields.clone());
        }
    }

    // A byte anywhere in the payload is changed, so that good, bad and unusual records all occur.
    #[test]
    fn damaged_records_match_naive(
        records in records(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = build(BatchBuilder::new(Codec::None), &records);
        let mut payload = bytes[BATCH_HEADER..].to_vec();
        let at = at.index(payload.len());
        payload[at] = byte;
        payload.truncate(payload.len() - cut.index(payload.len()) / 8);
        let header = BatchHeader::parse(&bytes).unwrap();
        let fields = RecordIter::new(&header, &payload).map(|record| record.map(|it| naive::fields(&it)));
        let fast: Result<Vec<_>, _> = fields.collect();
        let slow = naive::records(&payload, header.record_count, header.base_timestamp);
        prop_assert_eq!(fast.ok(), slow);
    }

    #[test]
    fn short_records_match_naive(payload in vec(0u8..12, 0..40), count in 0i32..4) {
        let bytes = build(BatchBuilder::new(Codec::None), &[(0, None, None, Vec::new())]);
        let mut header = BatchHeader::parse(&bytes).unwrap();
        header.record_count = count;
        let fields = RecordIter::new(&header, &payload).map(|record| record.map(|it| naive::fields(&it)));
        let fast: Result<Vec<_>, _> = fields.collect();
        prop_assert_eq!(fast.ok(), naive::records(&payload, count, 0));
    }

    #[test]
    fn no_decoder_panics_on_arbitrary_bytes(bytes in vec(any::<u8>(), 0..300), magic in any::<bool>()) {
        let mut bytes = bytes;
        if magic && bytes.len() > BATCH_HEADER {
            let length = (bytes.len() - LOG_OVERHEAD) as i32;
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            bytes[16] = 2;
        }
        let mut scratch = Vec::new();
        for batch in Batches::new(&bytes).flatten() {
            let _ = batch.verify_crc();
            let _ = ControlRecord::of_batch(&batch);
            if let Ok(records) = batch.records(&mut scratch, 10_000) {
                for record in records.flatten() {
                    record.headers.for_each(drop);
                }
            }
        }
        let _ = single_batch(&bytes, 9);
        let _ = validate(&bytes, &Rules::default(), Origin::Client, 0);
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            scratch.clear();
            let _ = decompress(codec, &bytes, 10_000, &mut scratch);
        }
    }

    #[test]
    fn no_decoder_panics_on_truncated_batches(
        records in records(),
        codec in codec(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = build(BatchBuilder::new(codec), &records);
        let bytes = &bytes[..cut.index(bytes.len())];
        prop_assert!(matches!(Batch::split_first(bytes), Ok(None)));
        prop_assert!(single_batch(bytes, 9).is_err());
        prop_assert!(validate(bytes, &Rules::default(), Origin::Client, 0).is_err());
    }
}
