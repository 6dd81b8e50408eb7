//! Cuts a plan into shares of about equal bytes, on batch boundaries.
//!
//! A boundary is found by an offset index entry, if a batch begins at its position, and a short walk of headers. So the
//! shares of a partition cover its range exactly once, whatever the requested size; one share may hold several small
//! segments.

use super::plan::{PartitionPlan, Planned};
use super::segments::OpenSegment;
use super::{Result, ScanError, Slice, Split};
use base::place::{Offset, Position};

/// A share may be larger than requested by the requested size divided by this, rather than leave a small rest.
const SLACK: u64 = 4;

/// The split that is being filled.
struct Open {
    start_offset: Offset,
    slices: Vec<Slice>,
    bytes: u64,
}

impl PartitionPlan {
    /// The range in splits of about `split_bytes`, at least one batch each; none when there is nothing to read.
    pub fn splits(&self, split_bytes: u64) -> Result<Vec<Split>> {
        if split_bytes == 0 {
            return Err(ScanError::Invalid(
                "split_bytes: 0 is too few; give 1 or more".to_owned(),
            ));
        }
        let mut splits = Vec::new();
        let mut open = Open {
            start_offset: self.start_offset,
            slices: Vec::new(),
            bytes: 0,
        };
        for planned in &self.segments {
            if open.bytes > 0 && open.bytes + (planned.end - planned.start) > with_slack(split_bytes) {
                let left = split_bytes.saturating_sub(open.bytes);
                if left < split_bytes / SLACK {
                    self.close(&mut open, planned.segment.base_offset, &mut splits);
                }
            }
            self.cut(planned, split_bytes, &mut open, &mut splits)?;
        }
        if !open.slices.is_empty() {
            self.close(&mut open, self.end_offset, &mut splits);
        }
        if let Some(last) = splits.last_mut() {
            last.end_offset = self.end_offset;
        }
        Ok(splits)
    }

    /// Adds a segment, closing splits that are full.
    fn cut(&self, planned: &Planned, split_bytes: u64, open: &mut Open, splits: &mut Vec<Split>) -> Result<()> {
        let mut start = planned.start;
        let mut opened = None;
        while open.bytes + (planned.end - start) > with_slack(split_bytes) {
            let segment = match &mut opened {
                Some(segment) => segment,
                none => none.insert(self.open(planned)?),
            };
            let wanted = start + split_bytes.saturating_sub(open.bytes).max(1);
            let Some((position, offset)) = boundary(segment, start, wanted, planned.end, self.limit)? else {
                break;
            };
            open.push(planned, start, position);
            self.close(open, offset, splits);
            start = position;
        }
        if start < planned.end {
            open.push(planned, start, planned.end);
        }
        Ok(())
    }

    fn close(&self, open: &mut Open, end_offset: Offset, splits: &mut Vec<Split>) {
        let aborted = self.aborted.as_ref().map(|aborted| {
            let touches = |range: &&super::AbortedRange| {
                range.last_offset >= open.start_offset && range.first_offset < end_offset
            };
            aborted.iter().filter(touches).copied().collect()
        });
        splits.push(Split {
            topic: self.partition.topic.clone(),
            partition: self.partition.partition,
            start_offset: open.start_offset,
            end_offset,
            slices: std::mem::take(&mut open.slices),
            leader_epoch: self.leader_epoch,
            remote: None,
            aborted,
        });
        open.start_offset = end_offset;
        open.bytes = 0;
    }
}

impl Open {
    fn push(&mut self, planned: &Planned, start: Position, end: Position) {
        let segment = &planned.segment;
        self.bytes += end - start;
        self.slices.push(Slice {
            path: segment.path.clone(),
            link: segment.link.clone(),
            file: segment.file.clone(),
            identity: planned.identity,
            base_offset: segment.base_offset,
            next_base_offset: segment.next_base_offset,
            start,
            end,
        });
    }
}

const fn with_slack(split_bytes: u64) -> u64 {
    split_bytes.saturating_add(split_bytes / SLACK)
}

/// Position and base offset of the first batch at or after `wanted`, if one begins before `end`. A batch begins at
/// `start`. The header of an old wrapper message does not tell its first offset: the end of the batch before it stands
/// for that, and a wrapper without a batch before it is no boundary. Nor is a batch whose neighbours contradict it.
fn boundary(
    segment: &OpenSegment<'_>,
    start: Position,
    wanted: Position,
    end: Position,
    limit: Offset,
) -> Result<Option<(Position, Offset)>> {
    let mut chain = segment.chain(segment.start_before(wanted)?.max(start), end, limit);
    let mut previous_end = None;
    while let Some((position, header)) = chain.next_header()? {
        let base_offset = if header.is_wrapper() {
            previous_end
        } else {
            Some(header.base_offset)
        };
        if let Some(base_offset) = base_offset
            && position >= wanted
        {
            return Ok(Some((position, base_offset)));
        }
        previous_end = Some(header.next_offset());
    }
    Ok(None)
}

#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;
