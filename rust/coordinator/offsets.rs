//! The committed offsets of one group: the records of `__consumer_offsets`, folded in the order of the log.
//!
//! Invariants: a row is that of the partition's newest folded record; in whichever order two records are folded, the
//! later record in the log wins. Offsets of open transactions are kept apart until their marker comes (KIP-98). This
//! module does not use the log.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::records::OffsetValue;
use base::place::Offset;
use protocol::{TopicId, ZERO_TOPIC_ID};

/// A committed offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The offset, as the client gave it: of another partition, and not checked.
    pub offset: i64,
    /// Leader epoch of the last record read, or -1.
    pub leader_epoch: i32,
    /// The client's own words.
    pub metadata: Box<str>,
    /// When it was committed, ms.
    pub commit_ms: i64,
    /// When it expires, ms; with `records::NO_TIMESTAMP` the broker's retention applies.
    pub expire_ms: i64,
    /// The topic id; all zero where it is not known.
    pub topic_id: TopicId,
    /// The offset of its record in `__consumer_offsets`.
    pub record_offset: Offset,
}

impl CommittedOffset {
    /// The committed offset of a record at `record_offset`.
    pub fn new(value: &OffsetValue<'_>, record_offset: Offset) -> Self {
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

/// The offsets that open transactions are to commit: by topic, by partition, by producer id.
type InTransactions = BTreeMap<Arc<str>, BTreeMap<i32, HashMap<i64, CommittedOffset>>>;

/// A topic with more rows than this keeps them in a tree: in a vector, an insert would move all rows after it.
const MANY_ROWS: usize = 256;

/// The rows of one topic, by partition. Most groups have few rows, which a vector keeps close together.
#[derive(Debug)]
pub enum TopicOffsets {
    /// In order.
    Few(Vec<(i32, CommittedOffset)>),
    /// More than [`MANY_ROWS`] at some time.
    Many(BTreeMap<i32, CommittedOffset>),
}

impl Default for TopicOffsets {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl TopicOffsets {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Few(rows) => rows.len(),
            Self::Many(rows) => rows.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of a partition.
    pub fn get(&self, index: i32) -> Option<&CommittedOffset> {
        match self {
            Self::Few(rows) => {
                let at = rows.binary_search_by_key(&index, |row| row.0).ok()?;
                rows.get(at).map(|row| &row.1)
            }
            Self::Many(rows) => rows.get(&index),
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = (i32, &CommittedOffset)> {
        let (few, many) = match self {
            Self::Few(rows) => (Some(rows), None),
            Self::Many(rows) => (None, Some(rows)),
        };
        let few = few.into_iter().flatten().map(|(index, offset)| (*index, offset));
        few.chain(many.into_iter().flatten().map(|(index, offset)| (*index, offset)))
    }

    /// Keeps the newer record of the two.
    fn put(&mut self, index: i32, offset: CommittedOffset) {
        if self
            .get(index)
            .is_some_and(|before| before.record_offset >= offset.record_offset)
        {
            return;
        }
        match self {
            Self::Many(rows) => {
                rows.insert(index, offset);
            }
            Self::Few(rows) => {
                match rows.binary_search_by_key(&index, |row| row.0) {
                    Err(at) => rows.insert(at, (index, offset)),
                    Ok(at) => rows[at].1 = offset,
                }
                if rows.len() > MANY_ROWS {
                    *self = Self::Many(std::mem::take(rows).into_iter().collect());
                }
            }
        }
    }

    fn remove(&mut self, index: i32, record_offset: Offset) {
        if self
            .get(index)
            .is_none_or(|before| before.record_offset > record_offset)
        {
            return;
        }
        match self {
            Self::Many(rows) => {
                rows.remove(&index);
            }
            Self::Few(rows) => rows.retain(|row| row.0 != index),
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct GroupOffsets {
    topics: BTreeMap<Arc<str>, TopicOffsets>,
    /// Offsets of open transactions; few groups have any.
    in_transactions: Option<Box<InTransactions>>,
}

impl GroupOffsets {
    /// Whether there are no offsets, in open transactions neither.
    pub fn is_empty(&self) -> bool {
        self.topics.is_empty() && self.in_transactions.is_none()
    }

    /// Whether a topic has a row, or one in an open transaction.
    pub fn has_topic(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
            || self
                .in_transactions
                .as_ref()
                .is_some_and(|open| open.contains_key(topic))
    }

    /// Its topics with their rows, in name order.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &TopicOffsets)> {
        self.topics.iter()
    }

    /// The rows of a topic that has any.
    pub fn topic(&self, topic: &str) -> Option<&TopicOffsets> {
        self.topics.get(topic)
    }

    /// The row of a partition, if it has one.
    pub fn row(&self, topic: &str, index: i32) -> Option<&CommittedOffset> {
        self.topics.get(topic).and_then(|rows| rows.get(index))
    }

    /// Partitions that open transactions are to commit.
    pub fn unstable(&self) -> impl Iterator<Item = (&Arc<str>, i32)> {
        let topics = self.in_transactions.iter().flat_map(|open| open.iter());
        topics.flat_map(|(topic, rows)| rows.keys().map(move |index| (topic, *index)))
    }

    /// Whether an open transaction is to commit this partition.
    pub fn is_unstable(&self, topic: &str, index: i32) -> bool {
        let open = self.in_transactions.as_ref().and_then(|open| open.get(topic));
        open.is_some_and(|rows| rows.contains_key(&index))
    }

    /// Whether any transaction is open.
    pub fn has_unstable(&self) -> bool {
        self.in_transactions.is_some()
    }

    /// A commit outside of transactions.
    pub fn put(&mut self, topic: &Arc<str>, index: i32, offset: CommittedOffset) {
        match self.topics.get_mut(&**topic) {
            Some(rows) => rows.put(index, offset),
            None => self.topics.entry(Arc::clone(topic)).or_default().put(index, offset),
        }
    }

    /// A tombstone at `record_offset`. It also removes earlier offsets of open transactions.
    pub fn remove(&mut self, topic: &str, index: i32, record_offset: Offset) {
        self.forget_unstable(topic, index, |_, offset| offset.record_offset <= record_offset);
        let Some(rows) = self.topics.get_mut(topic) else { return };
        rows.remove(index, record_offset);
        if rows.is_empty() {
            self.topics.remove(topic);
        }
    }

    /// Removes offsets of open transactions, and returns the last removed.
    fn forget_unstable(
        &mut self,
        topic: &str,
        index: i32,
        goes: impl Fn(i64, &CommittedOffset) -> bool,
    ) -> Option<CommittedOffset> {
        let open = self.in_transactions.as_mut()?;
        let rows = open.get_mut(topic)?;
        let by_producer = rows.get_mut(&index)?;
        let taken = by_producer.extract_if(|id, offset| goes(*id, offset)).last();
        if by_producer.is_empty() {
            rows.remove(&index);
        }
        if rows.is_empty() {
            open.remove(topic);
        }
        if open.is_empty() {
            self.in_transactions = None;
        }
        taken.map(|(_, offset)| offset)
    }

    /// A commit within an open transaction of this producer.
    pub fn put_unstable(&mut self, topic: &Arc<str>, index: i32, producer_id: i64, offset: CommittedOffset) {
        let open = self.in_transactions.get_or_insert_default();
        let rows = open.entry(Arc::clone(topic)).or_default();
        rows.entry(index).or_default().insert(producer_id, offset);
    }

    /// The end of the producer's transaction: its offset is folded at the offset of its own record, or is dropped.
    pub fn end_transaction(&mut self, topic: &Arc<str>, index: i32, producer_id: i64, is_committed: bool) {
        let ended = self.forget_unstable(topic, index, |id, _| id == producer_id);
        if let Some(offset) = ended.filter(|_| is_committed) {
            self.put(topic, index, offset);
        }
    }
}

#[cfg(test)]
#[path = "offsets_tests.rs"]
mod tests;
