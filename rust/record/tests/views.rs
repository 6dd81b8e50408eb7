//! Header, batch view, rewriting, builder and control records by example.

use crate::*;
use base::place::{LeaderEpoch, Offset};

fn sample(codec: Codec) -> Vec<u8> {
    let mut builder = BatchBuilder::new(codec).producer(9, 1, 5).transactional(true);
    builder.append(1000, Some(b"k"), Some(b"v"), &[(b"h", Some(b"1")), (b"n", None)]);
    builder.append(1005, None, None, &[]);
    builder.build(Offset(40), LeaderEpoch(2))
}

fn first(bytes: &[u8]) -> Batch<'_> {
    Batch::split_first(bytes).unwrap().unwrap().0
}

#[test]
fn header_reads_every_field_where_kafka_puts_it() {
    let mut bytes = [0u8; BATCH_HEADER];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = index as u8;
    }
    bytes[16] = 2;
    let header = BatchHeader::parse(&bytes).unwrap();
    assert_eq!(header.base_offset, Offset(0x0001_0203_0405_0607));
    assert_eq!(header.batch_length, 0x0809_0a0b);
    assert_eq!(header.partition_leader_epoch, LeaderEpoch(0x0c0d_0e0f));
    assert_eq!(header.crc, 0x1112_1314);
    assert_eq!(header.attributes, 0x1516);
    assert_eq!(header.last_offset_delta, 0x1718_191a);
    assert_eq!(header.base_timestamp, 0x1b1c_1d1e_1f20_2122);
    assert_eq!(header.max_timestamp, 0x2324_2526_2728_292a);
    assert_eq!(header.producer_id, 0x2b2c_2d2e_2f30_3132);
    assert_eq!(header.producer_epoch, 0x3334);
    assert_eq!(header.base_sequence, 0x3536_3738);
    assert_eq!(header.record_count, 0x393a_3b3c);
    let mut written = [0u8; BATCH_HEADER];
    header.write(&mut written);
    assert_eq!(written, bytes);
}

#[test]
fn header_flags_are_single_bits() {
    let mut header = *first(&sample(Codec::Lz4)).header();
    assert_eq!(header.codec(), Ok(Codec::Lz4));
    assert!(
        header.is_transactional() && header.is_idempotent() && !header.is_control() && !header.has_delete_horizon()
    );
    header.attributes = 0x08 | 0x20 | 0x40 | 7;
    assert_eq!(header.codec(), Err(BatchError::UnknownCodec(7)));
    assert!(header.is_control() && header.has_delete_horizon() && !header.is_transactional());
    assert_eq!(header.timestamp_type(), TimestampType::LogAppendTime);
}

#[test]
fn header_offsets_and_sequences_follow_from_the_deltas() {
    let mut header = *first(&sample(Codec::None)).header();
    assert_eq!(
        (header.last_offset(), header.next_offset(), header.last_sequence()),
        (Offset(41), Offset(42), 6)
    );
    header.base_sequence = i32::MAX;
    assert_eq!(header.last_sequence(), 0);
    header.base_sequence = -1;
    assert_eq!(header.last_sequence(), -1);
}

#[test]
fn header_of_other_magic_or_impossible_length_is_refused() {
    let good = sample(Codec::None);
    for magic in [3u8, 4, 255] {
        let mut bytes = good.clone();
        bytes[16] = magic;
        assert_eq!(
            BatchHeader::parse(&bytes),
            Err(BatchError::UnsupportedMagic(magic as i8))
        );
        assert!(matches!(
            Batch::split_first(&bytes),
            Err(BatchError::UnsupportedMagic(_))
        ));
    }
    for length in [i32::MIN, -1, 0, 13, 48] {
        let mut bytes = good.clone();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        assert!(
            matches!(BatchHeader::parse(&bytes), Err(BatchError::InvalidSize { .. })),
            "{length}"
        );
    }
    assert_eq!(
        BatchHeader::parse(&good[..60]),
        Err(BatchError::TooShort {
            needed: 61,
            available: 60
        })
    );
}

#[test]
fn batches_walks_whole_batches_and_leaves_the_cut_one() {
    let one = sample(Codec::None);
    let bytes = [&one[..], &one[..], &one[..30]].concat();
    let mut batches = Batches::new(&bytes);
    assert_eq!(
        batches
            .by_ref()
            .map(|batch| batch.unwrap().bytes().len())
            .sum::<usize>(),
        2 * one.len()
    );
    assert_eq!(batches.rest().len(), 30);
}

#[test]
fn batches_stops_after_the_first_error() {
    let one = sample(Codec::None);
    let bytes = [&one[..], &[0u8; 80][..]].concat();
    let mut batches = Batches::new(&bytes);
    assert!(batches.next().unwrap().is_ok());
    assert!(batches.next().unwrap().is_err());
    assert!(batches.next().is_none());
    assert_eq!(batches.rest().len(), 80);
}

#[test]
fn crc_covers_everything_from_the_attributes_on() {
    let good = sample(Codec::None);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        let Ok(Some((batch, _))) = Batch::split_first(&bytes) else {
            continue;
        };
        let is_outside = at < 8 || (12..16).contains(&at);
        assert_eq!(batch.verify_crc().is_ok(), is_outside, "byte {at}");
    }
}

#[test]
fn crc32c_has_the_catalogue_check_value() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(b""), 0);
}

#[test]
fn set_offset_and_epoch_keeps_the_crc() {
    let mut bytes = sample(Codec::Zstd);
    set_offset_and_epoch(&mut bytes, Offset(1 << 40), LeaderEpoch(77));
    let batch = first(&bytes);
    batch.verify_crc().unwrap();
    assert_eq!(
        (batch.header().base_offset, batch.header().partition_leader_epoch.get()),
        (Offset(1 << 40), 77)
    );
}

#[test]
fn log_append_time_rules_every_record() {
    let mut bytes = sample(Codec::None);
    set_log_append_time(&mut bytes, 5_000);
    let batch = first(&bytes);
    batch.verify_crc().unwrap();
    let mut scratch = Vec::new();
    let times: Vec<_> = batch
        .records(&mut scratch, 0)
        .unwrap()
        .map(|record| record.unwrap().timestamp)
        .collect();
    assert_eq!(times, [5_000, 5_000]);
    assert_eq!(batch.header().max_timestamp, 5_000);
}

#[test]
fn set_max_timestamp_leaves_a_batch_alone_that_stands_so() {
    let mut bytes = sample(Codec::None);
    bytes[17] ^= 1;
    let before = bytes.clone();
    set_max_timestamp(&mut bytes, TimestampType::CreateTime, 1005);
    assert_eq!(bytes, before, "no CRC is computed when nothing changes");
}

#[test]
fn builder_keeps_gaps_between_offsets() {
    let mut builder = BatchBuilder::new(Codec::None);
    for delta in [3, 9] {
        builder.append_at(delta, 1, None, Some(b"v"), [].into_iter());
    }
    let bytes = builder.build(Offset(100), LeaderEpoch(0));
    let batch = first(&bytes);
    let mut scratch = Vec::new();
    let offsets: Vec<_> = batch
        .records(&mut scratch, 0)
        .unwrap()
        .map(|record| record.unwrap().offset)
        .collect();
    assert_eq!(offsets, [Offset(103), Offset(109)]);
    assert_eq!(
        (batch.header().last_offset(), batch.header().record_count),
        (Offset(109), 2)
    );
}

#[test]
fn records_refuses_a_payload_beyond_the_limit() {
    let bytes = sample(Codec::Gzip);
    let mut scratch = Vec::new();
    assert_eq!(
        first(&bytes).records(&mut scratch, 5).err(),
        Some(BatchError::InflateLimit { limit: 5 })
    );
}

#[test]
fn a_wrong_record_count_is_an_error() {
    for (count, is_good) in [(2, true), (1, false), (3, false), (-1, false), (0, false)] {
        let bytes = sample(Codec::None);
        let mut header = *first(&bytes).header();
        header.record_count = count;
        let read: Result<Vec<_>, _> = super::super::RecordIter::new(&header, &bytes[BATCH_HEADER..]).collect();
        assert_eq!(read.is_ok(), is_good, "{count}");
    }
}

#[test]
fn a_transaction_marker_is_what_kafka_writes() {
    let bytes = end_transaction_marker(true, 5, 2, 3, 1234);
    let batch = first(&bytes);
    batch.verify_crc().unwrap();
    let header = batch.header();
    assert!(header.is_control() && header.is_transactional());
    assert_eq!(
        (
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.record_count
        ),
        (5, 2, -1, 1)
    );
    assert_eq!(batch.payload(), [32, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0, 0, 0, 0, 3, 0]);
    let control = ControlRecord::of_batch(&batch).unwrap().unwrap();
    assert_eq!(
        control,
        ControlRecord {
            control_type: ControlType::Commit,
            coordinator_epoch: 3
        }
    );
}

#[test]
fn control_keys_of_other_types_are_passed_over_and_bad_ones_refused() {
    assert_eq!(ControlType::parse_key(&[0, 0, 0, 0]), Ok(ControlType::Abort));
    assert_eq!(ControlType::parse_key(&[0, 9, 0, 1, 99]), Ok(ControlType::Commit));
    assert_eq!(
        ControlRecord::parse(Some(&[0, 0, 0, 2]), None).map(|it| it.control_type),
        Ok(ControlType::Other(2))
    );
    assert!(ControlType::parse_key(&[0, 0, 0]).is_err());
    assert!(ControlType::parse_key(&[0xff, 0xff, 0, 1]).is_err());
    assert!(ControlRecord::parse(Some(&[0, 0, 0, 1]), Some(&[0, 0, 0])).is_err());
    assert_eq!(ControlRecord::of_batch(&first(&sample(Codec::None))), Ok(None));
}
