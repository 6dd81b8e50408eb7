//! The offsets of a partition that readers see without the log's lock.
//!
//! They are published under the log's lock, from the log and the lease:
//! `log_start ≤ last_stable ≤ high_watermark ≤ log_end`. A reader that looks at two of them may see one from before a
//! publication and one from after it.

use std::sync::atomic::{AtomicI64, Ordering};

use base::place::Offset;
use storage::Log;

/// The bound up to which a reader may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Up to the log end; only for followers.
    LogEnd,
    /// Up to the high watermark.
    ReadUncommitted,
    /// Up to the last stable offset, with the aborted transactions.
    ReadCommitted,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Offsets {
    log_start: AtomicI64,
    last_stable: AtomicI64,
    high_watermark: AtomicI64,
    log_end: AtomicI64,
    flushed: AtomicI64,
}

/// One look at a partition's offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetsView {
    /// First offset that can be read.
    pub log_start: Offset,
    /// First offset that `read_committed` may not see.
    pub last_stable: Offset,
    /// First offset that consumers may not see.
    pub high_watermark: Offset,
    /// Offset of the next record.
    pub log_end: Offset,
}

impl Offsets {
    /// Sets the high watermark; the other offsets are 0 until they are published.
    pub(super) fn with_high_watermark(high_watermark: Offset) -> Self {
        Self {
            high_watermark: AtomicI64::new(high_watermark.get()),
            ..Self::default()
        }
    }

    /// All of them.
    pub fn view(&self) -> OffsetsView {
        OffsetsView {
            log_start: self.log_start(),
            last_stable: self.last_stable(),
            high_watermark: self.high_watermark(),
            log_end: self.log_end(),
        }
    }

    /// First offset that can be read.
    pub fn log_start(&self) -> Offset {
        Offset(self.log_start.load(Ordering::Acquire))
    }

    /// First offset that `read_committed` may not see.
    pub fn last_stable(&self) -> Offset {
        Offset(self.last_stable.load(Ordering::Acquire))
    }

    /// First offset that consumers may not see.
    pub fn high_watermark(&self) -> Offset {
        Offset(self.high_watermark.load(Ordering::Acquire))
    }

    /// Offset of the next record.
    pub fn log_end(&self) -> Offset {
        Offset(self.log_end.load(Ordering::Acquire))
    }

    /// Records before this offset are on disk.
    pub fn flushed(&self) -> Offset {
        Offset(self.flushed.load(Ordering::Acquire))
    }

    /// First offset that a reader may not see.
    pub fn bound(&self, isolation: Isolation) -> Offset {
        let bound = match isolation {
            Isolation::LogEnd => &self.log_end,
            Isolation::ReadUncommitted => &self.high_watermark,
            Isolation::ReadCommitted => &self.last_stable,
        };
        Offset(bound.load(Ordering::Acquire))
    }

    /// Whether a read at `offset` would give anything.
    pub fn has_data_past(&self, offset: Offset, isolation: Isolation) -> bool {
        offset < self.bound(isolation)
    }

    /// Whether a follower whose log ends at `log_end` would get a newer high watermark than `known`.
    pub fn has_watermark_past(&self, known: Offset, log_end: Offset) -> bool {
        known < self.high_watermark().min(log_end)
    }

    /// Whether a follower whose log starts at `known` (-1: its fetch does not say) and ends at `log_end` would take
    /// over a later log start.
    pub fn has_log_start_past(&self, known: Offset, log_end: Offset) -> bool {
        known.is_some() && known < self.log_start().min(log_end)
    }

    /// Takes over a leader's high watermark, if it is later. The caller publishes afterwards.
    pub(super) fn raise_high_watermark(&self, to: Offset) {
        self.high_watermark.fetch_max(to.get(), Ordering::AcqRel);
    }

    /// Publishes the log's offsets, with this high watermark.
    pub(super) fn publish(&self, log: &Log, high_watermark: Offset) {
        self.log_end.store(log.log_end_offset().get(), Ordering::Release);
        self.high_watermark.store(high_watermark.get(), Ordering::Release);
        let last_stable = log.contents().last_stable_offset(high_watermark);
        self.last_stable.store(last_stable.get(), Ordering::Release);
        self.log_start.store(log.log_start_offset().get(), Ordering::Release);
        self.flushed.store(log.recovery_point().get(), Ordering::Release);
    }
}
