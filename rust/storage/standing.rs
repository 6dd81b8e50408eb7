//! Whether a log may be written: whether it is on disk, closed, poisoned, or in the middle of a truncation.
//!
//! - *Poisoned*: an fsync failed, or a failed write could not be cut off. The log is never written again.
//! - *Closed*: the log is not written until it is opened again.
//! - *Unmade*: the log has no directory yet ([`super::materialise`]).
//! - *Unfinished*: a truncation met a shortage (see [`base::error::shortage`]); it must be finished before any other
//!   write.
//!
//! Flags in memory only; the log's operations check them.

use std::path::Path;

use super::uuid::Uuid;
use base::error::{Error, Result};
use base::place::Offset;

/// The facts that a log without files needs to make them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unmade {
    /// Written to `partition.metadata`, when the topic has one.
    pub(super) topic_id: Option<Uuid>,
    /// An attempt that was cut short has made the directory.
    pub(super) has_dir: bool,
}

/// A truncation that has begun; it may be repeated from the start.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unfinished {
    /// The end is cut off at this offset.
    CutAt(Offset),
    /// Everything is removed, and the log starts here.
    StartAnewAt(Offset),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Standing {
    is_poisoned: bool,
    is_closed: bool,
    unmade: Option<Unmade>,
    unfinished: Option<Unfinished>,
}

impl Standing {
    /// The state of a log that has no directory.
    pub(super) fn of_unmade(topic_id: Option<Uuid>) -> Self {
        Self {
            unmade: Some(Unmade {
                topic_id,
                has_dir: false,
            }),
            ..Self::default()
        }
    }

    /// Fails when the log in `dir` is poisoned or closed.
    #[inline]
    pub(super) fn check_writable(&self, dir: &Path) -> Result<()> {
        if self.is_poisoned {
            return Err(Error::Poisoned {
                path: dir.to_path_buf(),
            });
        }
        if self.is_closed {
            return Err(Error::Closed {
                path: dir.to_path_buf(),
            });
        }
        Ok(())
    }

    /// Whether the log may be written, and has no truncation to finish.
    pub(super) fn is_settled(&self) -> bool {
        !self.is_poisoned && !self.is_closed && self.unfinished.is_none()
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Forbids every write from now on.
    pub(super) fn poison(&mut self) {
        self.is_poisoned = true;
    }

    /// Poisons the log, unless the failed operation may be repeated: after a shortage, or while something else is in
    /// the log's place.
    pub(super) fn note_failure(&mut self, error: &Error) {
        self.is_poisoned |= !error.is_shortage() && !matches!(error, Error::Taken { .. });
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Undoes [`close`](Self::close): the close met a shortage and may be repeated.
    pub(super) fn reopen(&mut self) {
        self.is_closed = false;
    }

    /// What the log needs to make its files; `None` once they exist.
    #[inline]
    pub(super) fn unmade(&self) -> Option<Unmade> {
        self.unmade
    }

    /// Takes the topic id for the files that are not made yet; returns false when they exist.
    pub(super) fn set_topic_id(&mut self, topic_id: Uuid) -> bool {
        if let Some(unmade) = &mut self.unmade {
            unmade.topic_id = Some(topic_id);
        }
        self.unmade.is_some()
    }

    /// Sets what the log needs to make its files; `None` once the last step is done.
    pub(super) fn make(&mut self, unmade: Option<Unmade>) {
        self.unmade = unmade;
    }

    /// The truncation that must be finished first, if any.
    #[inline]
    pub(super) fn unfinished(&self) -> Option<Unfinished> {
        self.unfinished
    }

    /// A truncation begins, goes on from another offset, or (`None`) has ended.
    pub(super) fn truncate(&mut self, truncation: Option<Unfinished>) {
        self.unfinished = truncation;
    }
}
