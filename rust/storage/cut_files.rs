//! `.cut` files: bytes that recovery cut out of a log, kept in its directory because producers may have got them
//! acknowledged.
//!
//! ```text
//! <base offset of the segment, 20 digits>.<position in it>[.<n>].cut        the bytes as they stood there
//! ```
//! Neither Kafka nor this broker reads them; they are deleted with the partition's directory. Their bytes and their
//! number in a directory are bounded; the oldest are deleted first. A file is durable when [`keep_tail`] returns,
//! before the log is cut.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::format::{CUT_SUFFIX, OFFSET_DIGITS};
use super::state_file;
use ::io::{File, FileSystem, OpenMode};
use base::error::{Error, Result};
use base::place::{Offset, Position};

/// The most `.cut` files of one partition.
const MAX_FILES: usize = 16;
/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// Keeps `range` of a segment's file, at most `max_bytes` of it.
pub fn keep_tail(
    fs: &dyn FileSystem,
    dir: &Path,
    base_offset: Offset,
    log: &dyn File,
    range: Range<Position>,
    max_bytes: u64,
) -> Result<PathBuf> {
    let path = free_name(fs, dir, base_offset, range.start);
    let io = |op: &'static str| {
        let path = path.clone();
        move |error| Error::io(op, &path, error)
    };
    let file = fs.open(&path, OpenMode::Create).map_err(io("create"))?;
    let end = range.end.min(range.start.saturating_add(max_bytes));
    let mut piece = vec![0; PIECE.min(range.start.bytes_to(end) as usize)];
    let mut at = range.start;
    while at < end {
        let size = piece.len().min((end - at) as usize);
        let held = piece.get_mut(..size).unwrap_or_default();
        log.read_exact_at(held, at.get()).map_err(io("read"))?;
        file.write_all_at(held, at - range.start).map_err(io("write"))?;
        at += size as u64;
    }
    file.sync_data().map_err(io("fsync"))?;
    fs.sync_dir(dir).map_err(|error| Error::io("fsync", dir, error))?;
    Ok(path)
}

/// Keeps a whole segment: its `.log` gets another name.
pub fn keep_segment(fs: &dyn FileSystem, dir: &Path, base_offset: Offset, log: &Path) -> Result<PathBuf> {
    let path = free_name(fs, dir, base_offset, Position::START);
    fs.rename(log, &path).map_err(|error| Error::io("rename", log, error))?;
    Ok(path)
}

/// Deletes the oldest `.cut` files until the rest is within its bounds; returns the deleted paths.
pub fn trim(fs: &dyn FileSystem, dir: &Path, max_bytes: u64) -> Result<Vec<PathBuf>> {
    let entries = fs.read_dir(dir).map_err(|error| Error::io("list", dir, error))?;
    let mut kept = Vec::new();
    for entry in entries
        .into_iter()
        .filter(|entry| is_cut_file(&entry.name) && !entry.is_dir)
    {
        let metadata = fs
            .metadata(&entry.path)
            .map_err(|error| Error::io("stat", &entry.path, error))?;
        kept.push((metadata.modified_ms, entry.path, metadata.len));
    }
    kept.sort_unstable();
    let mut bytes: u64 = kept.iter().map(|(.., len)| len).sum();
    let mut gone = Vec::new();
    let mut left = kept.len();
    for (_, path, len) in kept {
        if left <= MAX_FILES && bytes <= max_bytes {
            break;
        }
        state_file::remove(fs, &path)?;
        (bytes, left) = (bytes - len, left - 1);
        gone.push(path);
    }
    Ok(gone)
}

/// Whether this is the name of a `.cut` file.
pub fn is_cut_file(name: &str) -> bool {
    let digits = name.get(..OFFSET_DIGITS).unwrap_or_default();
    name.ends_with(CUT_SUFFIX) && digits.len() == OFFSET_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name that is free: a second cut at the same place must not overwrite the first.
fn free_name(fs: &dyn FileSystem, dir: &Path, base_offset: Offset, position: Position) -> PathBuf {
    let name = |number: u32| match number {
        0 => dir.join(format!("{base_offset:0OFFSET_DIGITS$}.{position}{CUT_SUFFIX}")),
        _ => dir.join(format!("{base_offset:0OFFSET_DIGITS$}.{position}.{number}{CUT_SUFFIX}")),
    };
    // More names than files are ever kept.
    (0..=MAX_FILES as u32)
        .map(name)
        .find(|path| !fs.exists(path))
        .unwrap_or_else(|| name(0))
}

#[cfg(test)]
#[path = "cut_files_tests.rs"]
mod tests;
