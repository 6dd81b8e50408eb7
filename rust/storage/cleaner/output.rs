//! The segment that replaces a group: written under `.cleaned` names, then synced.
//!
//! Durability: after [`Output::finish`] the file of batches and the index files are on disk; their names are made
//! durable by the swap. A start unlinks `.cleaned` files ([`crate::swap_rules`]).

use std::sync::Arc;

use crate::segment::Segment;
use crate::state_file;
use ::io::{FileSystem, OpenMode};
use base::error::{Error, Result};
use index::AbortedTxn;
use record::BatchHeader;

/// See the module.
pub(super) struct Output<'b> {
    fs: Arc<dyn FileSystem>,
    segment: Segment,
    index_interval_bytes: u32,
    /// Batches that are not written yet, and their headers.
    pending: &'b mut Vec<u8>,
    headers: Vec<BatchHeader>,
    piece_bytes: usize,
    is_finished: bool,
}

impl<'b> Output<'b> {
    /// Writes to `segment`, which is empty. `pending` is memory for batches that are not written yet, of about
    /// `piece_bytes`.
    pub(super) fn of(
        fs: &Arc<dyn FileSystem>,
        segment: Segment,
        index_interval_bytes: u32,
        pending: &'b mut Vec<u8>,
        piece_bytes: usize,
    ) -> Self {
        pending.clear();
        Self {
            segment,
            fs: Arc::clone(fs),
            index_interval_bytes,
            pending,
            headers: Vec::new(),
            piece_bytes,
            is_finished: false,
        }
    }

    /// The end of the batches that are not written yet: a batch that is appended here is added with
    /// [`Self::add_appended`].
    pub(super) fn pending(&mut self) -> &mut Vec<u8> {
        self.pending
    }

    /// Adds the batch that was appended to [`Self::pending`]. Returns how many bytes were written now.
    pub(super) fn add_appended(&mut self, header: BatchHeader) -> Result<u64> {
        self.headers.push(header);
        if self.pending.len() < self.piece_bytes {
            return Ok(0);
        }
        self.write()
    }

    /// Adds a whole batch. Returns how many bytes were written now.
    pub(super) fn add(&mut self, header: BatchHeader, batch: &[u8]) -> Result<u64> {
        self.pending.extend_from_slice(batch);
        self.add_appended(header)
    }

    /// Adds aborted transactions whose markers were added, in the order of the markers.
    pub(super) fn add_aborted(&mut self, aborted: impl Iterator<Item = AbortedTxn>) {
        for transaction in aborted {
            self.segment.txn_index.append(&transaction);
        }
    }

    fn write(&mut self) -> Result<u64> {
        let mut position = self.segment.append(self.pending).map_err(|(error, _)| error)?;
        for header in self.headers.drain(..) {
            self.segment.note(&header, position, self.index_interval_bytes);
            position += header.size_bytes() as u64;
        }
        let written = self.pending.len() as u64;
        self.pending.clear();
        self.segment.write_index_batch(&*self.fs)?;
        Ok(written)
    }

    /// Writes the rest, syncs the files and returns the sealed segment. Its file gets the time `modified_ms`, which
    /// retention compares when no record has a timestamp.
    pub(super) fn finish(mut self, modified_ms: i64) -> Result<Segment> {
        let fs = Arc::clone(&self.fs);
        if !self.pending.is_empty() {
            self.write()?;
        }
        self.segment.write_indexes(&*fs)?;
        let log = Arc::clone(self.segment.log());
        log.file
            .sync_data()
            .map_err(|error| Error::io("fsync", &log.path, error))?;
        let [_, indexes @ ..] = self.segment.file_paths();
        for path in indexes.iter().filter(|path| fs.exists(path)) {
            let file = fs.open(path, OpenMode::ReadWrite);
            file.and_then(|file| file.sync_data())
                .map_err(|error| Error::io("fsync", path, error))?;
        }
        fs.set_modified(&log.path, modified_ms)
            .map_err(|error| Error::io("set the time of", &log.path, error))?;
        self.segment.seal();
        self.is_finished = true;
        let (dir, base_offset) = (
            log.path.parent().unwrap_or(&log.path).to_path_buf(),
            self.segment.base_offset(),
        );
        let empty = Segment::unmade(&dir, base_offset, modified_ms);
        Ok(std::mem::replace(&mut self.segment, empty))
    }
}

impl Drop for Output<'_> {
    /// A cleaning that ended early leaves no files, if they can be unlinked; the next start unlinks the others.
    fn drop(&mut self) {
        if !self.is_finished {
            discard(&*self.fs, &mut self.segment);
        }
    }
}

/// Unlinks the files of a segment that replaces nothing.
pub(super) fn discard(fs: &dyn FileSystem, segment: &mut Segment) {
    segment.log().file.retire();
    for path in segment.file_paths() {
        let _ = state_file::remove(fs, &path); // the next start tries again
    }
}
