//! The batches of one segment file as they stand, for showing them: headers, and whether each CRC matches.
//!
//! Walks by length from the beginning of the file to its end as it was when opened; a batch cut short there ends the walk.
//! A length or magic that cannot be is [`ScanError::Corrupt`]; a CRC that does not match is told and the walk goes on.
//! Memory: the largest batch, which is never larger than the file. Knows no offsets wanted, transactions or watermarks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Result, ScanError};
use crate::io::{File, FileSystem, OpenMode, OsFileSystem};
use crate::record::{BATCH_HEADER, Batch, BatchHeader};

/// See the module.
pub struct BatchList {
    file: Arc<dyn File>,
    path: PathBuf,
    position: u64,
    len: u64,
    buffer: Vec<u8>,
}

/// One batch of the file.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// Where it begins.
    pub position: u64,
    /// What its header says.
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
            file,
            path: path.to_path_buf(),
            position: 0,
            len,
            buffer: Vec::new(),
        })
    }

    /// The next batch; `None` at the end of the file, or where a batch is cut short.
    pub fn next_batch(&mut self) -> Result<Option<Listed>> {
        let left = self.len - self.position;
        if left < BATCH_HEADER as u64 {
            return Ok(None);
        }
        let mut head = [0; BATCH_HEADER];
        self.read(|file, at| file.read_exact_at(&mut head, at))?;
        let header = BatchHeader::parse(&head).map_err(|error| self.corrupt(error.to_string()))?;
        if header.size_bytes() as u64 > left {
            return Ok(None);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(header.size_bytes(), 0);
        let read = self.read(|file, at| file.read_exact_at(&mut buffer, at));
        self.buffer = buffer;
        read?;
        let batch = Batch::split_first(&self.buffer).map_err(|error| self.corrupt(error.to_string()))?;
        let Some((batch, _)) = batch else {
            return Err(self.corrupt("the batch changed while it was read".to_owned()));
        };
        let position = self.position;
        self.position += batch.bytes().len() as u64;
        Ok(Some(Listed {
            position,
            header: *batch.header(),
            is_valid: batch.verify_crc().is_ok(),
        }))
    }

    /// Bytes from where the walk stands to the end: after the last batch those that are no whole batch.
    pub fn rest(&self) -> u64 {
        self.len - self.position
    }

    fn read(&self, fill: impl FnOnce(&dyn File, u64) -> std::io::Result<()>) -> Result<()> {
        fill(self.file.as_ref(), self.position).map_err(|source| ScanError::Io {
            op: "read",
            path: self.path.clone(),
            source,
        })
    }

    fn corrupt(&self, reason: String) -> ScanError {
        ScanError::Corrupt {
            path: self.path.clone(),
            position: self.position,
            reason,
        }
    }
}

#[cfg(test)]
mod tests;
