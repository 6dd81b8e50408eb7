//! The messages within a wrapper: inflated once, as a whole, then walked one after another.
//!
//! Refused: a wrapper without value or without messages, a message in it that has a codec itself, bytes that are no
//! whole message, a wrong CRC. Kafka ignores a message that is cut short at the end of a wrapper and, when it only
//! reads, wrong CRCs in a wrapper; here both are an error, since the wrapper's own CRC says that nothing was lost.

use super::message::{Message, take};
use crate::header::LENGTH_AT;
use crate::{BatchError, Codec, LOG_OVERHEAD, decompress};

/// Inflates a wrapper's messages into `scratch`, to at most `limit` bytes.
pub(super) fn inflate<'s>(
    wrapper: &Message<'_>,
    codec: Codec,
    limit: usize,
    scratch: &'s mut Vec<u8>,
) -> Result<Inner<'s>, BatchError> {
    let invalid = |reason| BatchError::InvalidRecord { index: 0, reason };
    let set = wrapper.value.ok_or(invalid("a compressed message has no value"))?;
    scratch.clear();
    decompress(codec, set, limit, scratch)?;
    if scratch.is_empty() {
        return Err(invalid("a compressed message holds no messages"));
    }
    Ok(Inner {
        rest: scratch,
        index: 0,
    })
}

/// The messages of a wrapper, in order; ends after the first error.
pub(super) struct Inner<'s> {
    rest: &'s [u8],
    index: i32,
}

impl<'s> Inner<'s> {
    fn read(&mut self) -> Result<Message<'s>, BatchError> {
        let index = self.index;
        let invalid = |reason| BatchError::InvalidRecord { index, reason };
        let size = self.rest.get(LENGTH_AT..).and_then(|mut rest| take(&mut rest));
        let size = usize::try_from(size.map_or(-1, i32::from_be_bytes));
        let size = size.map_err(|_| invalid("its size is negative or cut short"))?;
        let (bytes, rest) = self
            .rest
            .split_at_checked(LOG_OVERHEAD.saturating_add(size))
            .ok_or(invalid("its size is more than the bytes that are left"))?;
        let message = Message::whole(bytes, index)?;
        if message.codec(index)? != Codec::None {
            return Err(invalid("a message within a compressed message is compressed itself"));
        }
        message.verify_crc()?;
        self.rest = rest;
        self.index += 1;
        Ok(message)
    }
}

impl<'s> Iterator for Inner<'s> {
    type Item = Result<Message<'s>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let message = self.read();
        if message.is_err() {
            self.rest = &[];
        }
        Some(message)
    }
}
