//! The meaning, by their names, of the files in a partition's directory while its segments are deleted or replaced.
//!
//! Kafka's cleaner writes the segments that replace others as `.cleaned`; once they are whole it renames each to
//! `.swap`, the last one first, then the replaced ones to `.deleted`, and gives the `.swap` files their real names. So,
//! wherever a crash came:
//!
//! - (a) `.deleted` files, and state files that were not renamed into place (`.tmp`), are out of use;
//! - (b) so are `.cleaned` files, of a cleaning that had not ended, and each `.swap` at or above the lowest of them;
//! - (c) the other `.swap` files are of a cleaning that had ended: together they replace every segment whose base
//!   offset lies between the lowest base offset and the greatest end of their `.log` files.
//!
//! A start cleans up by these rules (`recovery::leftovers`), a scan of a directory without a broker reads by them, and
//! a check skips such files. Touches no file: the caller gives the end offset of a `.swap` file.

use std::collections::BTreeSet;
use std::ops::Range;

use super::format::{CLEANED_SUFFIX, DELETED_SUFFIX, LOG_SUFFIX, SWAP_SUFFIX, TEMP_SUFFIX, parse_file_name};
use base::place::Offset;

/// The state of a file by the suffix of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing<'n> {
    /// (a)
    OutOfUse,
    /// (b)
    Cleaned,
    /// (b) or (c), with the name that it is to get.
    Swap(&'n str),
}

impl<'n> Passing<'n> {
    /// `None` for a file that has its real name.
    pub fn of(name: &'n str) -> Option<Self> {
        if name.ends_with(DELETED_SUFFIX) || name.ends_with(TEMP_SUFFIX) {
            Some(Self::OutOfUse)
        } else if name.ends_with(CLEANED_SUFFIX) {
            Some(Self::Cleaned)
        } else {
            name.strip_suffix(SWAP_SUFFIX).map(Self::Swap)
        }
    }

    /// Whether it is a `.log` that is to get its real name.
    pub fn is_swap_log(self) -> bool {
        matches!(self, Self::Swap(name) if name.ends_with(LOG_SUFFIX))
    }
}

/// What a start does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'n> {
    /// The file has its real name, and stays.
    Stays,
    /// (a), (b)
    Goes,
    /// (c): it is the file of that base offset with that suffix.
    TakesPlace(Offset, &'n str),
}

/// See the module.
#[derive(Debug)]
pub struct SwapRules {
    lowest_cleaned: Offset,
    swapped_logs: BTreeSet<Offset>,
    deleted: BTreeSet<Offset>,
}

impl SwapRules {
    /// The rules for a directory, from the names of all its files.
    pub fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let mut rules = Self {
            lowest_cleaned: Offset::MAX,
            swapped_logs: BTreeSet::new(),
            deleted: BTreeSet::new(),
        };
        for name in names {
            let (Some(passing), Some((offset, suffix))) = (Passing::of(name), parse_file_name(name)) else {
                continue;
            };
            match passing {
                Passing::Cleaned => rules.lowest_cleaned = rules.lowest_cleaned.min(offset),
                Passing::Swap(_) if suffix.strip_suffix(SWAP_SUFFIX) == Some(LOG_SUFFIX) => {
                    rules.swapped_logs.insert(offset);
                }
                Passing::OutOfUse if suffix.ends_with(DELETED_SUFFIX) => {
                    rules.deleted.insert(offset);
                }
                Passing::OutOfUse | Passing::Swap(_) => {}
            }
        }
        rules.swapped_logs.retain(|offset| *offset < rules.lowest_cleaned);
        rules
    }

    /// What a start does with the file of this name. A file whose name does not begin with an offset of 20 digits
    /// belongs to no segment, and stays.
    pub fn verdict<'n>(&self, name: &'n str) -> Verdict<'n> {
        let (Some(passing), Some((offset, suffix))) = (Passing::of(name), parse_file_name(name)) else {
            return Verdict::Stays;
        };
        match (passing, suffix.strip_suffix(SWAP_SUFFIX)) {
            (Passing::Swap(_), Some(real)) if offset < self.lowest_cleaned => Verdict::TakesPlace(offset, real), // (c)
            _ => Verdict::Goes, // (a), (b)
        }
    }

    /// Base offsets of the `.log` files of (c), ascending.
    pub fn swapped_logs(&self) -> impl Iterator<Item = Offset> + '_ {
        self.swapped_logs.iter().copied()
    }

    /// The base offsets that (c) replaces; `end_of` returns the offset after the last batch of the `.swap` file at a
    /// base offset.
    pub fn replaced<E>(&self, mut end_of: impl FnMut(Offset) -> Result<Offset, E>) -> Result<Option<Range<Offset>>, E> {
        let Some(first) = self.swapped_logs.first() else {
            return Ok(None);
        };
        let mut end = *first;
        for base_offset in &self.swapped_logs {
            end = end.max(end_of(*base_offset)?);
        }
        Ok(Some(*first..end))
    }

    /// Whether a file of this base offset is to be unlinked: its segment was deleted.
    pub fn is_deleted(&self, base_offset: Offset) -> bool {
        self.deleted.contains(&base_offset)
    }
}

#[cfg(test)]
#[path = "swap_rules_tests.rs"]
mod tests;
