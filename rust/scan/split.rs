//! The share of a scan that one task reads: byte ranges of a partition's segments and the wanted offsets in them. The
//! plan makes splits, the reader reads them, and they are sent between processes as JSON. A split holds no records and
//! never changes.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Remote, Result, ScanError};
use ::io::File;
use base::place::{LeaderEpoch, Offset, Position};

/// A share of one partition, in offset order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Split {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// First offset wanted. Splits of one partition neither overlap nor leave a gap.
    pub start_offset: Offset,
    /// One past the last offset wanted; never above the high watermark (or, under `read_committed`, the last stable
    /// offset) that the plan saw.
    pub end_offset: Offset,
    /// Where the bytes are, in offset order; empty when no file is known, and then `remote` is not.
    pub slices: Vec<Slice>,
    /// The latest leader epoch of the files when they were planned, -1 when unknown: records that a later epoch has put
    /// in their place are not those that were planned.
    #[serde(default = "unknown_epoch")]
    pub leader_epoch: LeaderEpoch,
    /// Where brokers are asked for what no file has.
    #[serde(default)]
    pub remote: Option<Remote>,
    /// Under `read_committed` the aborted transactions that touch the split; `None` under `read_uncommitted`.
    pub aborted: Option<Vec<AbortedRange>>,
}

/// A byte range of one segment, whole batches only.
#[derive(Clone, Serialize, Deserialize)]
pub struct Slice {
    /// The segment's `.log` file.
    pub path: PathBuf,
    /// A hard link to it that outlives its deletion, opened first; `path` when it is gone.
    pub link: Option<PathBuf>,
    /// The open file, when planned and read in one process; opened first of all.
    #[serde(skip)]
    pub file: Option<Arc<dyn File>>,
    /// [`File::identity`] of the file in which the positions below were found; `None` when it is not known. Under the
    /// same path a cleaner puts another file, whose batches are elsewhere.
    #[serde(default)]
    pub identity: Option<(u64, u64)>,
    /// The segment's base offset: records below it are not its own.
    pub base_offset: Offset,
    /// The next segment's base offset (`Offset::MAX` for the last): records from it on belong there. So a cleaner's
    /// swap in the middle neither doubles nor loses a record.
    pub next_base_offset: Offset,
    /// Byte position of the first batch.
    pub start: Position,
    /// One past the last byte; a file that ends before it was truncated meanwhile.
    pub end: Position,
}

/// An aborted transaction: the transactional batches of `producer_id` within `[first_offset, last_offset]` are not
/// committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortedRange {
    /// The producer of the batches.
    pub producer_id: i64,
    /// The first offset of the first batch.
    pub first_offset: Offset,
    /// The abort marker's offset.
    pub last_offset: Offset,
}

fn unknown_epoch() -> LeaderEpoch {
    LeaderEpoch::NONE
}

impl Split {
    /// Bytes that the split reads at most; without files about as many as the leader has.
    pub fn size_bytes(&self) -> u64 {
        if let (true, Some(remote)) = (self.slices.is_empty(), &self.remote) {
            return remote.size_bytes;
        }
        self.slices.iter().map(|slice| slice.start.bytes_to(slice.end)).sum()
    }

    /// The part of the split in `[from, to)`: the same bytes, of which the reader skips batches without such offsets.
    #[must_use]
    pub fn within(&self, from: Offset, to: Offset) -> Self {
        let start_offset = self.start_offset.max(from).min(self.end_offset);
        Self {
            start_offset,
            end_offset: self.end_offset.min(to).max(start_offset),
            ..self.clone()
        }
    }

    /// The split as JSON, without open files.
    pub fn encode(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| ScanError::Invalid(format!("a split cannot be written: {error}")))
    }

    /// The split that [`Split::encode`] gave as text.
    pub fn decode(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| ScanError::Invalid(format!("this is no split: {error}")))
    }
}

impl Slice {
    /// Nothing, where `base_offset` would be.
    pub(super) fn nothing(base_offset: Offset) -> Self {
        Self {
            path: PathBuf::new(),
            link: None,
            file: None,
            identity: None,
            base_offset,
            next_base_offset: Offset::MAX,
            start: Position::START,
            end: Position::START,
        }
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}..{}]", self.path.display(), self.start, self.end)
    }
}
