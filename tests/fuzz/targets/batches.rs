//! Record batches, as a client sends them and as a log has them.

use base::place::{LeaderEpoch, Offset};
use record::{
    BATCH_HEADER, Batch, Batches, Codec, Origin, Record, Room, Rules, TimestampType, Validated, assign, crc32c,
    validate, validate_within,
};

use super::take::Take;

const NOW_MS: i64 = 1_700_000_000_000;
/// Bytes that a payload may inflate to.
const LIMIT_BYTES: usize = 1 << 20;
const CODECS: [Option<(Codec, i32)>; 6] = [
    None,
    None,
    Some((Codec::None, 0)),
    Some((Codec::Gzip, 1)),
    Some((Codec::Lz4, 0)),
    Some((Codec::Zstd, 1)),
];
const LENGTH_AT: usize = 8;
const MAGIC_AT: usize = 16;
const CRC_AT: usize = 17;
const ATTRIBUTES_AT: usize = 21;

/// Two bytes of rules, then batches. The first batch gets its length and checksum here in three of four cases: no
/// fuzzer guesses a CRC.
pub fn batches(data: &[u8]) {
    let mut take = Take(data);
    let (choice, codec) = (take.byte(), take.one(&CODECS));
    let mut bytes = take.0.to_vec();
    if choice & 3 > 0 {
        seal(&mut bytes);
    }
    walk(&bytes);
    let rules = Rules {
        codec,
        compacted: choice & 4 > 0,
        inflate_to_validate: choice & 8 > 0,
        timestamp_type: if choice & 16 > 0 {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        },
        timestamp_before_max_ms: if choice & 32 > 0 { 1 << 40 } else { i64::MAX },
        timestamp_after_max_ms: if choice & 64 > 0 { 1 << 40 } else { i64::MAX },
        inflate_limit: LIMIT_BYTES,
        ..Rules::default()
    };
    let judged = validate(&bytes, &rules, Origin::Client, NOW_MS);
    for mut room in [Room::here(4096), Room::little(100), Room::of_request(LIMIT_BYTES)] {
        if let Ok(Some(within)) = validate_within(&bytes, &rules, Origin::Client, NOW_MS, &mut room) {
            assert_eq!(Ok(within), judged, "less room changes no verdict");
        }
    }
    if let Ok(validated) = judged {
        check(&bytes, &validated, &rules);
    }
}

/// Makes the bytes one batch of magic 2 from offset 0 on.
fn seal(bytes: &mut [u8]) {
    if bytes.len() < BATCH_HEADER {
        return;
    }
    let length = (bytes.len() - LENGTH_AT - 4) as i32;
    bytes[..LENGTH_AT].fill(0);
    bytes[LENGTH_AT..LENGTH_AT + 4].copy_from_slice(&length.to_be_bytes());
    bytes[MAGIC_AT] = 2;
    let crc = crc32c(&bytes[ATTRIBUTES_AT..]);
    bytes[CRC_AT..ATTRIBUTES_AT].copy_from_slice(&crc.to_be_bytes());
}

/// Reads every batch as a reader of the log does.
fn walk(bytes: &[u8]) {
    let mut walked = 0;
    let mut scratch = Vec::new();
    let mut batches = Batches::new(bytes);
    for batch in batches.by_ref().flatten() {
        walked += batch.bytes().len();
        let header = batch.header();
        assert_eq!(header.size_bytes(), batch.bytes().len());
        if !header.is_legacy() {
            let mut written = [0; BATCH_HEADER];
            header.write(&mut written);
            assert_eq!(written[..], batch.bytes()[..BATCH_HEADER]);
        }
        let Ok(records) = batch.records(&mut scratch, LIMIT_BYTES) else {
            continue;
        };
        let most = records.clone().count();
        let good = records.map_while(Result::ok).count();
        assert!(most <= good + 1, "records go on behind an error");
    }
    assert_eq!(walked + batches.rest().len(), bytes.len());
}

fn read<'s>(batch: &Batch<'s>, scratch: &'s mut Vec<u8>) -> Option<Vec<Record<'s>>> {
    batch.records(scratch, LIMIT_BYTES).ok()?.collect::<Result<_, _>>().ok()
}

/// What a batch that was taken looks like in the log.
fn check(sent: &[u8], validated: &Validated, rules: &Rules) {
    let (bytes, max_timestamp) = match validated {
        Validated::InPlace { max_timestamp, .. } => (sent, *max_timestamp),
        Validated::Rewritten {
            bytes, max_timestamp, ..
        } => (&bytes[..], *max_timestamp),
    };
    let is_rewritten = matches!(validated, Validated::Rewritten { .. });
    let batch = only(bytes);
    assert_eq!(batch.verify_crc(), Ok(()));
    let header = batch.header();
    assert_eq!(header, validated.header());
    assert!(header.record_count > 0 && header.last_offset_delta == header.record_count - 1 && !header.is_control());
    if let Some((target, _)) = rules.codec {
        assert_eq!(header.codec(), Ok(target));
    }
    let is_inflated = rules.inflate_to_validate || rules.compacted || rules.timestamp_before_max_ms != i64::MAX;
    let is_plain = header.codec() == Ok(Codec::None);
    if !(is_plain || is_rewritten || is_inflated && rules.timestamp_type == TimestampType::CreateTime) {
        return;
    }
    let mut scratch = Vec::new();
    let Some(records) = read(&batch, &mut scratch) else {
        unreachable!("a batch was taken whose records cannot be read")
    };
    assert_eq!(records.len(), header.record_count as usize);
    assert!(!rules.compacted || records.iter().all(|record| record.key.is_some()));
    if is_rewritten || !is_plain {
        assert!(
            records
                .iter()
                .map(|record| record.offset.get())
                .eq(0..records.len() as i64)
        );
    }
    if rules.timestamp_type == TimestampType::CreateTime {
        // −1, no timestamp, when all of them are before 1970, as in Kafka
        let greatest = records
            .iter()
            .fold(-1, |greatest, record| greatest.max(record.timestamp));
        assert_eq!(greatest, max_timestamp);
    }
    if is_rewritten {
        let mut scratch = Vec::new();
        let Some(before) = read(&only(sent), &mut scratch) else {
            unreachable!("a batch was rewritten whose records cannot be read")
        };
        let content = |records: &[Record<'_>]| -> Vec<_> {
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            let one = |record: &Record<'_>| {
                let headers: Vec<_> = record
                    .headers
                    .clone()
                    .map(|(key, value)| (key.to_vec(), owned(value)))
                    .collect();
                (owned(record.key), owned(record.value), headers)
            };
            records.iter().map(one).collect()
        };
        assert_eq!(content(&before), content(&records));
    }
    appended(bytes, rules, max_timestamp);
}

/// The batch with its place in the log: only offset, epoch and timestamps change, and the checksum holds.
fn appended(bytes: &[u8], rules: &Rules, max_timestamp: i64) {
    let mut placed = bytes.to_vec();
    let offset = Offset(1 << 40);
    assign(&mut placed, offset, LeaderEpoch(7), rules.timestamp_type, max_timestamp);
    let batch = only(&placed);
    assert_eq!(batch.verify_crc(), Ok(()));
    assert_eq!(
        (batch.header().base_offset, batch.header().timestamp_type()),
        (offset, rules.timestamp_type)
    );
    assert_eq!(batch.payload(), only(bytes).payload());
}

fn only(bytes: &[u8]) -> Batch<'_> {
    match Batch::split_first(bytes) {
        Ok(Some((batch, []))) => batch,
        other => unreachable!("one batch was taken, and it is {other:?}"),
    }
}
