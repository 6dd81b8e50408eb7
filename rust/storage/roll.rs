//! Beginning a new segment.
//!
//! Afterwards the files of the old segment are complete but not synced: final time index entry, index files, and a
//! snapshot of the producer state at the new base offset. The next flush syncs them and moves the recovery point past
//! the old segment. Every step may be repeated: a roll that failed half-way changes nothing that an append relies on.

use super::log::Log;
use super::segment::Segment;
use super::state_file::Durability;
use base::error::Result;
use base::place::Offset;

impl Log {
    /// Seals the active segment and begins a new segment at the log's end. Does nothing while the active segment is
    /// empty.
    pub fn roll(&mut self, now_ms: i64) -> Result<()> {
        self.settle()?;
        self.roll_to(self.offsets.end(), now_ms)
    }

    pub(super) fn roll_to(&mut self, base_offset: Offset, now_ms: i64) -> Result<()> {
        if base_offset == self.segments.active().base_offset() {
            return Ok(());
        }
        if self.config.is_compacted && !self.is_listed {
            // A start after a crash takes every gap of such a log for compaction, so a power loss must leave none.
            let flushed = self.begin_flush().run();
            self.complete_flush(flushed)?;
        }
        let fs = self.fs();
        self.segments.active_mut().write_indexes(&*fs)?;
        self.producers
            .take_snapshot(&*fs, &self.dir, base_offset, Durability::Lazy)?;
        let segment = Segment::create(&*fs, &self.dir, base_offset, now_ms)?;
        self.segments.active_mut().seal();
        self.segments.push(&*fs, segment, self.offsets.start());
        self.syncs.note_name();
        self.choose_jitter();
        Ok(())
    }

    /// Chooses a jitter up to `segment.jitter.ms`, different for every segment, so that not all partitions roll at
    /// once.
    pub(super) fn choose_jitter(&mut self) {
        let most = self.config.segment_jitter_ms.min(self.config.segment_ms);
        if most <= 0 {
            self.roll_jitter_ms = 0;
            return;
        }
        let mut hash = u64::from(record::crc32c(self.dir.as_os_str().as_encoded_bytes()));
        hash = (hash ^ self.segments.active().base_offset().get() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.roll_jitter_ms = ((hash >> 1) % most as u64) as i64;
    }
}

#[cfg(test)]
#[path = "roll_tests.rs"]
mod tests;
