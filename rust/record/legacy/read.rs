//! The records of a message or wrapper, rewritten in the grammar of v2 records, so that every reader of v2 records
//! reads old ones too.
//!
//! The offsets of a wrapper's messages:
//!
//! - (a) magic 0: absolute;
//! - (b) magic 1, the wrapper's offset is 0: as they stand, since some producers do not set the wrapper's offset;
//! - (c) magic 1: relative, the last one stands for the wrapper's offset. Compaction leaves gaps, and some producers
//!   count from another number than 0.
//!
//! Under `LogAppendTime` all records have the wrapper's timestamp.

use super::inner::inflate;
use super::message::{Magic, Message};
use crate::builder::write_record;
use crate::{BatchError, BatchHeader, Codec};
use base::place::Offset;

/// Writes the records of the message that fills `bytes` over `out`, where they stand as in the inflated payload of a v2
/// batch, and returns the header that belongs to them: the message's own, with the base offset, base timestamp, last
/// offset delta and record count that only a wrapper's messages tell. A wrapper inflates to at most `limit` bytes.
#[cold]
pub fn to_records(bytes: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<BatchHeader, BatchError> {
    let mut header = BatchHeader::parse(bytes)?;
    let message = Message::whole(bytes, 0)?;
    let codec = message.codec(0)?;
    out.clear();
    if codec == Codec::None {
        write_record(0, 0, message.key, message.value, std::iter::empty(), out);
        return Ok(header);
    }
    let mut inflated = Vec::new();
    let mut first: Option<Message<'_>> = None;
    let mut last_offset = 0;
    header.record_count = 0;
    for inner in inflate(&message, codec, limit, &mut inflated)? {
        let index = header.record_count;
        let inner = inner?;
        let first = first.get_or_insert(inner);
        let offset_delta = delta(first.offset, inner.offset, index)?;
        let timestamp_delta = inner.timestamp.wrapping_sub(first.timestamp);
        write_record(
            timestamp_delta,
            offset_delta,
            inner.key,
            inner.value,
            std::iter::empty(),
            out,
        );
        header.last_offset_delta = offset_delta;
        last_offset = inner.offset;
        header.record_count += 1;
    }
    let first = first.map_or((0, 0), |first| (first.offset, first.timestamp));
    header.base_offset = Offset(first_offset(&message, first.0, last_offset)?);
    header.base_timestamp = first.1;
    Ok(header)
}

fn delta(first: i64, offset: i64, index: i32) -> Result<i32, BatchError> {
    let delta = offset.checked_sub(first).map(i32::try_from);
    delta.and_then(Result::ok).ok_or(BatchError::InvalidRecord {
        index,
        reason: "its offset is too far from that of the first message",
    })
}

/// The offset in the log of a wrapper's first message.
pub(super) fn first_offset(wrapper: &Message<'_>, first: i64, last: i64) -> Result<i64, BatchError> {
    if wrapper.magic == Magic::V0 || wrapper.offset == 0 {
        return Ok(first); // (a), (b)
    }
    // (c)
    let base = (wrapper.offset >= last).then(|| wrapper.offset.checked_sub(last));
    base.flatten()
        .and_then(|base| base.checked_add(first))
        .ok_or(BatchError::InvalidRecord {
            index: 0,
            reason: "the offset of a compressed message is less than that of its last message",
        })
}
