//! What the coordinator does by the clock: it aborts transactions that exceeded their timeout, and forgets
//! transactional ids that were not used for `transactional.id.expiration.ms`.

use std::sync::Arc;
use std::time::Instant;

use super::service::TransactionHome;
use super::shard::Shard;
use super::table::fence;
use super::transit::{write, write_all};
use crate::Here;
use base::error::ErrorCode;

/// The most ids that one batch of tombstones forgets.
const IDS_OF_BATCH: usize = 100;
/// The most bytes of ids that one batch of tombstones forgets, so that the batch fits in `max.message.bytes`.
const BYTES_OF_BATCH: usize = 64 << 10;

/// The next times.
pub struct Schedule {
    abort_at: Instant,
    expire_at: Instant,
    has_begun: bool,
}

impl Schedule {
    /// The first looks come after one interval.
    pub const fn new(now: Instant) -> Self {
        Self {
            abort_at: now,
            expire_at: now,
            has_begun: false,
        }
    }

    /// When the next look is.
    pub fn next(&self) -> Instant {
        self.abort_at.min(self.expire_at)
    }

    /// Does what is due.
    pub fn run(&mut self, here: Here<'_>, now: Instant) {
        let settings = here.transactions().settings();
        if !std::mem::replace(&mut self.has_begun, true) {
            self.abort_at = now + settings.abort_interval;
            self.expire_at = now + settings.expiry_interval;
        }
        if self.abort_at <= now {
            self.abort_at = now + settings.abort_interval;
            abort_timed_out(here);
        }
        if self.expire_at <= now {
            self.expire_at = now + settings.expiry_interval;
            forget_expired(here, settings.id_expiration_ms);
        }
    }
}

/// Aborts the open transactions that exceeded their timeout; their producers are fenced.
pub fn abort_timed_out(here: Here<'_>) {
    let now_ms = here.context().clock.now_ms();
    for home in here.transactions().homes.all().values() {
        let Ok(ids) = home.with(here, |shard| shard.select(|one| one.is_timed_out(now_ms))) else {
            continue;
        };
        for id in ids {
            let aborted = home.with(here, |shard| abort_one(here, home, shard, &id, now_ms));
            match aborted.and_then(|aborted| aborted) {
                Ok(true) => here.log(&format!("transaction {id} exceeded its timeout and is aborted")),
                Ok(false) => {}
                Err(code) => here.log(&format!(
                    "transaction {id} exceeded its timeout and could not be aborted: {}",
                    code.name()
                )),
            }
        }
    }
}

fn abort_one(
    here: Here<'_>,
    home: &TransactionHome,
    shard: &mut Shard,
    id: &str,
    now_ms: i64,
) -> Result<bool, ErrorCode> {
    match shard.settled(id) {
        Ok(Some(value)) if value.is_timed_out(now_ms) => {
            let next = fence(value, now_ms);
            write(&here, home, shard, id, next, now_ms).map(|_| true)
        }
        _ => Ok(false), // changed meanwhile
    }
}

/// Forgets the ids that were not used for the given time.
pub fn forget_expired(here: Here<'_>, expiration_ms: i64) {
    let now_ms = here.context().clock.now_ms();
    let is_expired = |one: &super::Transaction| one.is_expired(now_ms, expiration_ms);
    for home in here.transactions().homes.all().values() {
        let Ok(ids) = home.with(here, |shard| shard.select(is_expired)) else {
            continue;
        };
        let mut left = ids.as_slice();
        while !left.is_empty() {
            let (ids, rest) = left.split_at(count_of_batch(left));
            left = rest;
            let forgotten = home.with(here, |shard| {
                let is_still = |id: &&Arc<str>| matches!(shard.settled(id), Ok(Some(one)) if is_expired(one));
                let ids: Vec<_> = ids.iter().filter(is_still).cloned().collect();
                forget(here, home, shard, &ids, now_ms)
            });
            if let Err(code) = forgotten.and_then(|done| done) {
                let topic = home.partition.topic();
                here.log(&format!(
                    "expired ids of {topic} could not be forgotten: {}",
                    code.name()
                ));
            }
        }
    }
}

/// How many of the first ids one batch of tombstones forgets; one at least.
fn count_of_batch(ids: &[Arc<str>]) -> usize {
    let mut bytes = 0;
    let fits = |id: &&Arc<str>| {
        bytes += id.len();
        bytes <= BYTES_OF_BATCH
    };
    ids.iter().take(IDS_OF_BATCH).take_while(fits).count().max(1)
}

fn forget(
    here: Here<'_>,
    home: &TransactionHome,
    shard: &mut Shard,
    ids: &[Arc<str>],
    now_ms: i64,
) -> Result<(), ErrorCode> {
    if ids.is_empty() {
        return Ok(());
    }
    let changes = ids.iter().map(|id| (&**id, None)).collect();
    write_all(&here, home, shard, changes, now_ms).map(drop)
}

#[cfg(test)]
#[path = "expiry_tests.rs"]
mod tests;
