//! macOS' own calls for files: the names of `linux/files.rs`.
//!
//! Durability: `fsync` leaves bytes in the cache of the drive, `F_FULLFSYNC` has the drive write them down. No call
//! syncs a volume and reports its failed writes, so each file is synced by itself. No call tells whether a page is in
//! memory: reads and sends may wait for the disk, as they do in Kafka.

use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, fcntl_fullfsync, flock, fstat};
use rustix::io::{Result, retry_on_intr};

use super::file_system::{Ownership, Volume};

pub(super) fn read_exact_if_cached(file: &fs::File, buf: &mut [u8], position: u64) -> io::Result<bool> {
    file.read_exact_at(buf, position).map(|()| true)
}

/// True: a page counts as in memory.
pub fn is_cached(_fd: BorrowedFd<'_>, _position: u64) -> bool {
    true
}

pub(super) fn sync_data(file: &fs::File) -> io::Result<()> {
    Ok(retry_on_intr(|| fcntl_fullfsync(file))?)
}

pub(super) fn sync_dir(dir: &fs::File) -> io::Result<()> {
    sync_data(dir)
}

pub(super) fn device(fd: BorrowedFd<'_>) -> Result<u64> {
    device_and_inode(fd).map(|(device, _)| device)
}

pub(super) fn device_and_inode(fd: BorrowedFd<'_>) -> Result<(u64, u64)> {
    fstat(fd).map(|stat| (u64::from(stat.st_dev.cast_unsigned()), stat.st_ino))
}

/// Inode, and when it was made.
pub(super) fn identity(fd: BorrowedFd<'_>) -> Result<(u64, u64)> {
    fstat(fd).map(|stat| {
        let (seconds, nanoseconds) = (stat.st_birthtime, stat.st_birthtime_nsec);
        let made = seconds.cast_unsigned() * 1_000_000_000 + nanoseconds.cast_unsigned();
        (stat.st_ino, made)
    })
}

pub(super) fn ownership(fd: BorrowedFd<'_>) -> Result<Ownership> {
    fstat(fd).map(|stat| Ownership {
        user: stat.st_uid,
        names: u64::from(stat.st_nlink),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of Linux")]
pub(super) fn advise_sequential(_fd: BorrowedFd<'_>, _start: u64, _len: Option<NonZeroU64>) -> Result<()> {
    Ok(())
}

/// One lock: on macOS a lock of `flock` excludes one of `fcntl`, Java's, too, and would exclude this process's own.
pub(super) fn lock_exclusive(file: &fs::File) -> Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of Linux")]
pub(super) fn open_volume(_dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
    Ok(None)
}
