//! Cleaning up the files that a crash may have left in a partition directory, as Kafka does, by [`SwapRules`]:
//!
//! - (a) files that are out of use: unlinked;
//! - (b) files of a cleaning that had not ended: unlinked, the `.cleaned` files last, because they mark the others;
//! - (c) a cleaning that had ended: the segments that its `.swap` files replace are unlinked, then the swap files get
//!   their real names;
//! - (d) index files whose `.log` is gone: unlinked once the log is open; until then they show that a segment is
//!   missing, unless its `.log` has been renamed to `.deleted`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::format::{
    INDEX_SUFFIX, LEADER_EPOCH_CHECKPOINT, LOG_SUFFIX, PARTITION_METADATA, SWAP_SUFFIX, TEMP_SUFFIX, TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX, file_path, parse_file_name, with_suffix,
};
use crate::header_scan::HeaderScan;
use crate::state_file;
use crate::swap_rules::{Passing, SwapRules, Verdict};
use ::io::{DirEntry, FileSystem, OpenMode};
use base::error::{Error, Result};
use base::place::{Offset, Position};

const INDEX_SUFFIXES: [&str; 3] = [INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX];

/// The files of a partition directory after the cleanup.
pub struct Found {
    /// Base offsets of the segments, ascending.
    pub base_offsets: Vec<Offset>,
    /// Base offsets that have a transaction index.
    pub txn_indexes: BTreeSet<Offset>,
    /// Names of all files.
    pub names: Vec<String>,
    /// Base offsets that have an index file and no `.log`, ascending.
    pub orphans: Vec<Offset>,
}

/// Cleans the directory up and lists it.
pub fn settle(fs: &dyn FileSystem, dir: &Path) -> Result<Found> {
    let mut entries = list(fs, dir)?;
    let rules = SwapRules::of(entries.iter().map(|entry| entry.name.as_str()));
    if entries.iter().any(|entry| rules.verdict(&entry.name) != Verdict::Stays) {
        settle_leftovers(fs, dir, &entries, &rules)?;
        entries = list(fs, dir)?;
    }
    let names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
    let with = |wanted: &'static str| {
        names
            .iter()
            .filter_map(|name| parse_file_name(name))
            .filter(move |(_, suffix)| *suffix == wanted)
    };
    let base_offsets: BTreeSet<Offset> = with(LOG_SUFFIX).map(|(offset, _)| offset).collect();
    let mut orphans = BTreeSet::new();
    for suffix in INDEX_SUFFIXES {
        for (offset, _) in with(suffix).filter(|(offset, _)| !base_offsets.contains(offset)) {
            if rules.is_deleted(offset) {
                state_file::remove(fs, &file_path(dir, offset, suffix))?;
            } else {
                orphans.insert(offset); // (d)
            }
        }
    }
    let txn_indexes = with(TXN_INDEX_SUFFIX).map(|(offset, _)| offset).collect();
    Ok(Found {
        txn_indexes,
        base_offsets: base_offsets.into_iter().collect(),
        orphans: orphans.into_iter().collect(),
        names,
    })
}

/// (d)
pub fn remove_orphans(fs: &dyn FileSystem, dir: &Path, orphans: &[Offset]) -> Result<()> {
    for offset in orphans {
        for suffix in INDEX_SUFFIXES {
            state_file::remove(fs, &file_path(dir, *offset, suffix))?;
        }
    }
    Ok(())
}

fn list(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<DirEntry>> {
    let mut entries = fs.read_dir(dir).map_err(|error| Error::io("list", dir, error))?;
    let is_ours = |name: &str| {
        let whole = name.strip_suffix(TEMP_SUFFIX).unwrap_or(name);
        parse_file_name(name).is_some() || [LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA].contains(&whole)
    };
    if let Some(entry) = entries.iter().find(|entry| entry.is_dir && is_ours(&entry.name)) {
        return Err(state_file::bad_format(&entry.path, state_file::DIRECTORY_IN_THE_WAY));
    }
    entries.retain(|entry| !entry.is_dir);
    for entry in entries.iter().filter(|entry| !entry.is_file) {
        let is_swap = entry.name.ends_with(SWAP_SUFFIX);
        if is_swap || is_segments(&entry.name) {
            // A link, perhaps to a file. Opening it now finds any other kind of entry at the start, and not years
            // later.
            let opened = fs.open(&entry.path, OpenMode::Read);
            opened.map_err(|error| Error::io("open", &entry.path, error))?;
        }
        if is_swap {
            let reason = "it is a link, which no cleaning leaves, and would take a segment's place; take it away";
            return Err(state_file::bad_format(&entry.path, reason));
        }
    }
    Ok(entries)
}

fn is_segments(name: &str) -> bool {
    parse_file_name(name).is_some_and(|(_, suffix)| suffix == LOG_SUFFIX || INDEX_SUFFIXES.contains(&suffix))
}

fn settle_leftovers(fs: &dyn FileSystem, dir: &Path, entries: &[DirEntry], rules: &SwapRules) -> Result<()> {
    let goes = |entry: &&DirEntry| rules.verdict(&entry.name) == Verdict::Goes;
    let is_cleaned = |entry: &&DirEntry| Passing::of(&entry.name) == Some(Passing::Cleaned);
    for entry in entries.iter().filter(goes).filter(|entry| !is_cleaned(entry)) {
        state_file::remove(fs, &entry.path)?; // (a), (b)
    }
    for entry in entries.iter().filter(goes).filter(is_cleaned) {
        state_file::remove(fs, &entry.path)?; // (b)
    }
    finish_swaps(fs, dir, entries, rules) // (c)
}

fn finish_swaps(fs: &dyn FileSystem, dir: &Path, entries: &[DirEntry], rules: &SwapRules) -> Result<()> {
    let swap_log = |base_offset| with_suffix(&file_path(dir, base_offset, LOG_SUFFIX), SWAP_SUFFIX);
    if let Some(replaced) = rules.replaced(|base_offset| end_offset(fs, base_offset, &swap_log(base_offset)))? {
        for entry in entries.iter().filter(|entry| is_segments(&entry.name)) {
            if parse_file_name(&entry.name).is_some_and(|(offset, _)| replaced.contains(&offset)) {
                state_file::remove(fs, &entry.path)?;
            }
        }
    }
    for entry in entries {
        if let Verdict::TakesPlace(offset, suffix) = rules.verdict(&entry.name) {
            fs.rename(&entry.path, &file_path(dir, offset, suffix))
                .map_err(|error| Error::io("rename", &entry.path, error))?;
        }
    }
    Ok(())
}

/// The offset after the last whole batch of a segment file.
fn end_offset(fs: &dyn FileSystem, base_offset: Offset, path: &Path) -> Result<Offset> {
    let file = fs
        .open(path, OpenMode::Read)
        .map_err(|error| Error::io("open", path, error))?;
    let len = file.len().map_err(|error| Error::io("stat", path, error))?;
    let mut scan = HeaderScan::new(&*file, path, Position::START, Position(len));
    let mut end = base_offset;
    while let Some((_, header)) = scan.next_header()? {
        end = header.next_offset();
    }
    Ok(end)
}
