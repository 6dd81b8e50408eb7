//! Whether a log may be written: whether it is on disk, closed, poisoned, or in the middle of a truncation.
//!
//! - *Poisoned*: an fsync failed, or a failed write could not be cut off. Nothing is written again.
//! - *Closed*: nothing is written until it is opened again.
//! - *Unmade*: it has no directory yet ([`super::materialise`]).
//! - *Unfinished*: a truncation met a shortage and comes before everything else ([`super::truncate`]).
//!
//! Flags in memory only; the verbs of the log act by them.

use std::path::Path;

use super::materialise::Unmade;
use super::truncate::Unfinished;
use crate::error::{Error, Result};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Standing {
    is_poisoned: bool,
    is_closed: bool,
    unmade: Option<Unmade>,
    unfinished: Option<Unfinished>,
}

impl Standing {
    /// Of a log that has no directory.
    pub(super) fn of_unmade(unmade: Unmade) -> Self {
        Self {
            unmade: Some(unmade),
            ..Self::default()
        }
    }

    /// An error for a log in `dir` that takes no writes.
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

    pub(super) fn is_poisoned(&self) -> bool {
        self.is_poisoned
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Nothing is written from now on.
    pub(super) fn poison(&mut self) {
        self.is_poisoned = true;
    }

    /// A shortage changes nothing: what met it may be repeated. Any other failure poisons the log.
    pub(super) fn note_failure(&mut self, error: &Error) {
        self.is_poisoned |= !error.is_shortage();
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Its close met a shortage and may be repeated.
    pub(super) fn reopen(&mut self) {
        self.is_closed = false;
    }

    /// What the log needs to come to disk; `None` once it is there.
    #[inline]
    pub(super) fn unmade(&self) -> Option<Unmade> {
        self.unmade
    }

    /// A step of coming to disk was done or is known now; `None`: the last one.
    pub(super) fn make(&mut self, unmade: Option<Unmade>) {
        self.unmade = unmade;
    }

    /// The truncation that comes before everything else.
    #[inline]
    pub(super) fn unfinished(&self) -> Option<Unfinished> {
        self.unfinished
    }

    /// A truncation begins, goes on from another offset, or (`None`) has ended.
    pub(super) fn truncate(&mut self, truncation: Option<Unfinished>) {
        self.unfinished = truncation;
    }
}
