//! Adopting the segments of a bulk load as the partition's leader: what the log has of the load, and the append of one
//! segment after the other.
//!
//! One load at a time is adopted by a partition ([`AdoptionTurn`]); producers append between its segments. Each segment
//! is an append of its own: the lease is checked and the offsets are published under the log's lock, and readers are
//! woken. The term of the leader stays the same from the first segment to the last: records that an earlier term had of
//! the load may have been cut off since.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Awaited, Partition};
use crate::metrics::Count;
use ::io::user_id;
use base::error::{Error, ErrorCode, Result};
use base::place::Offset;
use record::Rejection;
use storage::adopt::{LoadSearch, Loaded};
use storage::staged::{Expected, StagedSegment};
use storage::{AppendError, Appended};

/// The turn of one load; another load waits for its end.
pub struct AdoptionTurn<'p> {
    partition: &'p Partition,
    term: u64,
}

impl Drop for AdoptionTurn<'_> {
    fn drop(&mut self) {
        self.partition.is_adopting().store(false, Ordering::Release);
    }
}

impl<'p> AdoptionTurn<'p> {
    /// Begins to adopt a load, as an append with acks=all begins.
    ///
    /// # Errors
    /// A refusal by the lease, too few in-sync replicas, or `CONCURRENT_TRANSACTIONS` while another load is adopted.
    pub fn begin(partition: &'p Partition) -> Result<Self> {
        let (log, leadership) = (partition.log(), partition.leadership());
        leadership.admitting(&log, leadership.load().as_ref(), -1)?;
        if partition.is_adopting().swap(true, Ordering::AcqRel) {
            let message = format!("{} is adopting another load: try again", partition.name());
            return Err(Error::rejected(ErrorCode::CONCURRENT_TRANSACTIONS, message));
        }
        Ok(Self {
            partition,
            term: leadership.term(),
        })
    }

    /// What the log has of the load, and the offset of its first record. `is_new`: the producer id was never used, so
    /// there is nothing to look for. Reads all headers of the log when the log does not know the producer.
    pub fn loaded(&self, producer_id: i64, is_new: bool) -> Result<(Loaded, Offset)> {
        let log = self.partition.log();
        let known = Loaded::of(log.producers(), producer_id);
        if known.is_none() && is_new {
            return Ok((Loaded::NOTHING, Offset::NONE));
        }
        let search = LoadSearch::of(log.segments(), producer_id);
        drop(log);
        let found = search.run()?;
        let (loaded, first_offset) = found.unwrap_or((Loaded::NOTHING, Offset::NONE));
        Ok((known.unwrap_or(loaded), first_offset))
    }

    /// What the batches of the load must be like.
    pub fn expected(&self, producer_id: i64, producer_epoch: i16, now_ms: i64) -> Expected {
        let log = self.partition.log();
        Expected {
            producer_id,
            producer_epoch,
            rules: *log.rules(),
            config: Arc::clone(log.config()),
            owner: user_id(),
            now_ms,
        }
    }

    /// Adopts one segment, of which the log has `before` of the load.
    ///
    /// # Errors
    /// As [`Partition::append`].
    pub fn adopt(
        &self,
        staged: &mut StagedSegment,
        expected: &Expected,
        before: Loaded,
    ) -> Result<(Appended, Awaited), AppendError> {
        let one = self.partition;
        let mut log = one.log();
        let loaded = one.leadership().load(); // the lease stays while the log is locked
        let lease = one.leadership().admitting(&log, loaded.as_ref(), -1)?;
        self.check_term()?;
        if *log.rules() != expected.rules {
            let message = format!("the configuration of {} has changed meanwhile: try again", one.topic());
            return Err(Rejection::new(ErrorCode::CONCURRENT_TRANSACTIONS, message).into());
        }
        let appended = log.adopt(staged, before, lease.leader_epoch, expected.now_ms)?;
        one.meter()
            .add(Count::MessagesIn, u64::try_from(staged.record_count()).unwrap_or(0));
        one.meter().add(Count::BytesIn, staged.size_bytes());
        one.publish_appended(log, lease, expected.now_ms);
        let awaited = self.awaited(appended.last_offset, appended.needs_flush);
        let wants_flush = true; // as a roll, an adoption queues a flush
        Ok((appended, Awaited { wants_flush, ..awaited }))
    }

    /// What an answer waits for that reports records up to `last_offset`.
    pub fn awaited(&self, last_offset: Offset, needs_flush: bool) -> Awaited {
        let (one, next) = (self.partition, last_offset + 1);
        let high_watermark = one.offsets().high_watermark() < next;
        let flushed = needs_flush && one.offsets().flushed() < next;
        Awaited {
            high_watermark: high_watermark.then_some(next),
            flushed: flushed.then_some(next),
            wants_flush: flushed,
            term: self.term,
        }
    }

    fn check_term(&self) -> Result<()> {
        if self.term == self.partition.leadership().term() {
            return Ok(());
        }
        let message = "another broker has led the partition meanwhile".to_owned();
        Err(Error::rejected(ErrorCode::NOT_LEADER_OR_FOLLOWER, message))
    }
}
