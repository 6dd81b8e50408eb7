//! The old formats written and read for plainness alone.

use crate::{Batch, Batches, Codec, compress, decompress};

/// Offset, timestamp, key and value of a record.
pub(super) type Fields = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>);

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc % 2 == 1 { (crc / 2) ^ 0xedb8_8320 } else { crc / 2 };
        }
    }
    !crc
}

/// A message whose bytes are all given.
pub(super) fn message(magic: u8, attributes: u8, fields: &Fields) -> Vec<u8> {
    let (offset, timestamp, key, value) = fields;
    let mut covered = vec![magic, attributes];
    if magic == 1 {
        covered.extend(timestamp.to_be_bytes());
    }
    for bytes in [key, value] {
        match bytes {
            None => covered.extend((-1i32).to_be_bytes()),
            Some(bytes) => {
                covered.extend((bytes.len() as i32).to_be_bytes());
                covered.extend(bytes);
            }
        }
    }
    let mut message = offset.to_be_bytes().to_vec();
    message.extend((covered.len() as i32 + 4).to_be_bytes());
    message.extend(crc32(&covered).to_be_bytes());
    message.extend(covered);
    message
}

/// A wrapper around messages whose offsets are as given.
pub(super) fn wrapper(magic: u8, codec: Codec, offset: i64, timestamp: i64, inner: &[Fields]) -> Vec<u8> {
    let set: Vec<u8> = inner.iter().flat_map(|fields| message(magic, 0, fields)).collect();
    wrapper_of(magic, codec as u8, offset, timestamp, &set)
}

/// A wrapper around a set of any bytes.
pub(super) fn wrapper_of(magic: u8, attributes: u8, offset: i64, timestamp: i64, set: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    compress(
        Codec::from_attributes(attributes.into()).unwrap(),
        None,
        set,
        &mut value,
    )
    .unwrap();
    message(magic, attributes, &(offset, timestamp, None, Some(value)))
}

/// The records of a set of messages, each of which is whole and good.
pub(super) fn read(mut set: &[u8]) -> Vec<Fields> {
    let mut records = Vec::new();
    while !set.is_empty() {
        let size = i32::from_be_bytes(set[8..12].try_into().unwrap()) as usize;
        let (message, rest) = set.split_at(12 + size);
        set = rest;
        assert_eq!(
            u32::from_be_bytes(message[12..16].try_into().unwrap()),
            crc32(&message[16..])
        );
        let offset = i64::from_be_bytes(message[..8].try_into().unwrap());
        let (magic, attributes) = (message[16], message[17]);
        let (mut at, mut timestamp) = (18, -1);
        if magic == 1 {
            timestamp = i64::from_be_bytes(message[18..26].try_into().unwrap());
            at = 26;
        }
        let mut bytes = || {
            let length = i32::from_be_bytes(message[at..at + 4].try_into().unwrap());
            at += 4;
            (length >= 0).then(|| {
                at += length as usize;
                message[at - length as usize..at].to_vec()
            })
        };
        let (key, value) = (bytes(), bytes());
        assert_eq!(at, message.len());
        if attributes % 8 == 0 {
            records.push((offset, timestamp, key, value));
            continue;
        }
        let mut inner = Vec::new();
        let codec = Codec::from_attributes(attributes.into()).unwrap();
        decompress(codec, &value.unwrap(), usize::MAX, &mut inner).unwrap();
        let mut inner = read(&inner);
        let last = inner.last().unwrap().0;
        for record in &mut inner {
            if magic == 1 && offset != 0 {
                record.0 += offset - last;
            }
            if attributes & 8 != 0 {
                record.1 = timestamp;
            }
        }
        records.extend(inner);
    }
    records
}

/// The records of batches of any magic, as the crate reads them.
pub(super) fn records(batches: &[u8]) -> Vec<Fields> {
    Batches::new(batches)
        .flat_map(|batch| records_of(&batch.unwrap()))
        .collect()
}

/// The records of one batch.
pub(super) fn records_of(batch: &Batch<'_>) -> Vec<Fields> {
    batch.verify_crc().unwrap();
    let mut scratch = Vec::new();
    let records = batch.records(&mut scratch, 1 << 24).unwrap();
    let fields = records.map(|record| {
        let record = record.unwrap();
        assert!(record.headers.is_empty());
        let bytes = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        (
            record.offset.get(),
            record.timestamp,
            bytes(record.key),
            bytes(record.value),
        )
    });
    fields.collect()
}
