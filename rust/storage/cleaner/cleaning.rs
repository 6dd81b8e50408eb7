//! One cleaning of one log, step by step.
//!
//! [`Cleaning::index_keys`] reads the dirty part, then [`Cleaning::clean_next`] writes the segment that replaces the
//! next group, until there is none. Between the steps the caller takes the log's lock: for the plan, for [`Inputs::of`]
//! before each group, and for [`Cleaned::swap_into`] after it. When all groups are swapped, the log is clean up to
//! [`Cleaning::end`]. A cleaning that ends early leaves a log in which some groups are clean; the next cleaning begins
//! at the same first dirty offset.
//!
//! Never takes a lock and never waits, but for the disk and the [`Pace`].

use std::collections::VecDeque;

use super::key_index::index_keys;
use super::offset_map::OffsetMap;
use super::output::Output;
use super::plan::{Group, Plan, group};
use super::retention::{Counts, Kept, LastRecords, Rules};
use super::source::for_each_batch;
use super::swap::{Cleaned, is_as_planned};
use super::transactions::Transactions;
use crate::format::CLEANED_SUFFIX;
use crate::log::Log;
use crate::segment::Segment;
use crate::wait::Wait;
use base::error::{Error, Result};
use base::place::Offset;
use index::AbortedTxn;
use record::RecordFilter;

/// Most bytes of memory that a buffer keeps between two segments, unless the configuration gives it more.
const KEPT_BYTES: usize = 1 << 20;

/// How fast a cleaning may go, and whether it must end.
pub trait Pace {
    /// Waits as long as `bytes` that were read or written take at the configured rate.
    ///
    /// # Errors
    /// [`Interrupted::Stopped`]: the cleaning must end.
    fn pass(&self, bytes: u64) -> Result<(), Interrupted>;
}

/// Why a cleaning ended early.
#[derive(Debug)]
pub enum Interrupted {
    /// The broker stops, or the log has changed.
    Stopped,
    /// The disk failed, or the log is corrupt.
    Failed(Error),
    /// A panic, with its message, while no lock was held: the log has not changed since the last swap.
    Panicked(String),
}

impl From<Error> for Interrupted {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What a cleaning has read and written.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct CleaningStats {
    /// Bytes of the dirty part that were read into the map.
    pub indexed_bytes: u64,
    /// Bytes of batches that were read to be cleaned.
    pub read_bytes: u64,
    /// Bytes of batches that were written.
    pub written_bytes: u64,
    /// Records in the batches that were read.
    pub read_records: u64,
    /// Records that stayed.
    pub kept_records: u64,
    /// Records without a key, which a compacted topic should not have; they were left out.
    pub records_without_key: u64,
    /// The share of the map's slots that was used, 0 to 1.
    pub map_utilization: f64,
}

/// Memory for reading and writing, reused from log to log.
pub struct Buffers {
    pub(super) read: Vec<u8>,
    pub(super) write: Vec<u8>,
    pub(super) inflated: Vec<u8>,
    filter: RecordFilter,
    piece_bytes: usize,
}

impl Buffers {
    /// For pieces of `piece_bytes` (at least a few KB). A batch that is larger takes more for a while.
    pub fn new(piece_bytes: usize) -> Self {
        let piece_bytes = piece_bytes.max(4096);
        Self {
            read: vec![0; piece_bytes],
            write: Vec::new(),
            inflated: Vec::new(),
            filter: RecordFilter::default(),
            piece_bytes,
        }
    }

    /// Gives back what a large batch took.
    fn restore(&mut self) {
        self.read.resize(self.piece_bytes, 0);
        self.read.shrink_to(self.piece_bytes.max(KEPT_BYTES));
        for buffer in [&mut self.write, &mut self.inflated] {
            buffer.clear();
            buffer.shrink_to(self.piece_bytes.max(KEPT_BYTES));
        }
    }
}

/// The facts about the log that the cleaning of a group needs.
pub struct Inputs {
    aborted: Vec<AbortedTxn>,
    last_records: LastRecords,
}

impl Inputs {
    /// The inputs for the cleaning of a group. [`Interrupted::Stopped`] when the log has changed since the plan.
    pub fn of(log: &Log, group: &Group, truncations: u64) -> Result<Self, Interrupted> {
        if !is_as_planned(log, group, truncations) {
            return Err(Interrupted::Stopped);
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return Err(Interrupted::Stopped);
        };
        let contents = log.contents();
        Ok(Self {
            aborted: contents.aborted_transactions(first.base_offset, last.next_base, Wait::Yes)?,
            last_records: LastRecords::of(contents.producers()),
        })
    }
}

/// See the module.
pub struct Cleaning {
    plan: Plan,
    groups: VecDeque<Group>,
    transactions: Transactions,
    end: Offset,
    /// Tombstones of magic 0 and 1 stay in segments that were changed after it.
    old_horizon_ms: i64,
    stats: CleaningStats,
}

impl Cleaning {
    /// Nothing is read yet.
    pub fn new(plan: Plan) -> Self {
        Self {
            end: plan.cleanable.first_dirty,
            plan,
            groups: VecDeque::new(),
            transactions: Transactions::default(),
            old_horizon_ms: 0,
            stats: CleaningStats::default(),
        }
    }

    /// Reads the keys of the dirty part into the map, which decides how far the cleaning goes.
    pub fn index_keys(
        &mut self,
        map: &mut OffsetMap,
        buffers: &mut Buffers,
        pace: &dyn Pace,
    ) -> Result<(), Interrupted> {
        let indexed = index_keys(&self.plan, map, buffers, &mut self.stats, pace);
        buffers.restore();
        indexed?;
        self.end = map.latest() + 1;
        self.old_horizon_ms = self.plan.old_horizon_ms()?;
        self.stats.map_utilization = map.utilization();
        self.groups = group(&self.plan.sources, self.end, &self.plan.config).into();
        Ok(())
    }

    /// The next group; `None` when all are clean.
    pub fn next_group(&self) -> Option<&Group> {
        self.groups.front()
    }

    /// The log's count of truncations when the cleaning began.
    pub fn truncations(&self) -> u64 {
        self.plan.truncations
    }

    /// Whether this is still the log that the cleaning began with, in the same place and not truncated.
    pub fn is_of(&self, log: &Log) -> bool {
        !log.is_closed() && log.dir() == self.plan.dir && log.truncations() == self.plan.truncations
    }

    /// The offset up to which the log is clean once all groups are swapped.
    pub fn end(&self) -> Offset {
        self.end
    }

    /// The end of the segments that are written anew. It is past [`end`](Self::end) when the map of keys is full: of
    /// those segments the records of aborted transactions go, wherever they stand.
    pub fn reach(&self) -> Offset {
        let last = self.groups.back().and_then(|group| group.last());
        last.map_or(self.end, |source| source.next_base.max(self.end))
    }

    /// Notes that the log is compacted below [`end`](Self::end), after the last group was swapped. Does nothing when
    /// the log was truncated meanwhile. The caller writes the checkpoint.
    pub fn note_cleaned(&self, log: &mut Log) {
        if log.truncations() == self.truncations() {
            log.set_first_dirty_offset(Some(self.end));
        }
    }

    /// What was read and written so far.
    pub fn stats(&self) -> &CleaningStats {
        &self.stats
    }

    /// Writes the segment that replaces the next group; `None` when there is no group left. On disk when it returns.
    pub fn clean_next(
        &mut self,
        inputs: &Inputs,
        map: &OffsetMap,
        buffers: &mut Buffers,
        pace: &dyn Pace,
    ) -> Result<Option<Cleaned>, Interrupted> {
        let Some(group) = self.groups.pop_front() else {
            return Ok(None);
        };
        let cleaned = self.clean(&group, inputs, map, buffers, pace);
        buffers.restore();
        cleaned
    }

    fn clean(
        &mut self,
        group: &Group,
        inputs: &Inputs,
        map: &OffsetMap,
        buffers: &mut Buffers,
        pace: &dyn Pace,
    ) -> Result<Option<Cleaned>, Interrupted> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            return Ok(None);
        };
        let Plan {
            fs,
            dir,
            config,
            cleanable,
            now_ms,
            truncations,
            ..
        } = &self.plan;
        self.transactions.add(&inputs.aborted);
        let mut rules = Rules {
            map,
            last_records: &inputs.last_records,
            high_watermark: cleanable.high_watermark,
            now_ms: *now_ms,
            delete_retention_ms: config.delete_retention_ms,
            keeps_old_tombstones: true,
        };
        let Buffers {
            read,
            write,
            filter,
            piece_bytes,
            ..
        } = buffers;
        let modified_ms = last.modified_ms(&**fs)?;
        let (transactions, stats) = (&mut self.transactions, &mut self.stats);
        let new = Segment::create_aside(&**fs, dir, first.base_offset, CLEANED_SUFFIX, *now_ms)?;
        let mut output = Output::of(fs, new, config.index_interval_bytes, write, *piece_bytes);
        let mut counts = Counts::default();
        for source in group {
            rules.keeps_old_tombstones = source.modified_ms(&**fs)? > self.old_horizon_ms;
            for_each_batch(source, read, pace, |batch| {
                stats.read_bytes += batch.bytes().len() as u64;
                let kept = rules.keep(batch, transactions, filter, output.pending(), &mut counts)?;
                output.add_aborted(transactions.take_retained());
                let written = match kept {
                    Kept::Nothing => 0,
                    Kept::Whole => output.add(*batch.header(), batch.bytes()).map_err(Interrupted::from)?,
                    Kept::Changed(header) => output.add_appended(header).map_err(Interrupted::from)?,
                };
                if written > 0 {
                    stats.written_bytes += written;
                    pace.pass(written)?;
                }
                Ok(true)
            })?;
        }
        stats.written_bytes += output.pending().len() as u64;
        stats.read_records += counts.read;
        stats.kept_records += counts.kept;
        stats.records_without_key += counts.without_key;
        let segment = output.finish(modified_ms)?;
        let cleaned = Cleaned::new(fs, group.clone(), segment, *truncations);
        Ok(Some(cleaned))
    }
}
