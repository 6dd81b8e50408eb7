//! The records of `__transaction_state`, byte for byte as Apache Kafka's.
//!
//! ```text
//! key   := 0:i16 transactional_id:string
//! value := 0 producer_id:i64 producer_epoch:i16 timeout_ms:i32 state:i8 [topic:string [partition:i32]]
//!            last_update_ms:i64 start_ms:i64
//!        | 1 the same with compact lengths and
//!            tags(0: previous_producer_id i64, 1: next_producer_id i64, 2: client_transaction_version i16)
//! ```
//! Written: version 1 from level 1 of the feature `transaction.version` on, version 0 at level 0, as Kafka does. The
//! partitions are null in the state Empty. A null value is a tombstone: the id expired.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::transaction::{NO_EPOCH, NO_PRODUCER_ID, Transaction, TransactionState};
use protocol::{Reader, WireError, Writer};

const KEY_VERSION: i16 = 0;
const VALUE_VERSION: i16 = 1;
const FLEXIBLE_FROM: i16 = 1;
const PREVIOUS_PRODUCER_ID_TAG: u32 = 0;
const NEXT_PRODUCER_ID_TAG: u32 = 1;
const CLIENT_VERSION_TAG: u32 = 2;
/// A topic's name and its partition count, the least of both encodings.
const MIN_TOPIC_BYTES: usize = 2;

/// Appends the key of a transactional id.
pub fn write_key(out: &mut Vec<u8>, transactional_id: &str) {
    let mut w = Writer::new(out, false);
    w.i16(KEY_VERSION);
    w.string(transactional_id);
}

/// The transactional id of a key; `None` for a key of another kind.
pub fn read_key(bytes: &[u8]) -> Result<Option<&str>, WireError> {
    let mut reader = Reader::new(bytes, false);
    if reader.i16()? != KEY_VERSION {
        return Ok(None);
    }
    reader.str().map(Some)
}

/// Appends a value for this finalized level of `transaction.version`. Level 0 has no place for what the tags hold.
pub fn write_value(out: &mut Vec<u8>, transaction: &Transaction, transaction_version: i16) {
    let version = transaction_version.clamp(0, VALUE_VERSION);
    Writer::new(out, false).i16(version);
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.i64(transaction.producer_id);
    w.i16(transaction.producer_epoch);
    w.i32(transaction.timeout_ms);
    w.raw(&transaction.state.id().to_be_bytes());
    if transaction.state == TransactionState::Empty {
        w.length(None);
    } else {
        write_partitions(&mut w, transaction);
    }
    w.i64(transaction.last_update_ms);
    w.i64(transaction.start_ms);
    if version >= FLEXIBLE_FROM {
        write_tags(&mut w, transaction);
    }
}

fn write_partitions(w: &mut Writer<'_>, transaction: &Transaction) {
    // the set is ordered by topic
    let rows: Vec<_> = transaction.partitions.iter().collect();
    let topics = rows.chunk_by(|(before, _), (after, _)| before == after);
    w.length(Some(topics.clone().count()));
    for rows in topics {
        let Some((topic, _)) = rows.first() else { continue };
        w.string(topic);
        let indexes: Vec<i32> = rows.iter().map(|(_, index)| *index).collect();
        w.i32_array(&indexes);
        w.no_tags();
    }
}

fn write_tags(w: &mut Writer<'_>, transaction: &Transaction) {
    let has_previous = transaction.previous_producer_id != NO_PRODUCER_ID;
    let has_next = transaction.next_producer_id != NO_PRODUCER_ID;
    let has_version = transaction.client_version != 0;
    w.tag_count(usize::from(has_previous) + usize::from(has_next) + usize::from(has_version));
    if has_previous {
        w.tag(PREVIOUS_PRODUCER_ID_TAG, |w| w.i64(transaction.previous_producer_id));
    }
    if has_next {
        w.tag(NEXT_PRODUCER_ID_TAG, |w| w.i64(transaction.next_producer_id));
    }
    if has_version {
        w.tag(CLIENT_VERSION_TAG, |w| w.i16(transaction.client_version));
    }
}

/// Reads a value. `topic` gives the shared copy of a topic's name.
pub fn read_value(bytes: &[u8], mut topic: impl FnMut(&str) -> Arc<str>) -> Result<Transaction, WireError> {
    let mut reader = Reader::new(bytes, false);
    let version = reader.i16()?;
    if !(0..=VALUE_VERSION).contains(&version) {
        return Err(WireError::UnsupportedVersion);
    }
    reader.set_flexible(version >= FLEXIBLE_FROM);
    let mut read = Transaction::new(reader.i64()?, 0, 0);
    read.producer_epoch = reader.i16()?;
    read.last_producer_epoch = NO_EPOCH;
    read.timeout_ms = reader.i32()?;
    let state = TransactionState::from_id(reader.i8()?);
    read.state = state.ok_or(WireError::UnsupportedVersion)?;
    let mut partitions = BTreeSet::new();
    for _ in 0..reader.nullable_count(MIN_TOPIC_BYTES)?.unwrap_or(0) {
        let name = topic(reader.str()?);
        for _ in 0..reader.count(size_of::<i32>())? {
            partitions.insert((Arc::clone(&name), reader.i32()?));
        }
        reader.skip_tags()?;
    }
    read.partitions = partitions;
    read.last_update_ms = reader.i64()?;
    read.start_ms = reader.i64()?;
    reader.tags(|tag, content| {
        match tag {
            PREVIOUS_PRODUCER_ID_TAG => read.previous_producer_id = content.i64()?,
            NEXT_PRODUCER_ID_TAG => read.next_producer_id = content.i64()?,
            CLIENT_VERSION_TAG => read.client_version = content.i16()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(read)
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
