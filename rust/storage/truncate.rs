//! Truncating a log: its end (a follower's log that diverges from its leader's), or all of it.
//!
//! Files are removed from the end backwards, so that a crash leaves a shorter log and never a hole. The recovery point
//! is lowered too; the caller writes its checkpoint soon after, and before it fetches again. A truncation that fails
//! half-way leaves memory and disk different, so it poisons the log. A truncation that met a shortage (see
//! [`base::error::shortage`]) is finished by the next call, before that call does anything else to the log.

use super::log::Log;
use super::segment::Segment;
use super::state_file;
use base::error::Result;
use base::place::{LeaderEpoch, Offset};

/// A truncation that has begun; it may be repeated from the start.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unfinished {
    /// The end is cut off at this offset.
    CutAt(Offset),
    /// Everything is removed, and the log starts here.
    StartAnewAt(Offset),
}

impl Log {
    /// Fails unless the log may be written, and finishes a truncation that a shortage interrupted.
    #[inline]
    pub(super) fn settle(&mut self) -> Result<()> {
        self.check_writable()?;
        self.standing
            .unfinished()
            .map_or(Ok(()), |truncation| self.truncate_now(truncation))
    }

    #[cold]
    fn truncate_now(&mut self, truncation: Unfinished) -> Result<()> {
        self.standing.truncate(Some(truncation));
        self.segments.forget_batches();
        let result = match truncation {
            Unfinished::CutAt(offset) => self.cut_end(offset),
            Unfinished::StartAnewAt(offset) => self.restart_at(offset),
        };
        match &result {
            Ok(()) => self.standing.truncate(None),
            Err(error) => self.standing.note_failure(error),
        }
        result
    }

    /// Removes every batch that holds `offset` or a later offset; returns whether there was any. An epoch that begins
    /// at the log's end is dropped in any case: its leader wrote nothing, and a follower that asks the leader for the
    /// end of that epoch would get the same answer for ever.
    pub fn truncate_to(&mut self, offset: Offset) -> Result<bool> {
        self.settle()?;
        if offset >= self.offsets.end() {
            self.epochs.truncate_from_end(self.offsets.end());
            return Ok(false);
        }
        if self.segments.first().base_offset() > offset {
            self.truncate_fully_and_start_at(offset)?;
            return Ok(true);
        }
        self.begin_truncation(offset);
        self.truncate_now(Unfinished::CutAt(offset)).map(|()| true)
    }

    /// Cuts the log at the offset where it diverges from another log. The other log has answered with the greatest
    /// epoch that it knows, up to the latest epoch of this log, and that epoch's end offset. The cases of KIP-279;
    /// after (b) another call may cut again:
    ///
    /// - (a) this log knows the epoch: cut at the lower of the two end offsets of that epoch
    /// - (b) it does not: cut at this log's end offset of the greatest epoch below
    /// - (c) it knows no epoch: cut at the other log's end offset
    ///
    /// Returns the offset of the cut.
    pub fn truncate_to_epoch(&mut self, (epoch, end_offset): (LeaderEpoch, Offset)) -> Result<Offset> {
        let end = self.offsets.end();
        let cut = match self.epochs.end_offset_for(epoch, end) {
            Some((known, own_end)) if known == epoch => own_end.min(end_offset), // (a)
            Some((_, own_end)) => own_end,                                       // (b)
            None => end_offset,                                                  // (c)
        };
        let cut = cut.min(end);
        self.truncate_to(cut)?;
        Ok(cut)
    }

    fn cut_end(&mut self, offset: Offset) -> Result<()> {
        let fs = self.fs();
        let now_ms = self.context.clock.now_ms();
        while self.segments.count() > 1 && self.segments.active().base_offset() > offset {
            self.remove_active_files()?;
            self.segments.pop();
        }
        let active = self.segments.active_mut();
        active.unseal(&*fs)?;
        let end = active.truncate_to(&*fs, offset, now_ms)?;
        // The batch that held `offset` is gone: a repetition cuts at that batch's base offset, not at `offset`.
        self.standing.truncate(Some(Unfinished::CutAt(end)));
        self.offsets.cut_to(end);
        self.epochs.truncate_from_end(end);
        self.producers
            .truncate_and_reload(&*fs, &self.dir, self.first_offset(), end, now_ms)?;
        self.replay_producers(end)
    }

    /// Removes all records and starts an empty log at `offset`.
    pub fn truncate_fully_and_start_at(&mut self, offset: Offset) -> Result<()> {
        self.settle()?;
        self.materialise()?;
        self.begin_truncation(offset);
        self.truncate_now(Unfinished::StartAnewAt(offset))
    }

    fn restart_at(&mut self, offset: Offset) -> Result<()> {
        let fs = self.fs();
        while self.segments.count() > 1 {
            self.remove_active_files()?;
            self.segments.pop();
        }
        self.remove_active_files()?;
        let segment = Segment::create(&*fs, &self.dir, offset, self.context.clock.now_ms())?;
        self.segments.restart(segment);
        self.syncs.note_name();
        self.offsets.restart_at(offset);
        self.epochs.clear();
        self.producers.truncate_fully_and_start_at(&*fs, &self.dir, offset)
    }

    /// Makes every flush that began earlier void, and lowers the recovery point to `offset`.
    fn begin_truncation(&mut self, offset: Offset) {
        self.syncs.note_truncation();
        self.offsets.distrust_from(offset);
    }

    fn remove_active_files(&mut self) -> Result<()> {
        let (active, fs) = (self.segments.active(), self.fs());
        let names = fs.hold_names();
        active.log().file.retire();
        drop(names); // unlinking a large file takes a while
        Segment::paths(&self.dir, active.base_offset())
            .iter()
            .try_for_each(|path| state_file::remove(&*fs, path))
    }
}

#[cfg(test)]
#[path = "truncate_tests.rs"]
mod tests;
