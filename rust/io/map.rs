//! Read-only memory maps of files that no longer change: the indexes of sealed segments.
//!
//! Invariants: what is mapped is never shortened while the map lives (a read past the new end would be SIGBUS). Active
//! files and `.log` files are therefore never mapped; they are read with `pread` and sent with `sendfile`. A process has at most
//! [`MOST_MAPS`] of these maps: the system refuses more than `vm.max_map_count` (65,530), and the allocator and the threads'
//! stacks need theirs.

use std::io;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file_system::File;
use crate::error::shortage::out_of_memory;

/// Half of what the system allows by default.
pub const MOST_MAPS: usize = 32_000;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// One of the maps that the process may have.
#[derive(Debug)]
struct Counted;

impl Counted {
    fn new(most: usize) -> io::Result<Self> {
        if LIVE.fetch_add(1, Ordering::Relaxed) >= most {
            drop(Self);
            return Err(out_of_memory());
        }
        Ok(Self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The bytes of a mapped file.
#[derive(Debug)]
pub struct Map(Option<(memmap2::Mmap, Counted)>);

impl Map {
    /// Maps the first `len` bytes of `file`; `ENOMEM` when there are too many maps.
    pub fn read_only(file: &dyn File, len: u64) -> io::Result<Self> {
        Self::one_of(MOST_MAPS, file, len)
    }

    #[expect(unsafe_code, reason = "memory maps cannot be made in safe code")]
    pub(super) fn one_of(most: usize, file: &dyn File, len: u64) -> io::Result<Self> {
        if len == 0 {
            return Ok(Self(None));
        }
        let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        if file.len()? < len as u64 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let counted = Counted::new(most)?;
        // SAFETY: the map is private to this process's reads and never written through; the contract of
        // `FileSystem::map_read` has callers map only files that are sealed, which storage never shortens or rewrites
        // before the map is dropped, and the length was checked above.
        let map = |fd: BorrowedFd<'_>| unsafe { memmap2::MmapOptions::new().len(len).map(&fd) };
        let mut mapped = Err(io::ErrorKind::Unsupported.into());
        file.with_fd(&mut |fd| mapped = map(fd))?;
        Ok(Self(Some((mapped?, counted))))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_ref().map(|(map, _)| &**map).unwrap_or_default()
    }
}
