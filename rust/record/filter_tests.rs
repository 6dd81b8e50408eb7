//! A filtered batch has the offsets, the producer and the codec of the batch that it came from.

use proptest::prelude::*;

use super::{RecordFilter, Selector, empty_batch};
use crate::legacy::{DownConverter, Magic};
use crate::{Batch, BatchBuilder, BatchHeader, Batches, Codec, Record, TimestampType};
use base::place::{LeaderEpoch, Offset};

const LIMIT: usize = 1 << 24;
const CODECS: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

/// Offset, timestamp, key, value, names of headers.
type Row = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<String>);

fn rows(bytes: &[u8]) -> Vec<Row> {
    let (batch, rest) = Batch::split_first(bytes).unwrap().unwrap();
    assert!(rest.is_empty());
    batch.verify_crc().unwrap();
    let mut scratch = Vec::new();
    let records = batch.records(&mut scratch, LIMIT).unwrap().map(|it| {
        let it = it.unwrap();
        let names = it
            .headers
            .clone()
            .map(|(key, _)| String::from_utf8_lossy(key).into_owned());
        let (key, value) = (it.key.map(<[u8]>::to_vec), it.value.map(<[u8]>::to_vec));
        (it.offset.get(), it.timestamp, key, value, names.collect())
    });
    records.collect()
}

fn header(bytes: &[u8]) -> BatchHeader {
    BatchHeader::parse(bytes).unwrap()
}

/// A batch of an idempotent producer: key "k<i>", every third record a tombstone, timestamps that go back and forth.
fn batch_of(codec: Codec, count: usize, timestamp_type: TimestampType) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec)
        .producer(7, 2, 40)
        .timestamp_type(timestamp_type);
    for i in 0..count {
        let key = format!("k{i}");
        let value = (i % 3 != 0).then(|| vec![b'v'; i * 7]);
        let timestamp = 1_000 + if i % 2 == 0 { i as i64 } else { -(i as i64) };
        builder.append(
            timestamp,
            Some(key.as_bytes()),
            value.as_deref(),
            &[("h".as_bytes(), None)],
        );
    }
    builder.build(Offset(500), LeaderEpoch(3))
}

/// Selects the records whose offsets the function accepts.
struct ByOffset<F>(F);

impl<F: FnMut(i64) -> bool> Selector for ByOffset<F> {
    fn is_selected(&mut self, record: &Record<'_>) -> bool {
        self.0(record.offset.get())
    }
}

/// Keeps the records at which `keep` says so, by their place in the batch.
fn filtered(bytes: &[u8], keep: &[bool], new_horizon_ms: Option<i64>) -> (Vec<u8>, super::Selection) {
    let (batch, _) = Batch::split_first(bytes).unwrap().unwrap();
    let mut filter = RecordFilter::default();
    let selection = filter
        .select(
            &batch,
            LIMIT,
            ByOffset(|offset: i64| keep[(offset - batch.header().base_offset.get()) as usize]),
        )
        .unwrap();
    let mut out = b"before".to_vec();
    let written = filter.write(&batch, new_horizon_ms, &mut out).unwrap();
    let out = out.split_off(6);
    assert_eq!(written, header(&out));
    (out, selection)
}

/// The rows of the records at which `keep` says so.
fn kept_rows(bytes: &[u8], keep: &[bool]) -> Vec<Row> {
    let kept = rows(bytes).into_iter().zip(keep).filter(|(_, kept)| **kept);
    kept.map(|(row, _)| row).collect()
}

proptest! {
    #[test]
    fn filtered_batch_has_the_selected_records_as_they_were(
        keep in prop::collection::vec(any::<bool>(), 1..40),
        codec in 0..CODECS.len(),
        new_horizon_ms in prop::option::of(0..10_000_i64),
        is_append_time in any::<bool>(),
    ) {
        prop_assume!(keep.iter().any(|kept| *kept));
        let timestamp_type = if is_append_time { TimestampType::LogAppendTime } else { TimestampType::CreateTime };
        let whole = batch_of(CODECS[codec], keep.len(), timestamp_type);
        let (out, selection) = filtered(&whole, &keep, new_horizon_ms);
        let wanted = kept_rows(&whole, &keep);
        prop_assert_eq!(selection.selected as usize, wanted.len());
        prop_assert_eq!(selection.is_whole, wanted.len() == keep.len());
        prop_assert_eq!(selection.has_tombstone, wanted.iter().any(|row| row.3.is_none()));
        let (old, new) = (header(&whole), header(&out));
        let latest = wanted.iter().map(|row| row.1).max().unwrap_or(-1);
        prop_assert_eq!(rows(&out), wanted);
        prop_assert_eq!(new.delete_horizon_ms(), new_horizon_ms);
        prop_assert_eq!(new.max_timestamp, if is_append_time { old.max_timestamp } else { latest });
        prop_assert_eq!((new.base_offset, new.last_offset()), (old.base_offset, old.last_offset()));
        prop_assert_eq!((new.producer_id, new.producer_epoch, new.base_sequence), (7, 2, 40));
        prop_assert_eq!((new.partition_leader_epoch, new.codec().unwrap()), (LeaderEpoch(3), CODECS[codec]));
    }

    #[test]
    fn second_filter_keeps_the_delete_horizon(keep in prop::collection::vec(any::<bool>(), 2..20)) {
        prop_assume!(keep.iter().any(|kept| *kept));
        let whole = batch_of(Codec::Lz4, keep.len(), TimestampType::CreateTime);
        let (first, _) = filtered(&whole, &vec![true; keep.len()], Some(123_456));
        let (second, _) = filtered(&first, &keep, None);
        prop_assert_eq!(header(&second).delete_horizon_ms(), Some(123_456));
        let wanted = kept_rows(&whole, &keep);
        prop_assert_eq!(rows(&second), wanted);
    }
}

#[test]
fn empty_batch_keeps_offsets_producer_and_greatest_timestamp() {
    let whole = batch_of(Codec::Zstd, 5, TimestampType::CreateTime);
    let (with_horizon, _) = filtered(&whole, &[true; 5], Some(77));
    for bytes in [whole, with_horizon] {
        let old = header(&bytes);
        let (new, empty) = empty_batch(&old);
        assert_eq!(rows(&empty), []);
        assert_eq!(
            (new.base_offset, new.last_offset()),
            (old.base_offset, old.last_offset())
        );
        assert_eq!((new.producer_id, new.producer_epoch, new.base_sequence), (7, 2, 40));
        assert_eq!(
            (new.max_timestamp, new.base_timestamp, new.record_count),
            (old.max_timestamp, -1, 0)
        );
        assert_eq!((new.codec().unwrap(), new.delete_horizon_ms()), (Codec::None, None));
    }
}

#[test]
fn batch_with_a_wrong_record_count_is_an_error() {
    let whole = batch_of(Codec::None, 3, TimestampType::CreateTime);
    for declared in [-1_i32, 2, 4, i32::MAX] {
        let mut bytes = whole.clone();
        bytes[57..61].copy_from_slice(&declared.to_be_bytes());
        let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
        let selected = RecordFilter::default().select(&batch, LIMIT, ByOffset(|_| true));
        assert!(selected.is_err(), "{declared}");
    }
}

#[test]
fn old_message_keeps_its_magic_its_codec_and_its_offsets() {
    for magic in [Magic::V0, Magic::V1] {
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4] {
            for timestamp_type in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
                let new = batch_of(codec, 9, timestamp_type);
                let (batch, _) = Batch::split_first(&new).unwrap().unwrap();
                let mut set = Vec::new();
                DownConverter::new(magic).push(&batch, Offset(0), &mut set).unwrap();
                for message in Batches::new(&set) {
                    let message = message.unwrap();
                    let whole = rows(message.bytes());
                    let is_single = whole.len() == 1;
                    let keep = |offset: i64| is_single || offset % 3 == 1;
                    let mut filter = RecordFilter::default();
                    let selection = filter.select(&message, LIMIT, ByOffset(keep)).unwrap();
                    let wanted: Vec<Row> = whole.into_iter().filter(|row| keep(row.0)).collect();
                    assert_eq!(selection.selected as usize, wanted.len());
                    let mut out = Vec::new();
                    let header = filter.write(&message, None, &mut out).unwrap();
                    assert_eq!(rows(&out), wanted, "{magic:?} {codec:?}");
                    assert_eq!((header.magic, header.codec().unwrap()), (magic.to_byte(), codec));
                    assert_eq!(header.last_offset().get(), wanted.last().unwrap().0);
                }
            }
        }
    }
}

#[test]
fn empty_batch_in_the_place_of_an_old_message_is_of_magic_2() {
    let new = batch_of(Codec::None, 1, TimestampType::CreateTime);
    let (batch, _) = Batch::split_first(&new).unwrap().unwrap();
    let mut message = Vec::new();
    DownConverter::new(Magic::V1)
        .push(&batch, Offset(0), &mut message)
        .unwrap();
    let (empty, bytes) = empty_batch(&header(&message));
    assert_eq!((empty.magic, empty.record_count, rows(&bytes).len()), (2, 0, 0));
    assert_eq!((empty.base_offset, empty.next_offset()), (Offset(500), Offset(501)));
}
