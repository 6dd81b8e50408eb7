//! Where something stands in a partition, as types of their own: by offset, by leader epoch, by position in a segment's
//! file.
//!
//! Such numbers are easily taken for each other, for counts, sizes or other epochs, so each is a type of its own
//! wherever one module hands it to another. Each is as large as its integer and costs nothing. None turns into another
//! number by itself: `Position(bytes)` makes one, [`Position::get`] gives the integer, for arithmetic, the wire, the
//! file system and Python. Nothing here knows what a log, a batch or a file is.

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

/// Where a record stands in its partition: the log gives offsets in order, from 0.
///
/// It is the offset of a record in a log of this broker, or in a replica of such a log. The offset that a group commits
/// is the client's number, which no broker checks; it stays an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Offset(pub i64);

impl Offset {
    /// Kafka's -1: not given, or not known.
    pub const NONE: Self = Self(-1);
    /// Behind every record.
    pub const MAX: Self = Self(i64::MAX);

    /// The bare number.
    #[inline]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether a record may have it; negative ones say that there is none.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.0 >= 0
    }

    /// Whether no record may have it.
    #[inline]
    pub const fn is_none(self) -> bool {
        !self.is_some()
    }

    /// Some offsets further on, at most at [`Self::MAX`].
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, count: i64) -> Self {
        Self(self.0.saturating_add(count))
    }

    /// Some offsets back, at most at the least number there is.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, count: i64) -> Self {
        Self(self.0.saturating_sub(count))
    }
}

impl Add<i64> for Offset {
    type Output = Self;

    #[inline]
    fn add(self, count: i64) -> Self {
        Self(self.0 + count)
    }
}

impl Sub<i64> for Offset {
    type Output = Self;

    #[inline]
    fn sub(self, count: i64) -> Self {
        Self(self.0 - count)
    }
}

/// The offsets between; negative when the first is before the second.
impl Sub for Offset {
    type Output = i64;

    #[inline]
    fn sub(self, from: Self) -> i64 {
        self.0 - from.0
    }
}

impl fmt::Display for Offset {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a leader's term in a partition; it rises with each leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(transparent)]
pub struct LeaderEpoch(pub i32);

impl LeaderEpoch {
    /// Kafka's -1: not given, not known, or from before there were any.
    pub const NONE: Self = Self(-1);

    /// The bare number.
    #[inline]
    pub const fn get(self) -> i32 {
        self.0
    }

    /// Whether it is that of a leader; negative ones are not.
    #[inline]
    pub const fn is_some(self) -> bool {
        self.0 >= 0
    }

    /// Whether it is that of no leader.
    #[inline]
    pub const fn is_none(self) -> bool {
        !self.is_some()
    }
}

impl fmt::Display for LeaderEpoch {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Position {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
