//! A producer's message set of magic 0 or 1 becomes one v2 batch, which is then validated and appended as any other.
//!
//! | what is wrong | code |
//! |---|---|
//! | (a) a size below the minimum, a magic that does not exist, a wrong CRC | `CORRUPT_MESSAGE` |
//! | (b) a message of more than `max.message.bytes` | `MESSAGE_TOO_LARGE` |
//! | (c) messages of more than one magic, in the set or in a wrapper; magic 2 | `INVALID_RECORD` |
//! | (d) a wrapper that is empty, nested, cut short, or has zstd or an unknown codec | `INVALID_RECORD` |
//! | (e) a wrapper that cannot be inflated | `UNKNOWN_SERVER_ERROR` |
//! | (f) a set that inflates beyond the limit | `MESSAGE_TOO_LARGE` |
//! | (g) `LogAppendTime` set by the producer, unless the topic has its timestamps checked | `INVALID_TIMESTAMP` |
//!
//! Keys and timestamps are not checked here but by [`super::super::validate`], which gets the batch.
//!
//! A deliberate difference from Kafka: a set may hold several wrappers, as it could before 0.11.

use super::inner::inflate;
use super::message::{Magic, Message, NO_TIMESTAMP};
use super::read::first_offset;
use crate::{Batch, BatchBuilder, BatchError, Codec, Rejection, Rules, TimestampType};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};

/// Converts a message set to one v2 batch with base offset 0, without producer and leader epoch.
///
/// The batch has the topic's codec, or that of the set's last wrapper when the topic keeps the producer's; timestamps
/// are −1 for magic 0. A message that is cut short at the set's end is left out. `None` when no whole message is there:
/// Kafka answers such a set without an error, and appends nothing.
///
/// Up to [`Rules::inflate_limit`] inflated bytes are in memory, and once more as records of the batch.
#[cold]
pub fn convert_up(set: &[u8], rules: &Rules) -> Result<Option<Vec<u8>>, Rejection> {
    let mut messages = Vec::new();
    let mut rest = set;
    let mut producers_codec = Codec::None;
    while let Some((batch, after)) = Batch::split_first(rest)? {
        let message = check_message(&batch, rules)?;
        let first: &Message<'_> = messages.first().unwrap_or(&message);
        if first.magic != message.magic {
            return Err(other_magic(message.magic, first.magic)); // (c)
        }
        let codec = message.codec(0)?;
        if codec != Codec::None {
            producers_codec = codec;
        }
        messages.push(message);
        rest = after;
    }
    if messages.is_empty() {
        return Ok(None);
    }
    let (codec, level) = rules.codec.map_or((producers_codec, None), |it| (it.0, Some(it.1)));
    let mut builder = BatchBuilder::new(codec).level(level);
    let mut scratch = Vec::new();
    for message in &messages {
        add(message, rules, &mut builder, &mut scratch)?;
    }
    Ok(Some(builder.build(Offset(0), LeaderEpoch::NONE)))
}

/// (a) to (c) for one message of the set, as far as its header shows.
fn check_message<'a>(batch: &Batch<'a>, rules: &Rules) -> Result<Message<'a>, Rejection> {
    let header = batch.header();
    if !header.is_legacy() {
        let message = "A record batch of magic 2 stands among messages of magic 0 or 1";
        return Err(Rejection::new(ErrorCode::INVALID_RECORD, message));
    }
    let (size, limit) = (header.size_bytes(), rules.max_message_bytes);
    if size > limit as usize {
        return Err(Rejection::new(
            ErrorCode::MESSAGE_TOO_LARGE,
            format!(
                "The record batch size in the append is {size} bytes which exceeds the maximum configured value of \
                 {limit}."
            ),
        ));
    }
    batch.verify_crc()?;
    Ok(Message::whole(batch.bytes(), 0)?)
}

/// Adds the record of a message, or the records of a wrapper.
fn add(
    message: &Message<'_>,
    rules: &Rules,
    builder: &mut BatchBuilder,
    scratch: &mut Vec<u8>,
) -> Result<(), Rejection> {
    let codec = message.codec(0)?;
    if codec == Codec::None {
        return add_record(message, message, rules, builder);
    }
    let limit = rules.inflate_limit.saturating_sub(builder.size_bytes());
    let mut ends: Option<(i64, i64)> = None;
    for inner in inflate(message, codec, limit, scratch)? {
        let inner = inner?;
        if inner.magic != message.magic {
            return Err(other_magic(inner.magic, message.magic)); // (c)
        }
        let (first, _) = ends.unwrap_or((inner.offset, 0));
        ends = Some((first, inner.offset));
        add_record(&inner, message, rules, builder)?;
    }
    let (first, last) = ends.unwrap_or_default();
    first_offset(message, first, last)?; // (d); the records get new offsets anyway
    Ok(())
}

/// Adds a record that lies in `outer`, or is `outer`.
fn add_record(
    message: &Message<'_>,
    outer: &Message<'_>,
    rules: &Rules,
    builder: &mut BatchBuilder,
) -> Result<(), Rejection> {
    let is_log_append_time = outer.timestamp_type() == TimestampType::LogAppendTime;
    let timestamp = if is_log_append_time {
        outer.timestamp
    } else {
        message.timestamp
    };
    let is_checked = rules.timestamp_type == TimestampType::CreateTime && timestamp != NO_TIMESTAMP;
    if is_log_append_time && !is_checked {
        let message = "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime.";
        return Err(Rejection::new(ErrorCode::INVALID_TIMESTAMP, message)); // (g)
    }
    if builder.record_count() == i32::MAX {
        return Err(BatchError::InflateLimit {
            limit: rules.inflate_limit,
        }
        .into());
    }
    builder.append(timestamp, message.key, message.value, &[]);
    Ok(())
}

#[cold]
fn other_magic(magic: Magic, expected: Magic) -> Rejection {
    let (magic, expected) = (magic.to_byte(), expected.to_byte());
    let message = format!("A message's magic {magic} is not that of the first or outer message, {expected}");
    Rejection::new(ErrorCode::INVALID_RECORD, message)
}
