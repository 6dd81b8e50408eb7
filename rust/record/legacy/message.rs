//! One message of magic 0 or 1: its grammar, its reading and its writing.
//!
//! ```text
//! set     := message*                  the last one may be cut short
//! message := offset i64            at  0  not covered by the CRC; of a wrapper: that of its last record
//!            size i32              at  8  bytes after this field
//!            crc u32               at 12  CRC-32 of everything from 16 to the end
//!            magic i8              at 16  0 or 1
//!            attributes i8         at 17  bits 0-2 codec, 3 timestamp type (magic 1)
//!            timestamp i64         at 18  magic 1 only
//!            key_length i32               -1: none
//!            key
//!            value_length i32             -1: none
//!            value
//! codec   := 0 none, 1 gzip, 2 snappy, 3 lz4
//! ```
//! A message with a codec is a wrapper: it has no key, and its value is a compressed set of messages without codec.
//! The offsets in that set are absolute in magic 0. In magic 1 they are relative: the last one of the set stands for
//! the wrapper's own offset. Kafka's lz4 frames in magic 0 have a wrong header checksum, see [`write_wrapper`].

use crate::header::{LENGTH_AT, LOG_APPEND_TIME_BIT, MAGIC_AT};
use crate::{BatchError, Codec, LOG_OVERHEAD, TimestampType, compress, crc32};

/// Bytes of the shortest batch of any format: a message of magic 0 with neither key nor value.
pub const LEAST_BATCH: usize = LOG_OVERHEAD + MIN_SIZE_V0 as usize;

/// The least `size` in magic 0.
pub(super) const MIN_SIZE_V0: i32 = 14;
/// The least `size` in magic 1.
pub(super) const MIN_SIZE_V1: i32 = 22;
pub(super) const CRC_AT: usize = 12;
pub(super) const ATTRIBUTES_AT: usize = 17;
pub(super) const TIMESTAMP_AT: usize = 18;
/// Timestamp of messages that have none.
pub(super) const NO_TIMESTAMP: i64 = -1;
/// Where an lz4 frame that this crate writes has the checksum of its header.
const LZ4_CHECKSUM_AT: usize = 6;
/// The second byte of the xxHash32 of the frame's first six bytes. The magic bytes should not be part of it, but are in
/// Kafka's lz4 frames of magic 0, and clients of that time refuse the right checksum.
const LZ4_CHECKSUM_V0: u8 = 0x1a;

/// An old format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Magic {
    /// Without timestamps.
    V0,
    /// With timestamps.
    V1,
}

impl Magic {
    /// Of a magic byte.
    pub const fn from_byte(magic: i8) -> Option<Self> {
        match magic {
            0 => Some(Self::V0),
            1 => Some(Self::V1),
            _ => None,
        }
    }

    /// The magic byte.
    pub const fn to_byte(self) -> i8 {
        self as i8
    }
}

/// A message, with its fields as they stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) offset: i64,
    pub(super) magic: Magic,
    pub(super) attributes: i8,
    /// −1 in magic 0.
    pub(super) timestamp: i64,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    /// From the offset on.
    pub(super) bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Splits the message that fills `bytes` to the last one; its length was checked before.
    pub(super) fn whole(bytes: &'a [u8], index: i32) -> Result<Self, BatchError> {
        Self::read(bytes).ok_or(BatchError::InvalidRecord {
            index,
            reason: "key and value do not fill the message",
        })
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        let offset = i64::from_be_bytes(take(&mut rest)?);
        let _size_and_crc: [u8; 8] = take(&mut rest)?;
        let [magic, attributes] = take(&mut rest)?;
        let magic = Magic::from_byte(magic as i8)?;
        let timestamp = match magic {
            Magic::V0 => NO_TIMESTAMP,
            Magic::V1 => i64::from_be_bytes(take(&mut rest)?),
        };
        let key = take_bytes(&mut rest).ok()?;
        let value = take_bytes(&mut rest).ok()?;
        rest.is_empty().then_some(Self {
            offset,
            magic,
            attributes: attributes as i8,
            timestamp,
            key,
            value,
            bytes,
        })
    }

    /// Compares the stored CRC with that of the bytes.
    pub(super) fn verify_crc(&self) -> Result<(), BatchError> {
        let mut stored = self.bytes.get(CRC_AT..).unwrap_or_default();
        let stored = take(&mut stored).map_or(0, u32::from_be_bytes);
        let computed = crc_of(self.bytes);
        if stored == computed {
            return Ok(());
        }
        Err(BatchError::Crc { stored, computed })
    }

    /// The codec of the value; zstd is younger than the format, and refused like ids without a codec.
    pub(super) fn codec(&self, index: i32) -> Result<Codec, BatchError> {
        match Codec::from_attributes(self.attributes.into()) {
            Some(codec) if codec != Codec::Zstd => Ok(codec),
            _ => Err(BatchError::InvalidRecord {
                index,
                reason: "messages of magic 0 and 1 have no such compression type",
            }),
        }
    }

    /// Whose clock the timestamp is of.
    pub(super) fn timestamp_type(&self) -> TimestampType {
        if self.magic == Magic::V1 && i16::from(self.attributes) & LOG_APPEND_TIME_BIT != 0 {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }
}

/// The CRC that belongs into a whole message.
pub fn crc_of(message: &[u8]) -> u32 {
    crc32(message.get(MAGIC_AT..).unwrap_or_default())
}

/// The first `N` bytes, taken off.
pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}

/// A length that is cut short or goes beyond the end of the bytes.
struct Cut;

/// Length and bytes; `None` for null. Kafka reads any negative length as null.
fn take_bytes<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Cut> {
    let length = take(rest).map(i32::from_be_bytes).ok_or(Cut)?;
    let Ok(length) = usize::try_from(length) else {
        return Ok(None);
    };
    let (bytes, after) = rest.split_at_checked(length).ok_or(Cut)?;
    *rest = after;
    Ok(Some(bytes))
}

/// The fields in front of key and value of a message to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) magic: Magic,
    pub(super) offset: i64,
    /// Left out in magic 0.
    pub(super) timestamp: i64,
    /// Left out in magic 0.
    pub(super) timestamp_type: TimestampType,
}

/// Appends a message without codec.
pub(super) fn write(head: Head, key: Option<&[u8]>, value: Option<&[u8]>, out: &mut Vec<u8>) {
    let start = open(head, Codec::None, key, out);
    write_bytes(value, out);
    close(start, out);
}

/// Appends a wrapper with the compressed set `inner`. After an error `out` is as it was.
pub(super) fn write_wrapper(head: Head, codec: Codec, inner: &[u8], out: &mut Vec<u8>) -> Result<(), BatchError> {
    let start = open(head, codec, None, out);
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    if let Err(error) = compress(codec, None, inner, out) {
        out.truncate(start);
        return Err(error);
    }
    let length = (out.len() - length_at - 4) as u32;
    patch(out, length_at, length);
    if codec == Codec::Lz4
        && head.magic == Magic::V0
        && let Some(checksum) = out.get_mut(length_at + 4 + LZ4_CHECKSUM_AT)
    {
        *checksum = LZ4_CHECKSUM_V0;
    }
    close(start, out);
    Ok(())
}

/// Appends everything up to and with the key; returns where the message starts.
fn open(head: Head, codec: Codec, key: Option<&[u8]>, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let mut attributes = codec.attribute_bits();
    if head.magic == Magic::V1 && head.timestamp_type == TimestampType::LogAppendTime {
        attributes |= LOG_APPEND_TIME_BIT;
    }
    out.extend_from_slice(&head.offset.to_be_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&[head.magic.to_byte() as u8, attributes as u8]);
    if head.magic == Magic::V1 {
        out.extend_from_slice(&head.timestamp.to_be_bytes());
    }
    write_bytes(key, out);
    start
}

/// Fills in size and CRC of the message that starts at `start` and ends with `out`.
fn close(start: usize, out: &mut [u8]) {
    let size = (out.len() - start - LOG_OVERHEAD) as u32;
    let crc = crc_of(out.get(start..).unwrap_or_default());
    patch(out, start + LENGTH_AT, size);
    patch(out, start + CRC_AT, crc);
}

fn patch(out: &mut [u8], at: usize, value: u32) {
    if let Some(field) = out.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

fn write_bytes(bytes: Option<&[u8]>, out: &mut Vec<u8>) {
    let length = bytes.map_or(-1, |bytes| bytes.len() as i32);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes.unwrap_or_default());
}
