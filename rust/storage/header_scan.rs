//! Walks the batch headers of a segment with few reads: one window serves every header that lies in it.
//!
//! Payloads are skipped, so a scan costs at most one small read a batch. It checks what a header can show (length,
//! magic), not the CRC. Never reads at or beyond `end`, which the caller knows to be written completely.

use std::path::Path;

use super::wait::Wait;
use crate::error::{Error, Result};
use crate::index::OffsetPosition;
use crate::io::File;
use crate::record::{BATCH_HEADER, BatchHeader};

/// Holds what lies between two index entries at the default interval, so that most lookups are one read.
const WINDOW: usize = 8192;
/// A header so far behind the window follows a batch larger than it, and is read alone: a window would hold no second one, and each line
/// of the page cache that it copies is waited for.
const FAR: u64 = 512;

/// See the module.
pub struct HeaderScan<'a> {
    file: &'a dyn File,
    path: &'a Path,
    wait: Wait,
    position: u64,
    end: u64,
    window: [u8; WINDOW],
    window_at: u64,
    window_len: usize,
    is_whole: bool,
}

/// The position that an index entry names, if a batch that ends with the entry's offset begins there; else 0. A damaged
/// index then costs a longer scan and never a wrong answer.
pub fn believed(file: &dyn File, path: &Path, entry: OffsetPosition, end: u64, wait: Wait) -> Result<u64> {
    if entry.position == 0 {
        return Ok(0);
    }
    let mut scan = HeaderScan::new(file, path, u64::from(entry.position), end).waiting(wait);
    match scan.next_header() {
        Ok(Some((position, header))) if header.last_offset() == entry.offset => Ok(position),
        Err(error @ (Error::Io { .. } | Error::NotAtHand { .. })) => Err(error),
        _ => Ok(0),
    }
}

impl<'a> HeaderScan<'a> {
    /// Begins at `position`, where a batch begins, and ends before `end`.
    pub fn new(file: &'a dyn File, path: &'a Path, position: u64, end: u64) -> Self {
        Self {
            file,
            path,
            wait: Wait::Yes,
            position,
            end,
            window: [0; WINDOW],
            window_at: 0,
            window_len: 0,
            is_whole: false,
        }
    }

    /// With [`Wait::No`] a header that is not in memory is [`Error::NotAtHand`].
    #[must_use]
    pub fn waiting(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// A batch that is cut short at the end is corrupt: `end` is where a batch ends.
    #[must_use]
    pub fn of_whole_batches(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// The next batch: where it begins and its header. `None` at the end, and at a batch that is cut short there.
    pub fn next_header(&mut self) -> Result<Option<(u64, BatchHeader)>> {
        if self.end.saturating_sub(self.position) < BATCH_HEADER as u64 {
            return self.cut_short();
        }
        let at = self.fill()?;
        let header = BatchHeader::parse(self.window.get(at..self.window_len).unwrap_or_default())
            .map_err(|error| self.corrupt(error.to_string()))?;
        let position = self.position;
        let next = position + header.size_bytes() as u64;
        if next > self.end {
            return self.cut_short();
        }
        self.position = next;
        Ok(Some((position, header)))
    }

    /// Nothing whole follows.
    fn cut_short(&self) -> Result<Option<(u64, BatchHeader)>> {
        if !self.is_whole || self.position == self.end {
            return Ok(None);
        }
        Err(self.corrupt(format!("no whole batch begins there before position {}", self.end)))
    }

    /// Goes to the first batch after an index entry's, or to the segment's beginning when no batch that ends with the
    /// entry's offset begins at its position: a damaged index costs a longer scan and never a wrong answer.
    pub fn skip_entry(&mut self, entry: OffsetPosition) -> Result<()> {
        if entry.position == 0 {
            self.position = 0;
            return Ok(());
        }
        self.position = u64::from(entry.position);
        match self.next_header() {
            Ok(Some((_, header))) if header.last_offset() == entry.offset => Ok(()),
            Err(error @ (Error::Io { .. } | Error::NotAtHand { .. })) => Err(error),
            _ => {
                self.position = 0;
                Ok(())
            }
        }
    }

    /// Where the next batch begins, or the cut-short one.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Makes the window hold the header at `position`; gives its place in the window.
    fn fill(&mut self) -> Result<usize> {
        let window_end = self.window_at + self.window_len as u64;
        if self.position < self.window_at || self.position + BATCH_HEADER as u64 > window_end {
            let is_past = self.window_len > 0 && self.position >= window_end + FAR;
            let most = if is_past { BATCH_HEADER } else { WINDOW };
            let len = (self.end - self.position).min(most as u64) as usize;
            self.read(len)?;
            (self.window_at, self.window_len) = (self.position, len);
        }
        Ok((self.position - self.window_at) as usize)
    }

    fn read(&mut self, len: usize) -> Result<()> {
        let window = &mut self.window[..len];
        let read = match self.wait {
            Wait::Yes => self.file.read_exact_at(window, self.position).map(|()| true),
            Wait::No => self.file.read_exact_if_cached(window, self.position),
        };
        match read {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::NotAtHand {
                path: self.path.to_path_buf(),
            }),
            Err(error) => Err(Error::io("read", self.path, error)),
        }
    }

    fn corrupt(&self, reason: String) -> Error {
        Error::CorruptFile {
            path: self.path.to_path_buf(),
            position: self.position,
            reason,
        }
    }
}
