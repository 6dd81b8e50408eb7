//! Errors that say nothing of the disk: the process has no descriptor, no memory or no thread left for this one call.
//!
//! `EMFILE`, `ENFILE`, `ENOMEM`, `EAGAIN` and `EINTR` end the operation that met them and nothing else: the same call
//! may succeed a moment later. A failed *fsync* is different, because the page cache may have dropped what it could not
//! write. `EMFILE` and `ENFILE` never come from an fsync, only from opening what was to be synced; `ENOMEM` may come
//! from either, so whoever opens and syncs in one call marks a failure to open with [`not_opened`].

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use rustix::io::Errno;

/// The file could not be opened, so nothing was done to it.
#[derive(Debug)]
struct NotOpened(Errno);

impl fmt::Display for NotOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(self.0).fmt(f)
    }
}

impl Error for NotOpened {}

/// The segment was removed while a reader still had it.
#[derive(Debug)]
struct Removed(String);

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was removed while it was read", self.0)
    }
}

impl Error for Removed {}

fn errno_of(error: &io::Error) -> Option<Errno> {
    let wrapped = error.get_ref().and_then(|inner| inner.downcast_ref::<NotOpened>());
    wrapped
        .map(|NotOpened(errno)| *errno)
        .or_else(|| Errno::from_io_error(error))
}

/// Marks an error of opening a file as such, when it is a shortage.
pub fn not_opened(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(errno) if is_shortage(&error) => io::Error::new(error.kind(), NotOpened(errno)),
        _ => error,
    }
}

/// A read of a segment that is not part of its log any more.
pub fn removed(path: &Path) -> io::Error {
    io::Error::other(Removed(path.display().to_string()))
}

/// The error of a process that has no descriptor left.
pub fn out_of_descriptors() -> io::Error {
    Errno::MFILE.into()
}

/// The error of a process that has no memory, or no map, left.
pub fn out_of_memory() -> io::Error {
    Errno::NOMEM.into()
}

/// Whether the process, or the machine, has no descriptor left.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(errno_of(error), Some(Errno::MFILE | Errno::NFILE))
}

/// Whether it is the error of [`removed`].
pub fn is_removed(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<Removed>)
}

/// Whether only this call failed; see the module. Not for the errors of an fsync.
pub fn is_shortage(error: &io::Error) -> bool {
    let is_errno = matches!(
        errno_of(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN | Errno::INTR)
    );
    is_errno || is_removed(error)
}

/// Whether a call that syncs failed before it synced anything.
pub fn is_shortage_before_sync(error: &io::Error) -> bool {
    is_out_of_descriptors(error) || is_shortage(error) && Errno::from_io_error(error).is_none()
}
