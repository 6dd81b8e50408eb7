//! The part of a split that brokers give: pieces in memory, which are read like slices of a file.

use std::sync::Arc;

use super::{SplitReader, Step};
use crate::remote::MemoryFile;
use crate::{RemoteBatches, RemotePiece, Result, ScanError, Slice};
use base::place::Offset;
use storage::EpochCache;

/// What brokers give of a split, and the piece that is being read.
pub(super) struct Elsewhere {
    batches: Box<dyn RemoteBatches>,
    memory: Arc<MemoryFile>,
    slice: Slice,
    /// Whether the next batch begins where the last one ended, not at any offset at or below the wanted one.
    has_begun: bool,
}

impl Elsewhere {
    fn new(batches: Box<dyn RemoteBatches>, from: Offset) -> Self {
        Self {
            batches,
            memory: Arc::default(),
            slice: Slice::nothing(from),
            has_begun: false,
        }
    }

    /// The piece as a slice; its path names the broker.
    pub(super) fn slice(&self) -> &Slice {
        &self.slice
    }

    fn next(&mut self) -> Result<RemotePiece> {
        // no copy: the reader has closed the piece before
        self.batches.next(&mut Arc::make_mut(&mut self.memory).0)
    }
}

impl SplitReader {
    pub(super) fn can_go_elsewhere(&self) -> bool {
        self.elsewhere.is_none() && self.split.remote.is_some() && self.options.remote_log.is_some()
    }

    /// The next piece; its batches begin at `from`, or below it in the first piece and behind a loss.
    pub(super) fn take_piece(&mut self, from: Offset) -> Result<Step> {
        self.workspace.close(); // its memory is written anew
        let elsewhere = match &mut self.elsewhere {
            Some(elsewhere) => elsewhere,
            none => {
                let (Some(remote), Some(log)) = (&self.split.remote, &self.options.remote_log) else {
                    return Err(ScanError::Invalid(
                        "a split has neither files nor brokers to read it from".to_owned(),
                    ));
                };
                none.insert(Elsewhere::new(log.open(&self.split, remote, from)?, from))
            }
        };
        match elsewhere.next()? {
            RemotePiece::End => Ok(Step::End),
            RemotePiece::Lost { from, to, reason } => {
                // a batch that begins below `to` comes whole
                (elsewhere.slice.base_offset, elsewhere.has_begun) = (to, false);
                self.report_lost(from..to, &reason)?;
                Ok(Step::Elsewhere(to))
            }
            RemotePiece::Batches {
                start,
                end,
                before,
                from: broker,
            } => {
                let expected = if elsewhere.has_begun { from } else { Offset(0) };
                elsewhere.has_begun = true;
                elsewhere.slice.path = broker.into();
                elsewhere.slice.next_base_offset = before;
                let memory = Arc::clone(&elsewhere.memory);
                self.workspace.walk.restart(memory, start..end);
                Ok(Step::Batch(expected))
            }
        }
    }

    /// The first of the offsets below `read_to` whose records a later leader epoch than the planned one has replaced.
    /// The files tell, as far as they are still there.
    pub(super) fn replaced_from(&self, slice: &Slice, read_to: Offset) -> Option<Offset> {
        let planned = self.split.leader_epoch;
        let dir = slice.path.parent()?;
        let fs = self.options.file_system.as_ref();
        if planned.is_none() || !fs.exists(dir) {
            return None;
        }
        let epochs = EpochCache::open(fs, dir).ok()?;
        let later = epochs.entries().iter().find(|entry| entry.epoch > planned)?;
        let read_to = read_to.min(self.split.end_offset);
        (later.start_offset < read_to).then_some(later.start_offset)
    }
}
