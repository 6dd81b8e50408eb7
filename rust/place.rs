//! Where something stands in a partition, as types of their own: a position in a segment's file.
//!
//! A position is easily taken for a size, a count or an offset, so it is a type of its own wherever one module hands it to another.
//! It is as large as its integer and costs nothing. It never turns into another number by itself: `Position(bytes)` makes one,
//! [`Position::get`] gives the integer, for arithmetic, the file system, the network and Python. Nothing here knows what a log, a
//! batch or a file is.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// Bytes into a segment's `.log` file: where a batch begins, or where the last one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Position(pub u64);

impl Position {
    /// Where the first batch of a segment begins.
    pub const START: Self = Self(0);

    /// The bare number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Bytes from here to `end`; 0 when that lies before.
    #[inline]
    pub const fn bytes_to(self, end: Self) -> u64 {
        end.0.saturating_sub(self.0)
    }

    /// Some bytes further on, at most at the greatest position there is.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, bytes: u64) -> Self {
        Self(self.0.saturating_add(bytes))
    }
}

impl Add<u64> for Position {
    type Output = Self;

    #[inline]
    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl AddAssign<u64> for Position {
    #[inline]
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}

/// The bytes between; the first is not before the second.
impl Sub for Position {
    type Output = u64;

    #[inline]
    fn sub(self, from: Self) -> u64 {
        self.0 - from.0
    }
}

impl fmt::Display for Position {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
