//! The contract between storage and the machine's files.
//!
//! Storage reaches the disk only through these traits, so that a test double can fail, shorten or interrupt any call.
//! Positions are explicit in every read and write: no file has a cursor, and many threads may use a [`File`] at once
//! (writers of one file must not write the same bytes).
//!
//! Durability: nothing is durable before [`File::sync_data`] (contents) and [`FileSystem::sync_dir`] (names) return.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::descriptors::{Descriptors, NamesGuard};
use super::map::Map;
use super::system;

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist; reads only.
    Read,
    /// It must exist; reads and writes.
    ReadWrite,
    /// Created when missing, cut to nothing when it exists; reads and writes.
    Create,
    /// It must not exist yet; reads and writes.
    CreateNew,
}

/// Length, time and kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// Bytes.
    pub len: u64,
    /// Last modification, in milliseconds since the Unix epoch.
    pub modified_ms: i64,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// Who owns an open file, and how many names it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// The user id of its owner.
    pub user: u32,
    /// Its names (hard links).
    pub names: u64,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The directory joined with the name.
    pub path: PathBuf,
    /// The name alone; names that are not UTF-8 are left out of listings.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Whether it is a file, and no link to one.
    pub is_file: bool,
}

/// An open file.
pub trait File: Send + Sync {
    /// Writes all of `buf` at `position`. On an error any prefix of it may have been written.
    fn write_all_at(&self, buf: &[u8], position: u64) -> io::Result<()>;

    /// Fills `buf` from `position`; `UnexpectedEof` when the file ends before `buf` is full.
    fn read_exact_at(&self, buf: &mut [u8], position: u64) -> io::Result<()>;

    /// Reads up to `buf.len()` bytes from `position`; 0 at the end of the file.
    fn read_at(&self, buf: &mut [u8], position: u64) -> io::Result<usize>;

    /// Fills `buf` from `position` without waiting for the disk; false when some of it is not in memory. Where the
    /// system cannot tell, it waits.
    fn read_exact_if_cached(&self, buf: &mut [u8], position: u64) -> io::Result<bool> {
        self.read_exact_at(buf, position).map(|()| true)
    }

    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts or extends (with zeros) the file.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes contents and length durable (`fdatasync`; `F_FULLFSYNC` on macOS).
    fn sync_data(&self) -> io::Result<()>;

    /// Calls `run` once with the descriptor, for `sendfile` and maps; the descriptor stays open for the call. An error
    /// when the file cannot be opened.
    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()>;

    /// The device that the file is on.
    fn device(&self) -> io::Result<u64> {
        let mut device = Ok(0);
        self.with_fd(&mut |fd| device = system::device(fd))?;
        Ok(device?)
    }

    /// The file's inode and, where the file system keeps it, when it was made (ns since the Unix epoch, else 0): a file
    /// that is made later in its place differs in one of them.
    fn identity(&self) -> io::Result<(u64, u64)> {
        let mut found = Ok((0, 0));
        self.with_fd(&mut |fd| found = system::identity(fd))?;
        Ok(found?)
    }

    /// Who owns the file, and how many names it has.
    fn ownership(&self) -> io::Result<Ownership> {
        let mut found = Ok(Ownership { user: 0, names: 1 });
        self.with_fd(&mut |fd| found = system::ownership(fd))?;
        Ok(found?)
    }

    /// Takes over the file's new path. The caller that renames an open file must call this within
    /// [`FileSystem::hold_names`].
    fn moved_to(&self, _path: &Path) {}

    /// Marks the file as unlinked or renamed away: it is not opened by its path again. Readers that have it open go on.
    fn retire(&self) {}

    /// Marks the file as unsynced: an earlier process may have written bytes without syncing them.
    fn note_unsynced(&self) {}

    /// Tells the system that `[start, end)` will be read from front to back. A hint: nothing depends on it.
    fn advise_sequential(&self, start: u64, end: u64) {
        let len = NonZeroU64::new(end.saturating_sub(start));
        // Some file systems refuse the advice, which does no harm.
        let _ = self.with_fd(&mut |fd| {
            let _ = system::advise_sequential(fd, start, len);
        });
    }
}

/// Holds an exclusive lock until dropped.
pub trait LockGuard: Send + Sync + std::fmt::Debug {}

/// The mounted file system that holds a directory.
pub trait Volume: Send + Sync {
    /// Makes all bytes durable that any process wrote to the volume (`syncfs`). An error when a write to the volume has
    /// failed since the volume was opened.
    fn sync(&self) -> io::Result<()>;

    /// Whether the open file is on this volume.
    fn holds(&self, file: &dyn File) -> bool;
}

/// Names and directories.
pub trait FileSystem: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Opens a file for long: its descriptor may be closed while no call uses it, and opened again, for reads and
    /// writes.
    fn open_kept(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.open(path, mode)
    }
    /// Moves `from` to `to`, replacing it atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, `to`, which must not exist.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Unlinks a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Makes one directory; its parent must exist.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory and its parents; fine when it exists.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory and everything in it.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Lists a directory, in no order.
    fn read_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// Length, time and kind of a path.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;
    /// Sets the time of a file's last modification, in milliseconds since the Unix epoch.
    fn set_modified(&self, path: &Path, modified_ms: i64) -> io::Result<()>;
    /// A whole file.
    fn read_to_vec(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Takes the exclusive lock of `path` (created when missing). `WouldBlock` when this process, another process or
    /// Apache Kafka holds it already.
    fn lock_exclusive(&self, path: &Path) -> io::Result<Box<dyn LockGuard>>;
    /// Maps the first `len` bytes for reading. The file must never be shortened while the map lives.
    fn map_read(&self, file: &dyn File, len: u64) -> io::Result<Map>;

    /// The volume of a directory; `None` where the system does not report failed writes.
    fn open_volume(&self, dir: &Path) -> io::Result<Option<Arc<dyn Volume>>>;

    /// Prevents that kept files are opened while they, or the directory above them, are renamed.
    fn hold_names(&self) -> NamesGuard<'_> {
        NamesGuard(None)
    }

    /// Frees descriptors, if it can; may wait for the disk.
    fn relieve(&self) {}

    /// The budget of kept files, if there is one.
    fn descriptors(&self) -> Option<&Arc<Descriptors>> {
        None
    }

    /// Whether the path exists.
    fn exists(&self, path: &Path) -> bool {
        self.metadata(path).is_ok()
    }

    /// Length of the file at `path`.
    fn metadata_len(&self, path: &Path) -> io::Result<u64> {
        Ok(self.metadata(path)?.len)
    }
}
