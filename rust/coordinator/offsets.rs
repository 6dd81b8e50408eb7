//! The committed offsets of one group: what the records of `__consumer_offsets` say, folded in the order of the log.
//!
//! Invariants: a row is of the newest record of its partition that was folded; whichever order two records are folded in, the later
//! one in the log wins. Offsets of transactions that are open stand aside until their marker comes (KIP-98). Never: knows the log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::records::OffsetValue;
use crate::wire::{TopicId, ZERO_TOPIC_ID};

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset.
    pub offset: i64,
    /// Leader epoch of the last record read, or -1.
    pub leader_epoch: i32,
    /// The client's own words.
    pub metadata: Box<str>,
    /// When it was committed, ms.
    pub commit_ms: i64,
    /// When it goes, ms; `records::NO_TIMESTAMP`: the broker's retention holds.
    pub expire_ms: i64,
    /// Of the topic; all zero where it is not known.
    pub topic_id: TopicId,
    /// Where its record stands in `__consumer_offsets`.
    pub record_offset: i64,
}

impl CommittedOffset {
    /// What a record at `record_offset` says.
    pub fn new(value: &OffsetValue<'_>, record_offset: i64) -> Self {
        Self {
            offset: value.offset,
            leader_epoch: value.leader_epoch,
            metadata: value.metadata.into(),
            commit_ms: value.commit_ms,
            expire_ms: value.expire_ms,
            topic_id: value.topic_id.unwrap_or(ZERO_TOPIC_ID),
            record_offset,
        }
    }
}

/// A partition's row.
pub type Row = (i32, CommittedOffset);

/// What open transactions are to commit: by partition of a topic, by producer id.
type InTransactions = BTreeMap<(Arc<str>, i32), HashMap<i64, CommittedOffset>>;

/// See the module.
#[derive(Debug, Default)]
pub struct GroupOffsets {
    /// By topic, in order of the partitions.
    topics: BTreeMap<Arc<str>, Vec<Row>>,
    /// Few groups have any.
    in_transactions: Option<Box<InTransactions>>,
}

impl GroupOffsets {
    /// Whether there is none, in open transactions neither.
    pub fn is_empty(&self) -> bool {
        self.topics.is_empty() && self.in_transactions.is_none()
    }

    /// Whether a topic has a row, or one in an open transaction.
    pub fn has_topic(&self, topic: &str) -> bool {
        self.topics.contains_key(topic) || self.unstable_keys().any(|(name, _)| **name == *topic)
    }

    /// Its topics with their rows, in name order.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &[Row])> {
        self.topics.iter().map(|(topic, rows)| (topic, rows.as_slice()))
    }

    /// The rows of a topic, in order.
    pub fn rows(&self, topic: &str) -> &[Row] {
        self.topics.get(topic).map_or(&[], Vec::as_slice)
    }

    /// One row.
    pub fn row(&self, topic: &str, index: i32) -> Option<&CommittedOffset> {
        find(self.rows(topic), index)
    }

    /// Partitions that open transactions are to commit.
    pub fn unstable_keys(&self) -> impl Iterator<Item = &(Arc<str>, i32)> {
        self.in_transactions.iter().flat_map(|open| open.keys())
    }

    /// Whether an open transaction is to commit this partition.
    pub fn is_unstable(&self, topic: &str, index: i32) -> bool {
        self.in_transactions.is_some() && self.unstable_keys().any(|(name, at)| *at == index && **name == *topic)
    }

    /// Whether any transaction is open.
    pub fn has_unstable(&self) -> bool {
        self.in_transactions.is_some()
    }

    /// A commit outside of transactions.
    pub fn put(&mut self, topic: &Arc<str>, index: i32, offset: CommittedOffset) {
        let rows = match self.topics.get_mut(&**topic) {
            Some(rows) => rows,
            None => self.topics.entry(Arc::clone(topic)).or_default(),
        };
        match rows.binary_search_by_key(&index, |row| row.0) {
            Err(at) => rows.insert(at, (index, offset)),
            Ok(at) => {
                if let Some(row) = rows
                    .get_mut(at)
                    .filter(|row| row.1.record_offset < offset.record_offset)
                {
                    row.1 = offset;
                }
            }
        }
    }

    /// A tombstone at `record_offset`. What open transactions wrote before it goes, too.
    pub fn remove(&mut self, topic: &str, index: i32, record_offset: i64) {
        self.forget_unstable(topic, index, record_offset);
        let Some(rows) = self.topics.get_mut(topic) else { return };
        if let Ok(at) = rows.binary_search_by_key(&index, |row| row.0)
            && rows.get(at).is_some_and(|row| row.1.record_offset <= record_offset)
        {
            rows.remove(at);
        }
        if rows.is_empty() {
            self.topics.remove(topic);
        }
    }

    fn forget_unstable(&mut self, topic: &str, index: i32, record_offset: i64) {
        let Some(open) = &mut self.in_transactions else { return };
        open.retain(|(name, at), by_producer| {
            if *at == index && **name == *topic {
                by_producer.retain(|_, offset| offset.record_offset > record_offset);
            }
            !by_producer.is_empty()
        });
        if open.is_empty() {
            self.in_transactions = None;
        }
    }

    /// A commit within an open transaction of this producer.
    pub fn put_unstable(&mut self, topic: &Arc<str>, index: i32, producer_id: i64, offset: CommittedOffset) {
        let open = self.in_transactions.get_or_insert_default();
        let by_producer = open.entry((Arc::clone(topic), index)).or_default();
        by_producer.insert(producer_id, offset);
    }

    /// The producer's transaction has ended: what it was to commit counts from where it was written, or is dropped.
    pub fn end_transaction(&mut self, topic: &Arc<str>, index: i32, producer_id: i64, is_committed: bool) {
        let Some(open) = &mut self.in_transactions else { return };
        let key = (Arc::clone(topic), index);
        let Some(by_producer) = open.get_mut(&key) else { return };
        let ended = by_producer.remove(&producer_id);
        if by_producer.is_empty() {
            open.remove(&key);
        }
        if open.is_empty() {
            self.in_transactions = None;
        }
        if let Some(offset) = ended.filter(|_| is_committed) {
            self.put(topic, index, offset);
        }
    }
}

/// The offset of a partition among the rows of a topic.
pub fn find(rows: &[Row], index: i32) -> Option<&CommittedOffset> {
    let at = rows.binary_search_by_key(&index, |row| row.0).ok()?;
    rows.get(at).map(|row| &row.1)
}

#[cfg(test)]
mod tests;
