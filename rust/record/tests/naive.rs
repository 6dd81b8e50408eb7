//! Decoders written for plainness alone, to hold the fast ones against.

use super::Fields;
use crate::Record;

pub(super) fn varint(bytes: &[u8], max_bytes: usize) -> Option<(u64, usize)> {
    let mut value = 0u128;
    for index in 0..max_bytes {
        let byte = *bytes.get(index)?;
        value += u128::from(byte % 128) << (7 * index);
        if byte < 128 {
            return Some((value as u64, index + 1));
        }
    }
    None
}

pub(super) fn unzigzag(raw: u64) -> i64 {
    if raw.is_multiple_of(2) {
        (raw / 2) as i64
    } else {
        -1 - (raw / 2) as i64
    }
}

pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc % 2 == 1 { (crc / 2) ^ 0x82f6_3b78 } else { crc / 2 };
        }
    }
    !crc
}

pub(super) fn fields(record: &Record<'_>) -> Fields {
    let headers = record
        .headers
        .clone()
        .map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)))
        .collect();
    (
        record.timestamp,
        record.key.map(<[u8]>::to_vec),
        record.value.map(<[u8]>::to_vec),
        headers,
    )
}

/// All records of a payload, or none at all if anything is wrong.
pub(super) fn records(payload: &[u8], count: i32, base_timestamp: i64) -> Option<Vec<Fields>> {
    let mut reader = Reader { bytes: payload, at: 0 };
    let mut out = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(reader.int()?).ok()?;
        let end = reader.at.checked_add(length).filter(|&end| end <= payload.len())?;
        let mut body = Reader {
            bytes: &payload[..end],
            at: reader.at,
        };
        body.take(1)?;
        let timestamp = base_timestamp.wrapping_add(body.long()?);
        body.int()?;
        let (key, value) = (body.nullable()?, body.nullable()?);
        let mut headers = Vec::new();
        for _ in 0..u32::try_from(body.int()?).ok()? {
            headers.push((body.nullable()??, body.nullable()?));
        }
        if body.at != end {
            return None;
        }
        reader.at = end;
        out.push((timestamp, key, value, headers));
    }
    (reader.at == payload.len()).then_some(out)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[expect(
    clippy::option_option,
    reason = "a test's shorthand: the outer one is a cut, the inner one null"
)]
impl Reader<'_> {
    fn take(&mut self, size: usize) -> Option<Vec<u8>> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(size)?)?.to_vec();
        self.at += size;
        Some(bytes)
    }

    fn int(&mut self) -> Option<i32> {
        let (raw, size) = varint(&self.bytes[self.at..], 5)?;
        self.at += size;
        Some(unzigzag(raw & 0xffff_ffff) as i32)
    }

    fn long(&mut self) -> Option<i64> {
        let (raw, size) = varint(&self.bytes[self.at..], 10)?;
        self.at += size;
        Some(unzigzag(raw))
    }

    fn nullable(&mut self) -> Option<Option<Vec<u8>>> {
        let length = self.int()?;
        if length < 0 {
            return Some(None);
        }
        self.take(length as usize).map(Some)
    }
}
