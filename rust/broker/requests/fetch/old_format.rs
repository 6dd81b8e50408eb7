//! Fetch versions 0 to 3: the batches that were read become message sets of magic 0 or 1.
//!
//! Place: between the reads of a [`Plan`] and its encoding, on a thread that may take its time: a network loop hands
//! every fetch of these versions to an `inflate` thread. Batches are read and converted one after the other, so that a
//! response takes [`CONVERTED_BYTES`] and one batch. Versions 0 to 2 get a set that is cut at the partition's limit,
//! from which clients learn that a message is larger than their fetch; version 3 gets what the first batch becomes,
//! whatever the limit. Control batches become nothing, and the read goes on behind them. An error ends the partition's
//! set; when nothing precedes it, the partition is answered with the error. It never writes.

use std::io::ErrorKind;

use super::outcome::Outcome;
use super::{Plan, Row, is_enough};
use crate::Broker;
use crate::metrics::Count;
use crate::partition::{Partition, ReadRequest};
use base::error::{Error, ErrorCode};
use base::place::{LeaderEpoch, Offset};
use protocol::fetch::{BATCHES_FROM, MAX_BYTES_FROM, message_set_magic};
use record::BatchError;
use record::legacy::{DownConverter, Magic};
use storage::batch_walk::{BatchWalk, Piece, ReadError, Step};
use storage::{FileSlice, Wait};

/// The bytes of messages in one response, but for the message that reaches it: a tenth of a second, or half a second
/// with gzip. The limit of a partition is 1 MiB by an old consumer's default.
const CONVERTED_BYTES: usize = 4 << 20;
/// The bytes of batches that become nothing which one fetch of a partition reads: some 800,000 control batches.
const SCANNED_BYTES: usize = 64 << 20;
/// The bytes of batches that are looked at behind batches that became nothing.
const NEXT_BYTES: usize = 1 << 20;
/// The bytes of one read of a file, but for larger batches.
const PIECE_BYTES: usize = 64 << 10;

/// Why a partition's batches were not converted to their end.
enum Failure {
    Batch(BatchError),
    Read(ReadError),
}

impl From<BatchError> for Failure {
    fn from(error: BatchError) -> Self {
        Self::Batch(error)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// What the batches of a slice became.
#[derive(Default)]
struct Converted {
    set: Vec<u8>,
    /// The offset behind the last batch that was converted.
    next_offset: Offset,
    /// Records that became messages.
    records: u64,
    failure: Option<Failure>,
}

impl Plan {
    /// Whether the answer has message sets instead of batches.
    pub(super) fn is_old_format(&self) -> bool {
        self.version < BATCHES_FROM
    }

    /// Whether the limits of bytes hold even for the first batch, and a set is cut there.
    pub(super) fn has_hard_limit(&self) -> bool {
        self.version < MAX_BYTES_FROM
    }

    /// Whether there is enough to answer before the deadline. Batches of an old format are converted first: an answer
    /// in which they all became nothing would make the client ask again at once.
    pub(super) fn is_ready(&self, broker: &Broker, outcomes: &mut [Outcome]) -> bool {
        if !is_enough(self, outcomes) {
            return false;
        }
        if !self.is_old_format() || self.min_bytes == 0 {
            return true;
        }
        self.convert(broker, outcomes);
        let says_something = |outcome: &Outcome| outcome.error != ErrorCode::NONE || outcome.sent_bytes() > 0;
        outcomes.iter().any(says_something)
    }

    /// Converts what was read, unless the version has batches; does nothing the second time.
    pub(super) fn convert(&self, broker: &Broker, outcomes: &mut [Outcome]) {
        let Some(magic) = message_set_magic(self.version).and_then(Magic::from_byte) else {
            return;
        };
        let mut left = CONVERTED_BYTES.min(self.max_bytes);
        let mut is_first = true;
        for (row, outcome) in self.rows.iter().zip(outcomes) {
            let (Some(slice), Some(partition)) = (outcome.read.slice.take(), &row.partition) else {
                continue;
            };
            let asked = usize::try_from(row.asked.max_bytes).unwrap_or(0);
            let limit = asked.min(left);
            let needs_one = is_first && !self.has_hard_limit();
            if limit == 0 && !needs_one {
                continue;
            }
            // where the partition's set ends behind a batch, and within a batch
            let limits = (limit, if needs_one { CONVERTED_BYTES } else { limit });
            match self.convert_row((broker, partition), row, slice, (magic, limits)) {
                Ok(mut set) => {
                    if self.has_hard_limit() {
                        set.truncate(limit);
                    }
                    left = left.saturating_sub(set.len());
                    is_first &= set.is_empty();
                    outcome.converted = Some(set);
                }
                Err(code) => *outcome = Outcome::failed(code),
            }
        }
    }

    /// The message set of one partition; empty when there are only batches that become nothing.
    fn convert_row(
        &self,
        (broker, partition): (&Broker, &Partition),
        row: &Row,
        slice: FileSlice,
        (magic, limits): (Magic, (usize, usize)),
    ) -> Result<Vec<u8>, ErrorCode> {
        let (mut slice, mut scanned) = (slice, 0);
        loop {
            scanned += slice.len;
            let converted = convert_slice(&slice, row.asked.fetch_offset, magic, limits);
            partition.meter().add(Count::FetchMessageConversions, converted.records);
            match converted.failure {
                Some(failure) if converted.set.is_empty() => return Err(code_of(broker, partition, failure)),
                None if converted.set.is_empty() && scanned < SCANNED_BYTES => {}
                _ => return Ok(converted.set),
            }
            match self.read_on(partition, converted.next_offset) {
                Some(next) => slice = next,
                None => return Ok(Vec::new()),
            }
        }
    }

    /// The batches from `offset` on; `None` when there are none, or when they cannot be read now.
    fn read_on(&self, partition: &Partition, offset: Offset) -> Option<FileSlice> {
        let request = ReadRequest {
            offset,
            current_leader_epoch: LeaderEpoch::NONE,
            last_fetched_epoch: LeaderEpoch::NONE,
            max_bytes: NEXT_BYTES,
            at_least_one_batch: true,
            isolation: self.isolation,
            served_by: self.served_by,
            wait: Wait::Yes,
            nearer: &[],
        };
        partition.read(&request).ok()?.slice
    }
}

/// Converts the whole batches of a slice until the set has as many bytes as the limits say.
fn convert_slice(slice: &FileSlice, first_offset: Offset, magic: Magic, limits: (usize, usize)) -> Converted {
    let mut converted = Converted {
        next_offset: first_offset,
        ..Converted::default()
    };
    converted.failure = convert_batches(slice, first_offset, magic, limits, &mut converted).err();
    converted
}

fn convert_batches(
    slice: &FileSlice,
    first_offset: Offset,
    magic: Magic,
    (limit, batch_limit): (usize, usize),
    converted: &mut Converted,
) -> Result<(), Failure> {
    let mut down = DownConverter::new(magic).up_to(batch_limit);
    let ends = (slice.position, slice.position + slice.len as u64);
    let mut walk = BatchWalk::new(&*slice.file, ends, Piece::of_batches(PIECE_BYTES), Vec::new());
    while converted.set.is_empty() || converted.set.len() < limit {
        match walk.step()? {
            Step::Batch(header) => {
                walk.hold_batch()?;
                let pushed = down.push(&walk.held_batch()?, first_offset, &mut converted.set);
                converted.records = down.records();
                pushed?;
                converted.next_offset = header.base_offset + i64::from(header.last_offset_delta) + 1;
            }
            Step::End | Step::Short(_) => break,
            Step::Invalid(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The partition's error. A file that ends early was cut during the read: this broker has become a follower.
fn code_of(broker: &Broker, partition: &Partition, failure: Failure) -> ErrorCode {
    match failure {
        Failure::Batch(error @ BatchError::NotInLegacy { .. }) => error.code(),
        Failure::Batch(_) => ErrorCode::CORRUPT_MESSAGE,
        Failure::Read(ReadError::Io(error)) if error.kind() != ErrorKind::UnexpectedEof => {
            let error = Error::io("read", &partition.log_dir(), error);
            broker.storage_failed(partition, &error);
            error.code()
        }
        Failure::Read(_) => ErrorCode::NOT_LEADER_OR_FOLLOWER,
    }
}

#[cfg(test)]
#[path = "old_format_tests.rs"]
mod tests;
