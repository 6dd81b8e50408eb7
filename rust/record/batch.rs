//! A view of one whole batch, and the walk over several consecutive batches.
//!
//! A [`Batch`] always holds exactly its bytes and a valid header; only [`Batch::verify_crc`] checks its CRC.

use super::header::{ATTRIBUTES_AT, LENGTH_AT, MAGIC_AT, check_length_and_magic};
use super::{
    BATCH_HEADER, BatchError, BatchHeader, Codec, HEADER_TO_MAGIC, LOG_OVERHEAD, RecordIter, crc32c, decompress, legacy,
};

/// Exactly one whole batch.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    header: BatchHeader,
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Splits the first whole batch off `bytes`; `None` when `bytes` are shorter than the batch.
    #[inline]
    pub fn split_first(bytes: &'a [u8]) -> Result<Option<(Self, &'a [u8])>, BatchError> {
        let Some(size) = whole_batch_size(bytes)? else {
            return Ok(None);
        };
        let Some((bytes, rest)) = bytes.split_at_checked(size) else {
            return Ok(None);
        };
        Ok(Some((
            Self {
                header: BatchHeader::parse(bytes)?,
                bytes,
            },
            rest,
        )))
    }

    /// The decoded header.
    #[inline]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes after the header of a v2 batch: the records, compressed when the header names a codec. A message of
    /// magic 0 or 1 has no such bytes: its records are only in [`Self::records`].
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        if self.header.is_legacy() {
            return &[];
        }
        &self.bytes[BATCH_HEADER..]
    }

    /// Compares the stored checksum with that of the bytes.
    #[inline]
    pub fn verify_crc(&self) -> Result<(), BatchError> {
        let computed = if self.header.is_legacy() {
            legacy::crc_of(self.bytes)
        } else {
            crc32c(&self.bytes[ATTRIBUTES_AT..])
        };
        if computed == self.header.crc {
            return Ok(());
        }
        Err(BatchError::Crc {
            stored: self.header.crc,
            computed,
        })
    }

    /// The header; that of a wrapper message of magic 0 or 1 with the base offset, base timestamp, last offset delta
    /// and record count that only its messages tell. These are inflated into `scratch`, to at most `limit` bytes.
    pub fn full_header(&self, scratch: &mut Vec<u8>, limit: usize) -> Result<BatchHeader, BatchError> {
        if self.header.is_wrapper() {
            legacy::to_records(self.bytes, limit, scratch)
        } else {
            Ok(self.header)
        }
    }

    /// Iterates the records. A compressed payload is inflated into `scratch` first, to at most `limit` bytes. Messages
    /// of magic 0 and 1 are rewritten there as v2 records; the checksums of messages in a wrapper are checked.
    pub fn records<'s>(&self, scratch: &'s mut Vec<u8>, limit: usize) -> Result<RecordIter<'s>, BatchError>
    where
        'a: 's,
    {
        Ok(match self.unpack(scratch, limit)? {
            Some(header) => RecordIter::new(&header, scratch),
            None => RecordIter::new(&self.header, self.payload()),
        })
    }

    /// Writes over `scratch` what [`Self::records`] iterates when that is not the payload as it stands; its header.
    pub fn unpack(&self, scratch: &mut Vec<u8>, limit: usize) -> Result<Option<BatchHeader>, BatchError> {
        if self.header.is_legacy() {
            return legacy::to_records(self.bytes, limit, scratch).map(Some);
        }
        let codec = self.header.codec()?;
        if codec == Codec::None {
            return Ok(None);
        }
        scratch.clear();
        decompress(codec, self.payload(), limit, scratch)?;
        Ok(Some(self.header))
    }
}

/// The size of the batch at the front; `None` when `bytes` end before its length and magic.
#[inline]
fn whole_batch_size(bytes: &[u8]) -> Result<Option<usize>, BatchError> {
    let Some(head) = bytes.first_chunk::<HEADER_TO_MAGIC>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes([
        head[LENGTH_AT],
        head[LENGTH_AT + 1],
        head[LENGTH_AT + 2],
        head[LENGTH_AT + 3],
    ]);
    check_length_and_magic(length, head[MAGIC_AT] as i8)?;
    Ok(Some(LOG_OVERHEAD + length as usize))
}

/// The whole batches of a slice, in order. Ends at the first batch that is cut short, or after an error.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    rest: &'a [u8],
    has_failed: bool,
}

impl<'a> Batches<'a> {
    /// Walks `bytes` from its start.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            has_failed: false,
        }
    }

    /// The bytes not yet walked: after the end, the bytes of a batch that is cut short; after an error, the bad batch
    /// and all bytes behind it.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, BatchError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        match Batch::split_first(self.rest) {
            Ok(Some((batch, rest))) => {
                self.rest = rest;
                Some(Ok(batch))
            }
            Ok(None) => None,
            Err(error) => {
                self.has_failed = true;
                Some(Err(error))
            }
        }
    }
}
