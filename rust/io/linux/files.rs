//! Linux's own calls for files. `macos/files.rs` has the same names.
//!
//! A contract that both systems keep stands at the caller, in `file_system` and `os`.

use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, AtFlags, FlockOperation, StatxFlags, fadvise, fcntl_lock, flock, fstat, statx, syncfs};
use rustix::io::{Errno, ReadWriteFlags, Result};

use super::file_system::{File, Ownership, Volume};

pub(super) fn read_exact_if_cached(file: &fs::File, buf: &mut [u8], position: u64) -> io::Result<bool> {
    let wanted = buf.len();
    let read = {
        let mut slices = [io::IoSliceMut::new(buf)];
        rustix::io::preadv2(file, &mut slices, position, ReadWriteFlags::NOWAIT)
    };
    match read {
        Ok(read) => Ok(read == wanted),
        Err(Errno::AGAIN | Errno::INTR) => Ok(false),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.read_exact_at(buf, position).map(|()| true),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether the page at `position` can be sent without waiting for the disk. On a file system that cannot tell, a page
/// counts as in memory.
pub fn is_cached(fd: BorrowedFd<'_>, position: u64) -> bool {
    let mut byte = [0u8; 1];
    let mut bytes = [io::IoSliceMut::new(&mut byte)];
    !matches!(
        rustix::io::preadv2(fd, &mut bytes, position, ReadWriteFlags::NOWAIT),
        Err(Errno::AGAIN)
    )
}

pub(super) fn sync_data(file: &fs::File) -> io::Result<()> {
    file.sync_data()
}

pub(super) fn sync_dir(dir: &fs::File) -> io::Result<()> {
    dir.sync_all()
}

pub(super) fn device(fd: BorrowedFd<'_>) -> Result<u64> {
    fstat(fd).map(|stat| stat.st_dev)
}

pub(super) fn device_and_inode(fd: BorrowedFd<'_>) -> Result<(u64, u64)> {
    fstat(fd).map(|stat| (stat.st_dev, stat.st_ino))
}

/// Inode, and when it was made.
pub(super) fn identity(fd: BorrowedFd<'_>) -> Result<(u64, u64)> {
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    statx(fd, c"", AtFlags::EMPTY_PATH, wanted).map(|stat| {
        let (seconds, nanoseconds) = (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec);
        let made = seconds.cast_unsigned() * 1_000_000_000 + u64::from(nanoseconds);
        let is_known = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        (stat.stx_ino, if is_known { made } else { 0 })
    })
}

pub(super) fn ownership(fd: BorrowedFd<'_>) -> Result<Ownership> {
    // statx: the types of fstat's fields depend on the architecture
    let wanted = StatxFlags::UID | StatxFlags::NLINK;
    statx(fd, c"", AtFlags::EMPTY_PATH, wanted).map(|stat| Ownership {
        user: stat.stx_uid,
        names: u64::from(stat.stx_nlink),
    })
}

pub(super) fn advise_sequential(fd: BorrowedFd<'_>, start: u64, len: Option<NonZeroU64>) -> Result<()> {
    fadvise(fd, start, len, Advice::Sequential)
}

/// Two locks on one file: `fcntl`, which is what Java's `FileChannel.tryLock` takes, against other processes (Apache
/// Kafka among them), and `flock`, which also stands between two openers in this process.
pub(super) fn lock_exclusive(file: &fs::File) -> Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)?;
    fcntl_lock(file, FlockOperation::NonBlockingLockExclusive)
}

/// The first Linux version whose `syncfs` reports failed writes.
const TELLING_LINUX: (u32, u32) = (5, 8);

#[derive(Debug)]
struct OsVolume {
    dir: fs::File,
    device: u64,
}

impl Volume for OsVolume {
    fn sync(&self) -> io::Result<()> {
        Ok(syncfs(&self.dir)?)
    }

    fn holds(&self, file: &dyn File) -> bool {
        file.device().is_ok_and(|device| device == self.device)
    }
}

/// Major and minor version in a kernel's release text.
fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

pub(super) fn open_volume(dir: &Path) -> io::Result<Option<Arc<dyn Volume>>> {
    let uname = rustix::system::uname();
    let version = uname.release().to_str().ok().and_then(kernel_version);
    if version.is_none_or(|version| version < TELLING_LINUX) {
        return Ok(None);
    }
    let dir = fs::File::open(dir)?;
    let device = device(dir.as_fd())?;
    Ok(Some(Arc::new(OsVolume { dir, device })))
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
