//! A partition that is assigned: where its reading stands. A table without I/O; the time is passed in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::chunk::Chunk;
use super::records::FetchedRecords;
use base::place::{LeaderEpoch, Offset};
use record::BatchError;

/// The offset that means the first record (`ListOffsets`).
pub(super) const EARLIEST: i64 = -2;
/// The offset that means the end.
pub(super) const LATEST: i64 = -1;
/// Answers that are kept for a partition: one that is being handed over, and the next one.
const MAX_CHUNKS: usize = 2;

/// Where records are fetched from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leader {
    pub(super) node: i32,
    pub(super) epoch: LeaderEpoch,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Assigned {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    /// The next offset to hand over; negative while only [`EARLIEST`] or [`LATEST`] is known.
    pub(super) position: Offset,
    /// The next offset to fetch.
    pub(super) fetched_to: Offset,
    /// Of the record before the position.
    pub(super) last_epoch: LeaderEpoch,
    /// Whether its log has to be compared with that of a new leader.
    pub(super) is_unchecked: bool,
    pub(super) leader: Option<Leader>,
    /// The replica that the leader wants to be read, for how long.
    pub(super) preferred: Option<(i32, Instant)>,
    pub(super) is_paused: bool,
    pub(super) high_watermark: Option<i64>,
    /// Nothing is asked about it before.
    pub(super) not_before: Option<Instant>,
    chunks: VecDeque<Chunk>,
}

impl Assigned {
    pub(super) fn new(topic: Arc<str>, partition: i32, position: i64) -> Self {
        Self {
            topic,
            partition,
            position: Offset(position),
            fetched_to: Offset(position),
            last_epoch: LeaderEpoch::NONE,
            is_unchecked: false,
            leader: None,
            preferred: None,
            is_paused: false,
            high_watermark: None,
            not_before: None,
            chunks: VecDeque::new(),
        }
    }

    /// As sentences name it.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.topic, self.partition)
    }

    pub(super) fn is_of(&self, topic: &str, partition: i32) -> bool {
        self.partition == partition && *self.topic == *topic
    }

    /// Goes on at another offset; what was fetched is dropped.
    pub(super) fn seek(&mut self, position: Offset) {
        (self.position, self.fetched_to) = (position, position);
        self.last_epoch = LeaderEpoch::NONE;
        self.is_unchecked = false;
        self.chunks.clear();
    }

    /// Nothing is asked about it for some time.
    pub(super) fn back_off(&mut self, now: Instant, backoff: Duration) {
        self.not_before = Some(now + backoff);
    }

    fn is_ready(&self, now: Instant) -> bool {
        self.leader.is_some() && self.not_before.is_none_or(|time| time <= now)
    }

    /// Whether its offset has to be asked for.
    pub(super) fn lacks_offset(&self, now: Instant) -> bool {
        self.position.get() < 0 && self.is_ready(now)
    }

    /// Whether the log of its leader has to be compared.
    pub(super) fn wants_check(&self, now: Instant) -> bool {
        self.is_unchecked && self.position.get() >= 0 && self.is_ready(now)
    }

    /// Whether it is to be fetched.
    pub(super) fn is_fetchable(&self, now: Instant) -> bool {
        let has_room = self.chunks.len() < MAX_CHUNKS && !self.is_paused;
        has_room && self.position.get() >= 0 && !self.is_unchecked && self.is_ready(now)
    }

    /// The broker to fetch from.
    pub(super) fn source(&self, now: Instant) -> Option<i32> {
        let preferred = self.preferred.filter(|(_, until)| now < *until);
        preferred
            .map(|(node, _)| node)
            .or(self.leader.map(|leader| leader.node))
    }

    /// Takes a newer leader over; an older one is told by a broker that is behind. Whether it was taken.
    pub(super) fn follow(&mut self, leader: Leader) -> bool {
        let known = self.leader.map_or(LeaderEpoch::NONE, |leader| leader.epoch);
        if leader.epoch.is_some() && leader.epoch < known {
            return false;
        }
        if self.leader != Some(leader) {
            self.preferred = None;
            self.is_unchecked = leader.epoch > known && self.last_epoch.is_some() && self.last_epoch < leader.epoch;
        }
        self.leader = Some(leader);
        true
    }

    /// Keeps what was fetched at [`Self::fetched_to`].
    pub(super) fn push(&mut self, chunk: Chunk, next_offset: Offset) {
        self.fetched_to = next_offset.max(self.fetched_to);
        self.chunks.push_back(chunk);
    }

    /// Hands over up to `max_records` of what was fetched.
    pub(super) fn take(&mut self, max_records: usize) -> Result<FetchedRecords, BatchError> {
        let mut taken = FetchedRecords::of(&self.topic, self.partition);
        if self.is_paused {
            return Ok(taken);
        }
        while let Some(chunk) = self.chunks.front_mut() {
            match chunk.take(&mut self.position, &mut taken, max_records) {
                Ok(true) => drop(self.chunks.pop_front()),
                Ok(false) => break,
                Err(_) if taken.count > 0 => break, // the next call meets it again
                Err(error) => return Err(error),
            }
        }
        if let Some(last) = taken.runs.last() {
            self.last_epoch = last.leader_epoch();
        }
        Ok(taken)
    }
}
