//! Reads the batches of a segment that is cleaned, each with its CRC checked.
//!
//! A batch that is not whole or not right is [`Error::CorruptFile`] with the file and the position: the log cannot be
//! cleaned, and nothing of it is changed.

use super::cleaning::{Interrupted, Pace};
use super::plan::Source;
use crate::recovery::check::{BatchReader, Step};
use base::error::Error;
use base::place::Position;
use record::{Batch, BatchError};

/// Most bytes that a batch is inflated to.
pub(super) const INFLATE_LIMIT: usize = 256 << 20;

/// Shows each batch to `visit`, until `visit` returns false.
pub(super) fn for_each_batch(
    source: &Source,
    buffer: &mut Vec<u8>,
    pace: &dyn Pace,
    mut visit: impl FnMut(&Batch<'_>) -> Result<bool, VisitError>,
) -> Result<(), Interrupted> {
    let log = &source.log;
    log.file.advise_sequential(0, source.end.get());
    let mut reader = BatchReader::new(&*log.file, &log.path, source.end, buffer);
    let corrupt = |position: Position, reason: String| Error::CorruptFile {
        path: log.path.clone(),
        position,
        reason,
    };
    let mut passed = Position::START;
    loop {
        let position = reader.position();
        let batch = match reader.next_batch()? {
            Step::Batch(batch) => batch,
            Step::End => break,
            Step::Torn => return Err(corrupt(position, "the last batch is not whole".to_owned()).into()),
            Step::Zeros => return Err(corrupt(position, "only zeros follow".to_owned()).into()),
            Step::Bad(reason) => return Err(corrupt(position, reason).into()),
        };
        let goes_on = match visit(&batch) {
            Ok(goes_on) => goes_on,
            Err(VisitError::Batch(error)) => return Err(corrupt(position, error.to_string()).into()),
            Err(VisitError::Interrupted(interrupted)) => return Err(interrupted),
        };
        if !goes_on {
            break;
        }
        if passed.bytes_to(position) >= PASS_BYTES {
            pace.pass(passed.bytes_to(position))?;
            passed = position;
        }
    }
    pace.pass(passed.bytes_to(reader.position()))
}

/// After so many bytes the pace is asked.
const PASS_BYTES: u64 = 256 << 10;

/// Why a batch could not be visited.
pub(super) enum VisitError {
    /// Its bytes are wrong.
    Batch(BatchError),
    /// The cleaning ends.
    Interrupted(Interrupted),
}

impl From<BatchError> for VisitError {
    fn from(error: BatchError) -> Self {
        Self::Batch(error)
    }
}

impl From<Interrupted> for VisitError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}
