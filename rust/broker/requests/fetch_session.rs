//! Incremental fetch sessions (KIP-227): the broker remembers a reader's partitions, so that requests and responses
//! carry changes only.
//!
//! Cases, as lettered at the branches of [`SessionCache::resolve`]:
//! (A) epoch -1: no session is wanted; a session that the request names is closed.
//! (B) epoch 0: a full request that opens a session, when there is room.
//! (C) epoch n: the n-th request of a session; it changes the remembered partitions and reads them all.
//! Partitions are only keys here; `fetch` reads them.
//!
//! Sessions share two limits, a number of slots and a number of bytes. When a limit is reached, a session that was not
//! used for [`MIN_EVICTION_AGE`] is evicted; a follower's session may also evict a consumer's (Kafka: privileged
//! sessions). Else the reader gets no session, and sends its partitions in each request. A session that grows beyond
//! the limit of bytes is closed.
//!
//! Locks: the table's lock is held for a look-up; each session has a lock of its own for its partitions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::published::topic_id::TopicId;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};

/// A session that was idle for this long may be evicted for a new session (as Kafka's
/// `MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`).
const MIN_EVICTION_AGE: Duration = Duration::from_mins(2);

/// Bytes of a row and of its place by key.
const ROW_BYTES: usize = size_of::<(FetchRow, Option<SentRow>)>() + 2 * size_of::<((RowTopic, i32), usize)>();

/// How a row's topic was named: by name before version 13, by id from then on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RowTopic {
    /// By name.
    Name(Arc<str>),
    /// By topic id.
    Id(TopicId),
}

/// One partition of a fetch, resolved.
#[derive(Clone)]
pub struct FetchRow {
    /// The topic, as the reader named it.
    pub topic: RowTopic,
    /// Partition index.
    pub index: i32,
    /// First offset wanted.
    pub fetch_offset: Offset,
    /// The leader epoch that the reader knows, or -1.
    pub current_leader_epoch: LeaderEpoch,
    /// Leader epoch of the reader's last record, or -1.
    pub last_fetched_epoch: LeaderEpoch,
    /// Bytes at most for this partition.
    pub max_bytes: i32,
    /// In a follower's fetch: where its log starts, or -1.
    pub log_start: Offset,
    /// In a follower's fetch: the high watermark that it knows, or `ABSENT_WATERMARK`.
    pub high_watermark: Offset,
}

/// The offsets that were last sent for a row; a response leaves out rows that have not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentRow {
    high_watermark: Offset,
    log_start: Offset,
}

/// The news of a row that a response may send.
#[derive(Debug, Clone, Copy)]
pub struct RowUpdate {
    /// High watermark.
    pub high_watermark: Offset,
    /// Log start offset.
    pub log_start: Offset,
    /// Whether the row has more than offsets: records, an error, a diverging epoch, another replica to read from.
    pub has_more: bool,
    /// Whether the row is an error or has a diverging epoch: the reader takes over no offsets of it, so they are sent
    /// again.
    pub is_void: bool,
}

struct Session {
    epoch: i32,
    uses_topic_ids: bool,
    rows: Vec<(FetchRow, Option<SentRow>)>,
    positions: HashMap<(RowTopic, i32), usize>,
    first: usize,
}

/// A session in the table.
struct Slot {
    session: Arc<Mutex<Session>>,
    partitions: usize,
    bytes: usize,
    is_follower: bool,
    last_used: Instant,
}

/// All sessions by id, and the bytes that they take together.
#[derive(Default)]
struct Table {
    slots: HashMap<i32, Slot>,
    bytes: usize,
}

impl Table {
    fn remove(&mut self, id: i32) -> bool {
        let Some(slot) = self.slots.remove(&id) else {
            return false;
        };
        self.bytes -= slot.bytes;
        true
    }

    /// Makes room for `bytes` more in `slots` slots, as far as others may be evicted for it.
    fn make_room(
        &mut self,
        bytes: usize,
        slots: usize,
        max_cache_bytes: usize,
        is_follower: bool,
        now: Instant,
    ) -> bool {
        if bytes > max_cache_bytes {
            return false;
        }
        while self.slots.len() >= slots || self.bytes + bytes > max_cache_bytes {
            let Some(id) = self.evictable(is_follower, now) else {
                return false;
            };
            self.remove(id);
        }
        true
    }

    /// The session to evict: a session that has been idle for long, else, for a follower, the consumer's session with
    /// the most bytes.
    fn evictable(&self, is_follower: bool, now: Instant) -> Option<i32> {
        let oldest = self.slots.iter().min_by_key(|(_, slot)| slot.last_used)?;
        if now.saturating_duration_since(oldest.1.last_used) >= MIN_EVICTION_AGE {
            return Some(*oldest.0);
        }
        let consumers = self.slots.iter().filter(|(_, slot)| is_follower && !slot.is_follower);
        consumers.max_by_key(|(_, slot)| slot.bytes).map(|(id, _)| *id)
    }
}

/// The bytes that rows take in a session: the rows, their places by key, and each copy of a topic name. The rows of one
/// request share a copy; the next request has another.
fn bytes_of(rows: &[&FetchRow]) -> usize {
    let mut last: Option<&Arc<str>> = None;
    let mut bytes = 0;
    for row in rows {
        bytes += ROW_BYTES;
        if let RowTopic::Name(name) = &row.topic {
            if !last.is_some_and(|last| Arc::ptr_eq(last, name)) {
                bytes += name.len();
            }
            last = Some(name);
        }
    }
    bytes
}

impl Session {
    fn upsert(&mut self, row: FetchRow) {
        match self.positions.entry((row.topic.clone(), row.index)) {
            Entry::Occupied(at) => {
                let (known, sent) = &mut self.rows[*at.get()];
                if known.current_leader_epoch != row.current_leader_epoch {
                    *sent = None; // the reader dropped an answer of the epoch before if it came after the new epoch
                }
                let topic = known.topic.clone(); // keep the copy of the name that the session has already
                *known = FetchRow { topic, ..row };
            }
            Entry::Vacant(free) => {
                free.insert(self.rows.len());
                self.rows.push((row, None));
            }
        }
    }

    fn forget(&mut self, gone: &[(RowTopic, i32)]) {
        let mut forgot = false;
        for key in gone {
            forgot |= self.positions.remove(key).is_some();
        }
        if forgot {
            self.rows
                .retain(|(r, _)| self.positions.contains_key(&(r.topic.clone(), r.index)));
            self.positions = positions_of(&self.rows);
            self.first = 0;
        }
    }

    /// Returns which rows must be sent, and notes the offsets that are sent.
    fn changes(&mut self, rows: &[&FetchRow], news: &[RowUpdate]) -> Vec<bool> {
        let start = self.first.min(self.rows.len());
        let mut next_first = self.first;
        let mut mask = Vec::with_capacity(rows.len());
        for (i, (row, news)) in rows.iter().zip(news).enumerate() {
            let at = (start + i) % self.rows.len().max(1);
            let Some((_, sent)) = self
                .rows
                .get_mut(at)
                .filter(|(k, _)| k.index == row.index && k.topic == row.topic)
            else {
                mask.push(true);
                continue;
            };
            let now = SentRow {
                high_watermark: news.high_watermark,
                log_start: news.log_start,
            };
            let is_news = news.has_more || news.is_void || *sent != Some(now);
            *sent = (!news.is_void).then_some(now);
            if news.has_more && !news.is_void {
                next_first = at + 1;
            }
            mask.push(is_news);
        }
        self.first = if next_first >= self.rows.len() { 0 } else { next_first };
        mask
    }

    /// The rows, beginning after the last row that returned records, so that a busy partition cannot starve the others.
    fn rotated(&self) -> Vec<FetchRow> {
        let at = self.first.min(self.rows.len());
        self.rows[at..]
            .iter()
            .chain(&self.rows[..at])
            .map(|(row, _)| row.clone())
            .collect()
    }
}

/// The session part of a fetch under way.
pub enum SessionContext {
    /// No session: everything is sent.
    Sessionless,
    /// A full request that asked for a session.
    Full {
        /// Whether topics are named by id.
        uses_topic_ids: bool,
        /// Whether a follower authorization.
        is_follower: bool,
    },
    /// A request within a session.
    Incremental {
        /// Its id.
        id: i32,
    },
}

/// The session part of a request.
pub struct SessionRequest {
    /// Session id, 0 for none.
    pub id: i32,
    /// Session epoch.
    pub epoch: i32,
    /// Whether topics are named by id.
    pub uses_topic_ids: bool,
    /// Whether a follower authorization.
    pub is_follower: bool,
    /// Partitions named in the request.
    pub rows: Vec<FetchRow>,
    /// Partitions to forget.
    pub forgotten: Vec<(RowTopic, i32)>,
}

/// All sessions of this broker: at most `max.incremental.fetch.session.cache.slots`, and at most
/// `kafkastore.fetch.session.cache.max.bytes`.
pub struct SessionCache {
    slots: usize,
    max_cache_bytes: usize,
    next_id: Mutex<u32>,
    table: Mutex<Table>,
}

impl SessionCache {
    /// An empty cache.
    pub fn new(slots: usize, max_cache_bytes: usize) -> Self {
        Self {
            slots,
            max_cache_bytes,
            next_id: Mutex::new(0x9e37_79b9),
            table: Mutex::default(),
        }
    }

    /// How many partitions a session reads; 0 for none.
    pub fn partitions_of(&self, id: i32) -> usize {
        if id == 0 {
            return 0;
        }
        self.table.lock().slots.get(&id).map_or(0, |slot| slot.partitions)
    }

    /// Finds the rows that a request reads. An error is the response's top-level code.
    pub fn resolve(&self, request: SessionRequest, now: Instant) -> Result<(SessionContext, Vec<FetchRow>), ErrorCode> {
        if request.epoch <= 0 {
            if request.id != 0 {
                self.table.lock().remove(request.id);
            }
            let context = if request.epoch == -1 {
                SessionContext::Sessionless // (A)
            } else {
                SessionContext::Full {
                    uses_topic_ids: request.uses_topic_ids,
                    is_follower: request.is_follower,
                } // (B)
            };
            return Ok((context, request.rows));
        }
        let session = {
            let mut table = self.table.lock(); // (C)
            let slot = table.slots.get_mut(&request.id);
            let slot = slot.ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
            slot.last_used = now;
            Arc::clone(&slot.session)
        };
        let mut session = session.lock();
        if session.epoch != request.epoch {
            return Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        if session.uses_topic_ids != request.uses_topic_ids {
            return Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
        }
        session.epoch = if session.epoch == i32::MAX {
            1
        } else {
            session.epoch + 1
        };
        let has_changed = !request.forgotten.is_empty() || !request.rows.is_empty();
        session.forget(&request.forgotten);
        for row in request.rows {
            session.upsert(row);
        }
        if has_changed && !self.resize(request.id, &session, now) {
            return Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
        }
        Ok((SessionContext::Incremental { id: request.id }, session.rotated()))
    }

    /// Notes the bytes that a session takes now; false when the session has become too large and is closed.
    fn resize(&self, id: i32, session: &Session, now: Instant) -> bool {
        let rows: Vec<&FetchRow> = session.rows.iter().map(|(row, _)| row).collect();
        let bytes = bytes_of(&rows);
        let mut table = self.table.lock();
        let Some(mut slot) = table.slots.remove(&id) else {
            return false;
        };
        table.bytes -= slot.bytes;
        if !table.make_room(bytes, self.slots.max(1), self.max_cache_bytes, slot.is_follower, now) {
            return false;
        }
        (slot.partitions, slot.bytes) = (rows.len(), bytes);
        table.bytes += bytes;
        table.slots.insert(id, slot);
        true
    }

    /// Settles a response: returns the session id to send, and for each row whether it must be sent.
    pub fn settle(
        &self,
        context: &SessionContext,
        rows: &[&FetchRow],
        news: &[RowUpdate],
        now: Instant,
    ) -> (i32, Vec<bool>) {
        match context {
            SessionContext::Sessionless => (0, vec![true; rows.len()]),
            SessionContext::Full {
                uses_topic_ids,
                is_follower,
            } => {
                let id = self.open(*uses_topic_ids, *is_follower, rows, news, now);
                (id, vec![true; rows.len()])
            }
            SessionContext::Incremental { id } => (*id, self.changes(*id, rows, news)),
        }
    }

    fn open(
        &self,
        uses_topic_ids: bool,
        is_follower: bool,
        rows: &[&FetchRow],
        news: &[RowUpdate],
        now: Instant,
    ) -> i32 {
        let bytes = bytes_of(rows);
        let (slots, max_bytes) = (self.slots, self.max_cache_bytes);
        if !self.table.lock().make_room(bytes, slots, max_bytes, is_follower, now) {
            return 0;
        }
        let sent = |n: &RowUpdate| {
            (!n.is_void).then_some(SentRow {
                high_watermark: n.high_watermark,
                log_start: n.log_start,
            })
        };
        let rows: Vec<_> = rows.iter().map(|&r| r.clone()).zip(news.iter().map(sent)).collect();
        let positions = positions_of(&rows);
        let partitions = rows.len();
        let session = Session {
            epoch: 1,
            uses_topic_ids,
            rows,
            positions,
            first: 0,
        };
        let slot = Slot {
            session: Arc::new(Mutex::new(session)),
            partitions,
            bytes,
            is_follower,
            last_used: now,
        };
        let mut table = self.table.lock();
        if !table.make_room(bytes, slots, max_bytes, is_follower, now) {
            return 0; // other sessions were opened in between
        }
        let id = self.fresh_id(&table);
        table.bytes += bytes;
        table.slots.insert(id, slot);
        id
    }

    fn fresh_id(&self, table: &Table) -> i32 {
        let mut seed = self.next_id.lock();
        loop {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = (*seed >> 1) as i32;
            if id != 0 && !table.slots.contains_key(&id) {
                return id;
            }
        }
    }

    fn changes(&self, id: i32, rows: &[&FetchRow], news: &[RowUpdate]) -> Vec<bool> {
        let session = self.table.lock().slots.get(&id).map(|slot| Arc::clone(&slot.session));
        let Some(session) = session else {
            return vec![true; rows.len()];
        };
        session.lock().changes(rows, news)
    }

    /// Sessions held now.
    pub fn len(&self) -> usize {
        self.table.lock().slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all sessions.
    pub fn bytes(&self) -> usize {
        self.table.lock().bytes
    }
}

fn positions_of(rows: &[(FetchRow, Option<SentRow>)]) -> HashMap<(RowTopic, i32), usize> {
    rows.iter()
        .enumerate()
        .map(|(i, (row, _))| ((row.topic.clone(), row.index), i))
        .collect()
}

#[cfg(test)]
#[path = "fetch_session_tests.rs"]
mod tests;
