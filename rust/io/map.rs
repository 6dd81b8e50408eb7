//! Read-only memory maps of files that no longer change: the indexes of sealed segments.
//!
//! Invariants: a mapped file is never shortened while the map lives (a read past the new end would be SIGBUS). Active
//! files and `.log` files are therefore never mapped; they are read with `pread` and sent with `sendfile`. A process
//! has at most [`MAX_MAPS`] of these maps: the system refuses more than `vm.max_map_count` (65,530) maps, and the
//! allocator and the threads' stacks need some of them.

use std::io;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::file_system::File;
use base::error::shortage::out_of_memory;

/// Half of the maps that the system allows by default.
pub const MAX_MAPS: usize = 32_000;

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
pub struct Map {
    mapped: Option<(memmap2::Mmap, Counted)>,
    resident: Resident,
}

/// Pages of a map that were in memory a few checks ago: a reader that reads a file from front to back checks the same
/// pages again.
#[derive(Debug, Default)]
struct Resident {
    /// The pages' numbers, from 1 on; each in the slot that its number selects.
    pages: [AtomicU32; SEEN],
    looks: AtomicU32,
}

/// Slots; a search of the largest index touches fewer pages.
const SEEN: usize = 16;
/// After so many checks all pages are forgotten, and the system is asked again.
const LOOKS: u32 = 256;

impl Resident {
    fn knows(&self, page: usize) -> bool {
        if self.looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOKS) {
            self.pages.iter().for_each(|it| it.store(0, Ordering::Relaxed));
        }
        self.place(page).load(Ordering::Relaxed) == page as u32 + 1
    }

    fn note(&self, page: usize) {
        self.place(page).store(page as u32 + 1, Ordering::Relaxed);
    }

    fn place(&self, page: usize) -> &AtomicU32 {
        &self.pages[page % SEEN]
    }
}

impl Map {
    /// Maps the first `len` bytes of `file`; `ENOMEM` when there are too many maps.
    pub fn read_only(file: &dyn File, len: u64) -> io::Result<Self> {
        Self::one_of(MAX_MAPS, file, len)
    }

    #[expect(unsafe_code, reason = "memory maps cannot be made in safe code")]
    pub(super) fn one_of(most: usize, file: &dyn File, len: u64) -> io::Result<Self> {
        if len == 0 {
            return Ok(Self {
                mapped: None,
                resident: Resident::default(),
            });
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
        Ok(Self {
            mapped: Some((mapped?, counted)),
            resident: Resident::default(),
        })
    }

    /// Whether the byte at `at` can be read without waiting for the disk, as far as the system tells.
    pub fn is_resident(&self, at: usize) -> bool {
        let page = at / rustix::param::page_size();
        if self.resident.knows(page) {
            return true;
        }
        let is_resident = self.ask(page * rustix::param::page_size());
        if is_resident {
            self.resident.note(page);
        }
        is_resident
    }

    #[expect(unsafe_code, reason = "there is no safe mincore")]
    fn ask(&self, page_at: usize) -> bool {
        let Some(rest) = self.get(page_at..).filter(|rest| !rest.is_empty()) else {
            return true;
        };
        let mut state = 0u8;
        // SAFETY: the address begins a page of a live map, whose first byte is within it; the system writes one byte
        // for it.
        let told = unsafe { libc::mincore(rest.as_ptr().cast_mut().cast(), 1, (&raw mut state).cast()) };
        told != 0 || state & 1 == 1
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.mapped.as_ref().map(|(map, _)| &**map).unwrap_or_default()
    }
}
