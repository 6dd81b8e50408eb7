//! Small state files: read whole if they exist, replaced atomically.
//!
//! A replacement goes to `<name>.tmp`, then is renamed over the old file. With [`Durability::Synced`] the bytes are
//! on disk before the rename and the rename before the return, so that a crash at any step leaves the old content or
//! the new, never neither. Two replacements of one file may not overlap.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::format::{TEMP_SUFFIX, with_suffix};
use ::io::{File, FileSystem, OpenMode};
use base::error::shortage::is_shortage;
use base::error::{Error, Result};

/// Whether a replaced state file is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// File and name are on disk: two fsyncs.
    Synced,
    /// In the page cache: a process crash keeps it, a power loss may leave old, new, or a torn file. Only for files
    /// that carry a checksum and can be rebuilt.
    Lazy,
}

/// The error's reason when a directory has a state file's name.
pub const DIRECTORY_IN_THE_WAY: &str =
    "it is a directory, not a file; put the file back, or take away what stands there";

/// Replaces `path` with `bytes`.
pub fn replace(fs: &dyn FileSystem, path: &Path, bytes: &[u8], durability: Durability) -> Result<()> {
    let file = write_aside(fs, path, bytes)?;
    if durability == Durability::Synced {
        let sync = file.sync_data();
        sync.map_err(|error| Error::io("fsync", &with_suffix(path, TEMP_SUFFIX), error))?;
    }
    drop(file);
    put_in_place(fs, path)?;
    match path.parent() {
        Some(parent) if durability == Durability::Synced => {
            fs.sync_dir(parent).map_err(|error| Error::io("fsync", parent, error))
        }
        _ => Ok(()),
    }
}

/// Writes `<path>.tmp` without syncing it: the first step of [`replace`], for callers that sync many files at once.
pub fn write_aside(fs: &dyn FileSystem, path: &Path, bytes: &[u8]) -> Result<Arc<dyn File>> {
    let temp = with_suffix(path, TEMP_SUFFIX);
    let file = match fs.open(&temp, OpenMode::Create) {
        // A pipe or a link of that name is in the way: remove it and try once more.
        Err(error) if !is_shortage(&error) && fs.remove_file(&temp).is_ok() => fs.open(&temp, OpenMode::Create),
        opened => opened,
    };
    let file = file.map_err(|error| Error::io("create", &temp, error))?;
    file.write_all_at(bytes, 0)
        .map_err(|error| Error::io("write", &temp, error))?;
    Ok(file)
}

/// Fails when a directory has the name of the file that [`write_aside`] writes, so that the start finds it and not the
/// first write.
pub fn check_aside(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let temp = with_suffix(path, TEMP_SUFFIX);
    if fs.metadata(&temp).is_ok_and(|found| found.is_dir) {
        return Err(bad_format(&temp, DIRECTORY_IN_THE_WAY));
    }
    Ok(())
}

/// Renames `<path>.tmp` over `path`: the step after the sync.
pub fn put_in_place(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    let temp = with_suffix(path, TEMP_SUFFIX);
    fs.rename(&temp, path)
        .map_err(|error| Error::io("rename", &temp, error))
}

/// The bytes of `path`, or `None` when there is no such file.
pub fn read(fs: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u8>>> {
    match fs.read_to_vec(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

/// The text of `path`, or `None` when there is no such file.
pub fn read_text(fs: &dyn FileSystem, path: &Path) -> Result<Option<String>> {
    let Some(bytes) = read(fs, path)? else { return Ok(None) };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(bad_format(path, "it is not UTF-8 text")),
    }
}

/// Unlinks `path`; a missing file is no error.
pub fn remove(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    match fs.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("unlink", path, error)),
        _ => Ok(()),
    }
}

/// The error for a state file that cannot be parsed.
pub fn bad_format(path: &Path, reason: impl Into<String>) -> Error {
    Error::BadFormat {
        path: path.to_path_buf(),
        reason: reason.into(),
    }
}

#[cfg(test)]
#[path = "state_file_tests.rs"]
mod tests;
