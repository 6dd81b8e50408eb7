//! Incremental fetch sessions (KIP-227): the broker remembers a reader's partitions, so that requests and responses
//! carry changes only.
//!
//! Cases, as lettered at the branches of [`SessionCache::resolve`]:
//! (A) epoch -1: no session is wanted; the one named, if any, is closed.
//! (B) epoch 0: a full request that opens a session, when there is room.
//! (C) epoch n: the n-th request of a session; it changes the remembered partitions and reads them all.
//! It knows partitions only as keys: what they hold is the reader's business (`fetch`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::registry::TopicId;
use crate::error::ErrorCode;

/// A session idle for so long may be evicted for a new one (as Kafka's `MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`).
const MIN_EVICTION_AGE: Duration = Duration::from_mins(2);

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
    /// As the reader named it.
    pub topic: RowTopic,
    /// Partition index.
    pub index: i32,
    /// First offset wanted.
    pub fetch_offset: i64,
    /// The leader epoch the reader believes in, or -1.
    pub current_leader_epoch: i32,
    /// Epoch of its last record, or -1.
    pub last_fetched_epoch: i32,
    /// Bytes at most for this partition.
    pub max_bytes: i32,
    /// Of a follower: where its log starts, or -1.
    pub log_start: i64,
    /// Of a follower: the high watermark that it knows, or `UNTOLD_WATERMARK`.
    pub high_watermark: i64,
}

/// What was last told about a row; a response leaves out rows for which nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    high_watermark: i64,
    log_start: i64,
}

/// What a response would say about a row.
#[derive(Debug, Clone, Copy)]
pub struct RowNews {
    /// High watermark.
    pub high_watermark: i64,
    /// Log start offset.
    pub log_start: i64,
    /// Whether the row says anything else: records, an error, a diverging epoch, another replica to read from.
    pub has_more: bool,
    /// Whether it is an error, or says where the logs part: the reader takes over nothing else, and everything is told again.
    pub is_void: bool,
}

struct Session {
    epoch: i32,
    uses_topic_ids: bool,
    rows: Vec<(FetchRow, Option<Told>)>,
    positions: HashMap<(RowTopic, i32), usize>,
    first: usize,
    last_used: Instant,
}

impl Session {
    fn upsert(&mut self, row: FetchRow) {
        match self.positions.entry((row.topic.clone(), row.index)) {
            Entry::Occupied(at) => {
                let (known, told) = &mut self.rows[*at.get()];
                if known.current_leader_epoch != row.current_leader_epoch {
                    *told = None; // an answer of the epoch before was not taken over, if it came after the new one
                }
                *known = row;
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

    /// The rows, beginning after the last one that gave data, so that a busy partition cannot starve the others.
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
    /// No session: everything is told.
    Sessionless,
    /// A full request that asked for a session.
    Full {
        /// Whether topics are named by id.
        uses_topic_ids: bool,
    },
    /// A request within a session.
    Incremental {
        /// Its id.
        id: i32,
    },
}

/// What a request says about its session.
pub struct SessionRequest {
    /// Session id, 0 for none.
    pub id: i32,
    /// Session epoch.
    pub epoch: i32,
    /// Whether topics are named by id.
    pub uses_topic_ids: bool,
    /// Partitions named in the request.
    pub rows: Vec<FetchRow>,
    /// Partitions to forget.
    pub forgotten: Vec<(RowTopic, i32)>,
}

/// All sessions of this broker, at most `max.incremental.fetch.session.cache.slots`.
pub struct SessionCache {
    slots: usize,
    next_id: Mutex<u32>,
    sessions: Mutex<HashMap<i32, Session>>,
}

impl SessionCache {
    /// An empty cache.
    pub fn new(slots: usize) -> Self {
        Self {
            slots,
            next_id: Mutex::new(0x9e37_79b9),
            sessions: Mutex::default(),
        }
    }

    /// Finds what a request reads. An error is the response's top-level code.
    pub fn resolve(&self, request: SessionRequest, now: Instant) -> Result<(SessionContext, Vec<FetchRow>), ErrorCode> {
        if request.epoch <= 0 {
            if request.id != 0 {
                self.sessions.lock().remove(&request.id);
            }
            let context = if request.epoch == -1 {
                SessionContext::Sessionless // (A)
            } else {
                SessionContext::Full {
                    uses_topic_ids: request.uses_topic_ids,
                } // (B)
            };
            return Ok((context, request.rows));
        }
        let mut sessions = self.sessions.lock(); // (C)
        let session = sessions
            .get_mut(&request.id)
            .ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
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
        session.last_used = now;
        session.forget(&request.forgotten);
        for row in request.rows {
            session.upsert(row);
        }
        Ok((SessionContext::Incremental { id: request.id }, session.rotated()))
    }

    /// Settles a response: the session id to tell, and for each row whether it must be told.
    pub fn settle(
        &self,
        context: &SessionContext,
        rows: &[&FetchRow],
        news: &[RowNews],
        now: Instant,
    ) -> (i32, Vec<bool>) {
        match context {
            SessionContext::Sessionless => (0, vec![true; rows.len()]),
            SessionContext::Full { uses_topic_ids } => {
                (self.open(*uses_topic_ids, rows, news, now), vec![true; rows.len()])
            }
            SessionContext::Incremental { id } => (*id, self.changes(*id, rows, news)),
        }
    }

    fn open(&self, uses_topic_ids: bool, rows: &[&FetchRow], news: &[RowNews], now: Instant) -> i32 {
        let mut sessions = self.sessions.lock();
        if sessions.len() >= self.slots && !evict_oldest(&mut sessions, now) {
            return 0;
        }
        let id = self.fresh_id(&sessions);
        let told = |n: &RowNews| {
            (!n.is_void).then_some(Told {
                high_watermark: n.high_watermark,
                log_start: n.log_start,
            })
        };
        let rows: Vec<_> = rows.iter().map(|&r| r.clone()).zip(news.iter().map(told)).collect();
        let positions = positions_of(&rows);
        sessions.insert(
            id,
            Session {
                epoch: 1,
                uses_topic_ids,
                rows,
                positions,
                first: 0,
                last_used: now,
            },
        );
        id
    }

    fn fresh_id(&self, sessions: &HashMap<i32, Session>) -> i32 {
        let mut seed = self.next_id.lock();
        loop {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = (*seed >> 1) as i32;
            if id != 0 && !sessions.contains_key(&id) {
                return id;
            }
        }
    }

    fn changes(&self, id: i32, rows: &[&FetchRow], news: &[RowNews]) -> Vec<bool> {
        let mut sessions = self.sessions.lock();
        let Some(session) = sessions.get_mut(&id) else {
            return vec![true; rows.len()];
        };
        let start = session.first.min(session.rows.len());
        let mut next_first = session.first;
        let mut mask = Vec::with_capacity(rows.len());
        for (i, (row, news)) in rows.iter().zip(news).enumerate() {
            let at = (start + i) % session.rows.len().max(1);
            let Some((_, told)) = session
                .rows
                .get_mut(at)
                .filter(|(k, _)| k.index == row.index && k.topic == row.topic)
            else {
                mask.push(true);
                continue;
            };
            let now = Told {
                high_watermark: news.high_watermark,
                log_start: news.log_start,
            };
            let is_news = news.has_more || news.is_void || *told != Some(now);
            *told = (!news.is_void).then_some(now);
            if news.has_more && !news.is_void {
                next_first = at + 1;
            }
            mask.push(is_news);
        }
        session.first = if next_first >= session.rows.len() {
            0
        } else {
            next_first
        };
        mask
    }

    /// Sessions held now.
    pub fn len(&self) -> usize {
        self.sessions.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn positions_of(rows: &[(FetchRow, Option<Told>)]) -> HashMap<(RowTopic, i32), usize> {
    rows.iter()
        .enumerate()
        .map(|(i, (row, _))| ((row.topic.clone(), row.index), i))
        .collect()
}

fn evict_oldest(sessions: &mut HashMap<i32, Session>, now: Instant) -> bool {
    let oldest = sessions
        .iter()
        .min_by_key(|(_, s)| s.last_used)
        .map(|(id, s)| (*id, s.last_used));
    match oldest {
        Some((id, used)) if now.saturating_duration_since(used) >= MIN_EVICTION_AGE => sessions.remove(&id).is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
