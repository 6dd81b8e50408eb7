//! The batches of one segment file, for a listing: headers, and whether each CRC matches.
//!
//! Walks by length from the beginning of the file to its end as it was when opened; a batch cut short there ends the
//! walk. An impossible length or magic is [`ScanError::Corrupt`]; a CRC that does not match is reported and the walk
//! goes on. Memory: 256 KiB or the largest batch, which is never larger than the file. The list knows no wanted
//! offsets, transactions or watermarks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Result, ScanError};
use ::io::{File, FileSystem, OpenMode, OsFileSystem};
use base::place::Position;
use record::{BatchError, BatchHeader};
use storage::batch_walk::{BatchWalk, Piece, Step};

/// Bytes of a read.
const PIECE_BYTES: usize = 256 * 1024;
/// The most bytes that an old wrapper message is inflated to.
const INFLATE_LIMIT_BYTES: usize = 256 * 1024 * 1024;

/// See the module.
pub struct BatchList {
    walk: BatchWalk<Arc<dyn File>, Vec<u8>>,
    path: PathBuf,
    /// The messages of a wrapper.
    inflated: Vec<u8>,
}

/// One batch of the file.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// Where it begins.
    pub position: Position,
    /// The batch's header; of an old wrapper message that can be inflated, with its first offset and record count.
    pub header: BatchHeader,
    /// Whether its CRC matches.
    pub is_valid: bool,
}

impl BatchList {
    /// Opens a segment file.
    pub fn open(path: &Path) -> Result<Self> {
        let io = |op: &'static str| {
            move |source| ScanError::Io {
                op,
                path: path.to_path_buf(),
                source,
            }
        };
        let file = OsFileSystem.open(path, OpenMode::Read).map_err(io("open"))?;
        let len = file.len().map_err(io("read"))?;
        Ok(Self {
            walk: BatchWalk::new(
                file,
                Position::START..Position(len),
                Piece::of_batches(PIECE_BYTES),
                Vec::new(),
            ),
            path: path.to_path_buf(),
            inflated: Vec::new(),
        })
    }

    /// The next batch; `None` at the end of the file, or where a batch is cut short.
    pub fn next_batch(&mut self) -> Result<Option<Listed>> {
        match self.walk.step().map_err(|error| error.at(&self.path))? {
            Step::Batch(_) => {}
            Step::End | Step::Short(_) => return Ok(None),
            Step::Invalid(error) => return Err(self.corrupt(&error)),
        }
        let held = self.walk.hold_batch().map_err(|error| error.at(&self.path));
        let listed = held.map_err(ScanError::from).and_then(|()| {
            let batch = self.walk.held_batch().map_err(|error| self.corrupt(&error))?;
            let is_valid = batch.verify_crc().is_ok();
            let full = is_valid.then(|| batch.full_header(&mut self.inflated, INFLATE_LIMIT_BYTES));
            Ok(Listed {
                position: self.walk.position(),
                header: full.and_then(Result::ok).unwrap_or(*batch.header()),
                is_valid,
            })
        });
        if listed.is_err() {
            self.walk.go_to(self.walk.position()); // the next call meets the error again
        }
        listed.map(Some)
    }

    /// Bytes from the walk's position to the end of the file: after the last batch, the bytes that are no whole batch.
    pub fn rest(&self) -> u64 {
        self.walk.rest_behind()
    }

    fn corrupt(&self, error: &BatchError) -> ScanError {
        ScanError::Corrupt {
            path: self.path.clone(),
            position: self.walk.position(),
            reason: error.to_string(),
        }
    }
}

#[cfg(test)]
#[path = "batch_list_tests.rs"]
mod tests;
