//! The batch headers of a segment in offset order, for planning: a header is believed when its neighbours agree with
//! it.
//!
//! A checksum does not cover the base offset, and planning reads few checksums. So a header counts when it does not
//! begin below the end of the batch before it, and the batch behind it does not begin below its own end. In letters,
//! what the chain meets at a position:
//!
//! - (a) a batch between its neighbours: given;
//! - (b) a batch that contradicts them: passed over, when [`resync`] finds a batch behind it by the lengths in the
//!   headers; else the chain ends there;
//! - (c) a batch across the limit, which no batch behind it confirms: given when its checksum is right;
//! - (d) bytes that are no batch: the end at or above the limit (an append that is not finished, or space that Kafka
//!   preallocates), damage below it;
//! - (e) a batch of the next segment, which a cleaner's swap may leave there, or whose base offset is wrong: the end;
//!   the reader tells one from the other.
//!
//! A batch at or behind the limit, which its writer may be writing, is looked at only when something below is damaged.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::segments::Segment;
use super::{Result, ScanError};
use ::io::File;
use base::place::{Offset, Position};
use record::BatchHeader;
use storage::TopicPartition;
use storage::batch_walk::{BatchWalk, Piece, ReadError, Readable, Room, Step};

/// A batch that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where the batch begins.
    pub position: Position,
    /// The batch has this offset, or follows it.
    pub offset: Offset,
    /// What is wrong.
    pub reason: String,
}

impl Damage {
    /// The error that names the batch.
    pub fn error(self, partition: &TopicPartition) -> ScanError {
        ScanError::CorruptBatch {
            topic: partition.topic.to_string(),
            partition: partition.partition,
            offset: self.offset,
            path: self.path,
            position: self.position,
            reason: self.reason,
        }
    }
}

/// The error of a batch's bytes, with the batch's partition and offset.
pub(super) fn at_offset(error: ScanError, offset: Offset, partition: &TopicPartition) -> ScanError {
    let ScanError::Corrupt { path, position, reason } = error else {
        return error;
    };
    let damage = Damage {
        path,
        position,
        offset,
        reason,
    };
    damage.error(partition)
}

/// Why a chain has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChainEnd {
    /// No batch is left.
    Bytes,
    /// The batches that follow belong to the next segment.
    Neighbour,
    /// No batch can be found behind a damaged one: [`Chain::take_damage`].
    Damage,
}

/// See the module.
pub(super) struct Chain<'a> {
    segment: &'a Segment,
    walk: BatchWalk<&'a dyn File, Vec<u8>>,
    /// What stands behind the batch that was given last, where it was looked at.
    ahead: Option<(Position, Step)>,
    expected: Offset,
    /// Whether the next batch begins at `expected`, unless a cleaner has taken it; else, where an index has led into
    /// the segment, it may begin anywhere behind.
    is_due: bool,
    limit: Offset,
    end: Option<ChainEnd>,
    damage: Option<Damage>,
}

impl<'a> Chain<'a> {
    /// The batches in `range`. No batch below `limit` is being written any more.
    pub fn new(segment: &'a Segment, file: &'a dyn File, range: Range<Position>, limit: Offset) -> Self {
        Self {
            segment,
            is_due: range.start == Position::START,
            walk: BatchWalk::new(file, range, Piece::HEADERS, Vec::new()),
            ahead: None,
            expected: segment.base_offset,
            limit,
            end: None,
            damage: None,
        }
    }

    /// The next batch: where it begins and its header. `None` at the end.
    pub fn next_header(&mut self) -> Result<Option<(Position, BatchHeader)>> {
        while self.end.is_none() {
            let (position, step) = match self.ahead.take() {
                Some(ahead) => ahead,
                None => self.step()?,
            };
            let Step::Batch(header) = step else {
                self.end = Some(self.end_at(position, step)); // (d)
                break;
            };
            match self.doubt(position, &header)? {
                Some(reason) => self.pass_over(position, reason)?, // (b)
                None if header.base_offset >= self.segment.next_base_offset => {
                    let base = header.base_offset;
                    self.note(position, format!("the base offset {base} is of the next segment"));
                    self.end = Some(ChainEnd::Neighbour); // (e)
                }
                None => {
                    self.expected = header.next_offset();
                    self.is_due = true;
                    return Ok(Some((position, header))); // (a), (c)
                }
            }
        }
        Ok(None)
    }

    /// The offset behind the last batch that was given.
    pub const fn expected(&self) -> Offset {
        self.expected
    }

    /// Why the chain has ended, once it has.
    pub const fn end(&self) -> Option<ChainEnd> {
        self.end
    }

    /// Whether the chain ended at the file's last batch, of the next segment, though offsets of this segment are due.
    pub fn is_foreign_end(&self) -> bool {
        let is_last = !matches!(self.ahead, Some((_, Step::Batch(_))));
        self.end == Some(ChainEnd::Neighbour) && is_last && self.expected < self.segment.next_base_offset
    }

    /// Takes the damage that was met last.
    pub fn take_damage(&mut self) -> Option<Damage> {
        self.damage.take()
    }

    fn step(&mut self) -> Result<(Position, Step)> {
        let step = self.walk.step().map_err(|error| at(error, &self.segment.path))?;
        Ok((self.walk.position(), step))
    }

    fn end_at(&mut self, position: Position, step: Step) -> ChainEnd {
        let reason = match step {
            Step::Invalid(error) if self.expected < self.limit => error.to_string(),
            Step::Short(_) if self.expected < self.limit => {
                format!("the file ends within a batch, below {}", self.limit)
            }
            _ => return ChainEnd::Bytes,
        };
        self.note(position, reason);
        ChainEnd::Damage
    }

    /// Why the header cannot be right.
    fn doubt(&mut self, position: Position, header: &BatchHeader) -> Result<Option<String>> {
        let (expected, limit) = (self.expected, self.limit);
        if expected >= limit {
            return Ok(None);
        }
        let base = header.base_offset;
        let delta = i64::from(header.last_offset_delta);
        let next = base.get().checked_add(delta).and_then(|last| last.checked_add(1));
        let Some(next) = next.map(Offset).filter(|_| delta >= 0) else {
            return Ok(Some(format!(
                "the last offset delta {delta} is impossible after base offset {base}"
            )));
        };
        if base < expected {
            return Ok(Some(below(base, expected)));
        }
        let bound = self.segment.next_base_offset;
        if base < bound && next > bound {
            return Ok(Some(beyond(base, next, bound)));
        }
        // The header of an old wrapper message does not tell its first offset.
        let is_near = self.segment.is_last() && !header.is_wrapper();
        if base < limit && next > limit {
            let is_near = is_near && self.is_due;
            let is_right = (base == expected || !is_near) && self.is_sound(position)?; // (c)
            return Ok((!is_right).then(|| beyond(base, next, limit)));
        }
        if next == limit {
            return Ok(None);
        }
        let ahead = self.step()?;
        let doubt = match &ahead.1 {
            // One below `expected` is wrong itself.
            Step::Batch(behind) if (expected..next).contains(&behind.base_offset) => {
                Some(format!("the next batch begins at {}, below {next}", behind.base_offset))
            }
            Step::Batch(_) => None,
            _ if base > limit && is_near => Some(format!("the base offset is {base}, where {expected} is due")),
            _ if next < limit && is_near && !self.is_sound(position)? => {
                Some("it is the last batch, and its checksum is wrong".to_owned())
            }
            _ => None,
        };
        self.ahead = Some(ahead);
        Ok(doubt)
    }

    fn is_sound(&mut self, position: Position) -> Result<bool> {
        self.walk.go_to(position);
        self.step()?;
        is_sound(&mut self.walk).map_err(|error| at(error, &self.segment.path))
    }

    fn pass_over(&mut self, position: Position, reason: String) -> Result<()> {
        self.note(position, reason);
        self.ahead = None;
        self.walk.go_to(position);
        match resync(&mut self.walk, self.expected).map_err(|error| at(error, &self.segment.path))? {
            Some(base_offset) => self.expected = base_offset,
            None => self.end = Some(ChainEnd::Damage),
        }
        Ok(())
    }

    fn note(&mut self, position: Position, reason: String) {
        self.damage = Some(Damage {
            path: self.segment.path.clone(),
            position,
            offset: self.expected,
            reason,
        });
    }
}

/// Finds, behind the damaged batch at the walk's next position, a batch to go on with, by the lengths in the headers:
/// its checksum is right, the batch behind it does not begin within it, and the offsets from `due` to it suffice for
/// the sound batches that are passed over. Gives its base offset, with the walk in front of it; `None` without one.
pub(super) fn resync<F: Readable, R: Room>(
    walk: &mut BatchWalk<F, R>,
    due: Offset,
) -> Result<Option<Offset>, ReadError> {
    let mut least = due;
    let mut is_behind = false;
    while let Step::Batch(header) = walk.step()? {
        let (base, position) = (header.base_offset, walk.position());
        if is_sound(walk)? {
            if is_behind && base >= least && header.last_offset() >= base {
                let behind = walk.peek_header(walk.next_position())?;
                if behind.is_none_or(|behind| behind.base_offset >= header.next_offset()) {
                    walk.go_to(position);
                    return Ok(Some(base));
                }
            }
            least = least.saturating_add(i64::from(header.last_offset_delta.max(0)) + 1);
        }
        is_behind = true;
    }
    Ok(None)
}

/// Whether the checksum of the batch of the last step is right.
fn is_sound<F: Readable, R: Room>(walk: &mut BatchWalk<F, R>) -> Result<bool, ReadError> {
    walk.hold_batch()?;
    Ok(walk.held_batch().is_ok_and(|batch| batch.verify_crc().is_ok()))
}

/// The reason of a base offset that is too low.
pub(super) fn below(base: Offset, expected: Offset) -> String {
    format!("the base offset {base} is below {expected}, which is due here")
}

fn beyond(base: Offset, next: Offset, bound: Offset) -> String {
    format!("its offsets {base} to {} go beyond {bound}", next - 1)
}

fn at(error: ReadError, path: &Path) -> ScanError {
    error.at(path).into()
}
