//! Message sets of magic 0 and 1, as old producers send them and old logs have them.

use base::place::Offset;
use record::legacy::{DownConverter, Magic, convert_up};
use record::{Batches, Codec, Rules, TimestampType, compress, crc32};

use super::take::Take;

/// Bytes that a set may inflate to.
const LIMIT_BYTES: usize = 1 << 20;
const CODECS: [Codec; 4] = [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

/// A choice, and messages. In some cases the bytes get sizes and checksums here, and are packed as a wrapper.
pub fn legacy(data: &[u8]) {
    let mut take = Take(data);
    let (choice, codec) = (take.byte(), take.one(&CODECS));
    let magic = choice & 1;
    let mut set = Vec::new();
    if choice & 6 > 0 {
        while !take.0.is_empty() {
            let length = usize::from(take.byte());
            set.extend(sealed(magic, take.slice(length), choice & 8 > 0));
        }
    } else {
        set = take.0.to_vec();
    }
    if choice & 2 > 0 {
        set = wrapper(magic, codec, &set);
    }
    check(&set, if choice & 16 > 0 { Some((codec, 1)) } else { None });
}

/// One message of these bytes from the attributes on; `is_plain` takes their codec away.
fn sealed(magic: u8, content: &[u8], is_plain: bool) -> Vec<u8> {
    let mut covered = vec![magic];
    covered.extend(content);
    if is_plain && covered.len() > 1 {
        covered[1] &= !7;
    }
    let mut message = vec![0; 8];
    message.extend((covered.len() as i32 + 4).to_be_bytes());
    message.extend(crc32(&covered).to_be_bytes());
    message.extend(covered);
    message
}

fn wrapper(magic: u8, codec: Codec, set: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    assert_eq!(compress(codec, None, set, &mut value), Ok(()));
    let mut content = vec![codec.attribute_bits() as u8];
    if magic == 1 {
        content.extend(77_i64.to_be_bytes());
    }
    content.extend((-1_i32).to_be_bytes());
    content.extend((value.len() as i32).to_be_bytes());
    content.extend(value);
    sealed(magic, &content, false)
}

/// Timestamp, key and value.
type Row = (i64, Option<Vec<u8>>, Option<Vec<u8>>);

/// The records of whole batches of any magic; `None` when one cannot be read.
fn rows(bytes: &[u8]) -> Option<Vec<Row>> {
    let (mut rows, mut scratch) = (Vec::new(), Vec::new());
    for batch in Batches::new(bytes) {
        let batch = batch.ok()?;
        batch.verify_crc().ok()?;
        for record in batch.records(&mut scratch, LIMIT_BYTES).ok()? {
            let record = record.ok()?;
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            rows.push((record.timestamp, owned(record.key), owned(record.value)));
        }
        assert!(scratch.capacity() <= 8 * LIMIT_BYTES);
    }
    Some(rows)
}

fn check(set: &[u8], codec: Option<(Codec, i32)>) {
    let rules = Rules {
        codec,
        timestamp_type: TimestampType::CreateTime,
        inflate_limit: LIMIT_BYTES,
        ..Rules::default()
    };
    let read = rows(set);
    let Ok(Some(batch)) = convert_up(set, &rules) else {
        return;
    };
    let Some(converted) = rows(&batch) else {
        unreachable!("a set became a batch that cannot be read")
    };
    assert!(!converted.is_empty());
    if let Some(read) = read {
        assert_eq!(converted, read, "a set and the batch that it became");
    }
    let magic = Magic::V1;
    let mut down = Vec::new();
    for one in Batches::new(&batch).flatten() {
        if DownConverter::new(magic).push(&one, Offset(0), &mut down).is_err() {
            assert_eq!(one.header().codec(), Ok(Codec::Zstd));
            return;
        }
    }
    assert_eq!(rows(&down), Some(converted), "a batch and the messages that it became");
}
