//! Checks that the batches of a segment are in order: offsets and leader epochs.
//!
//! Neither field is under a CRC, and a wrong value shows only at the next batch. So when a batch does not follow the
//! previous batch, but would follow the batch before that, the previous batch is at fault:
//! - (a) it began beyond the expected offset (a hole), and without it there is no hole;
//! - (b) it alone has a later epoch.

use base::place::{LeaderEpoch, Offset, Position};

/// Consecutive batches of one leader epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochRun {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Base offset of its first batch.
    pub base_offset: Offset,
    /// Base offset of its last batch.
    pub last_base: Offset,
    /// Where its first batch begins.
    pub position: Position,
    /// Batches in it.
    pub batches: u64,
}

/// See the module.
pub struct Order {
    base_offset: Offset,
    next_base: Option<Offset>,
    expected: Offset,
    /// When the previous batch left a hole: the offset that was expected, and the batch's position.
    hole: Option<(Offset, Position)>,
    holes: u64,
    /// Epochs in order.
    pub runs: Vec<EpochRun>,
}

/// The position of a misplaced batch, and a sentence on the fault.
pub type Misplaced = (Position, String);

impl Order {
    /// The order of a segment that begins at `base_offset` and ends before `next_base`.
    pub fn new(base_offset: Offset, next_base: Option<Offset>) -> Self {
        Self {
            base_offset,
            next_base,
            expected: base_offset,
            hole: None,
            holes: 0,
            runs: Vec::new(),
        }
    }

    /// The offset after the last batch.
    pub fn next_offset(&self) -> Offset {
        self.expected
    }

    /// Whether offsets are missing between batches, as compaction leaves them.
    pub fn has_holes(&self) -> bool {
        self.holes > 0
    }

    /// Checks the next batch, which has these offsets.
    pub fn offsets(&mut self, position: Position, base: Offset, last: Offset) -> Result<(), Misplaced> {
        if last < base {
            self.expected = self.expected.max(base.saturating_add(1));
            return Err((
                position,
                format!("the batch ends with offset {last}, before it begins with {base}"),
            ));
        }
        if base < self.base_offset || last - self.base_offset > i64::from(i32::MAX) {
            let segment = self.base_offset;
            return Err((
                position,
                format!("offsets {base} to {last} cannot be in the segment of {segment}"),
            ));
        }
        if let Some(next) = self.next_base.filter(|next| last >= *next) {
            return Err((
                position,
                format!("offsets {base} to {last} belong to a later segment: the next one begins with {next}"),
            ));
        }
        if base >= self.expected {
            self.hole = (base > self.expected).then_some((self.expected, position));
            self.holes += u64::from(self.hole.is_some());
            self.expected = last + 1;
            return Ok(());
        }
        let expected = self.expected;
        if let Some((before, blamed)) = self.hole.take().filter(|(before, _)| base >= *before) {
            self.holes -= 1; // (a)
            self.expected = last + 1;
            return Err((
                blamed,
                format!(
                    "the batch's offsets go beyond those of the one behind it, which begins with {base}; {before} was \
                     expected"
                ),
            ));
        }
        Err((
            position,
            format!("offsets {base} to {last} do not follow: {expected} was expected"),
        ))
    }

    /// Notes a batch of which only the base offset is known.
    pub fn unknown(&mut self, base: Offset) {
        self.hole = None;
        if base >= self.expected && self.next_base.is_none_or(|next| base < next) {
            self.expected = base + 1;
        }
    }

    /// Checks the leader epoch of the next batch; −1 (from before leader epochs) is not checked.
    pub fn epoch(&mut self, position: Position, base_offset: Offset, epoch: LeaderEpoch) -> Result<(), Misplaced> {
        if epoch.is_none() {
            return if epoch == LeaderEpoch::NONE {
                Ok(())
            } else {
                Err((position, format!("leader epoch {epoch} is none")))
            };
        }
        let new = EpochRun {
            epoch,
            base_offset,
            last_base: base_offset,
            position,
            batches: 1,
        };
        let Some(last) = self.runs.last_mut() else {
            self.runs.push(new);
            return Ok(());
        };
        if last.epoch == epoch {
            last.batches += 1;
            last.last_base = base_offset;
            return Ok(());
        }
        if last.epoch < epoch {
            self.runs.push(new);
            return Ok(());
        }
        let last = *last;
        let before = self.runs.len().checked_sub(2).and_then(|at| self.runs.get_mut(at));
        if last.batches == 1
            && let Some(before) = before.filter(|before| before.epoch <= epoch)
        {
            if before.epoch == epoch {
                before.batches += 1;
                before.last_base = base_offset;
            }
            let is_new = before.epoch < epoch;
            self.runs.pop(); // (b)
            if is_new {
                self.runs.push(new);
            }
            return Err((
                last.position,
                format!(
                    "leader epoch {} goes beyond the {epoch} of the batch behind it",
                    last.epoch
                ),
            ));
        }
        Err((position, format!("leader epoch {epoch} follows {}", last.epoch)))
    }
}
