//! Records of a payload that is inflated piece by piece: only a window of 64 KB is in memory, never the whole payload.
//!
//! A record that fits the window is read by the parser of whole payloads ([`RawRecord`]). A larger one is walked field
//! by field: its key, value and headers are counted and dropped. Both follow the same grammar (`record::record`), which
//! a property test holds against the walk over the whole payload.

use crate::compression::Source;
use crate::record::RawRecord;
use crate::{BatchError, Codec, read_varint, read_varlong};

/// Bytes of the window; larger than nearly every record.
const WINDOW_BYTES: usize = 64 * 1024;
/// Most bytes of a varint of 64 bits.
const MAX_VARINT: usize = 10;

/// The fields of a record that validation checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) timestamp_delta: i64,
    pub(super) offset_delta: i32,
    pub(super) has_key: bool,
}

/// Why the next record cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The payload is damaged or too large.
    Payload(BatchError),
    /// The record is against the grammar.
    Record(&'static str),
}

impl From<BatchError> for Fault {
    fn from(error: BatchError) -> Self {
        Self::Payload(error)
    }
}

const BAD_LENGTH: Fault = Fault::Record("its length is cut short or too long");
const TOO_LONG: Fault = Fault::Record("its length is negative or more than the bytes that are left");
const BAD_BODY: Fault = Fault::Record("its structure is invalid");

/// See the module.
pub(super) struct Window<'a> {
    source: Source<'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes inflated so far, and the most there may be.
    inflated: usize,
    limit: usize,
}

impl<'a> Window<'a> {
    pub(super) fn new(codec: Codec, payload: &'a [u8], limit: usize) -> Result<Self, BatchError> {
        Ok(Self {
            source: Source::new(codec, payload)?,
            buffer: vec![0; WINDOW_BYTES],
            start: 0,
            end: 0,
            inflated: 0,
            limit,
        })
    }

    /// Bytes inflated so far.
    pub(super) fn inflated(&self) -> usize {
        self.inflated
    }

    /// Inflates until the window holds `count` bytes (at most its size), or the payload ends.
    fn fill(&mut self, count: usize) -> Result<&[u8], BatchError> {
        if self.end - self.start < count {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            while self.end < count {
                let read = self.source.read(&mut self.buffer[self.end..])?;
                if read == 0 {
                    break;
                }
                self.end += read;
                self.inflated += read;
                if self.inflated > self.limit {
                    return Err(BatchError::InflateLimit { limit: self.limit });
                }
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Whether the payload has ended.
    pub(super) fn is_at_end(&mut self) -> Result<bool, BatchError> {
        Ok(self.fill(1)?.is_empty())
    }

    /// The next record.
    pub(super) fn record(&mut self) -> Result<Seen, Fault> {
        let mut front = self.fill(MAX_VARINT)?;
        let available = front.len();
        let length = read_varint(&mut front).ok_or(BAD_LENGTH)?;
        let prefix = available - front.len();
        let length = usize::try_from(length).map_err(|_| TOO_LONG)?;
        self.start += prefix;
        if length > WINDOW_BYTES {
            return self.large_record(length);
        }
        let window = self.fill(length)?;
        let mut body = window.get(..length).ok_or(TOO_LONG)?;
        let record = RawRecord::read_body(&mut body).ok_or(BAD_BODY)?;
        let seen = Seen {
            timestamp_delta: record.timestamp_delta,
            offset_delta: record.offset_delta,
            has_key: record.key.is_some(),
        };
        self.start += length;
        Ok(seen)
    }

    fn large_record(&mut self, length: usize) -> Result<Seen, Fault> {
        let mut left = length;
        self.skip(1, &mut left)?;
        let timestamp_delta = self.number(&mut left, read_varlong)?;
        let offset_delta = self.number(&mut left, read_varint)?;
        let has_key = self.skip_bytes(&mut left)?;
        self.skip_bytes(&mut left)?;
        let headers = self.number(&mut left, read_varint)?;
        let headers = usize::try_from(headers).map_err(|_| BAD_BODY)?;
        if headers > left / 2 {
            return Err(BAD_BODY);
        }
        for _ in 0..headers {
            if !self.skip_bytes(&mut left)? {
                return Err(BAD_BODY); // a header has a key
            }
            self.skip_bytes(&mut left)?;
        }
        if left > 0 {
            return Err(BAD_BODY);
        }
        Ok(Seen {
            timestamp_delta,
            offset_delta,
            has_key,
        })
    }

    /// A varint within the `left` bytes of the record.
    fn number<T>(&mut self, left: &mut usize, read: fn(&mut &[u8]) -> Option<T>) -> Result<T, Fault> {
        let front = self.fill(MAX_VARINT)?;
        let mut rest = &front[..front.len().min(*left)];
        let available = rest.len();
        let value = read(&mut rest).ok_or(BAD_BODY)?;
        let used = available - rest.len();
        self.start += used;
        *left -= used;
        Ok(value)
    }

    /// Length and bytes, which are dropped; false for null.
    fn skip_bytes(&mut self, left: &mut usize) -> Result<bool, Fault> {
        let length = self.number(left, read_varint)?;
        if length < 0 {
            return Ok(false);
        }
        self.skip(length as usize, left)?;
        Ok(true)
    }

    fn skip(&mut self, count: usize, left: &mut usize) -> Result<(), Fault> {
        if count > *left {
            return Err(BAD_BODY);
        }
        *left -= count;
        let mut count = count;
        while count > 0 {
            let step = self.fill(1)?.len().min(count);
            if step == 0 {
                return Err(TOO_LONG);
            }
            self.start += step;
            count -= step;
        }
        Ok(())
    }
}
