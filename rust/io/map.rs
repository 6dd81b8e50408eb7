//! Read-only memory maps of files that no longer change: the indexes of sealed segments.
//!
//! Invariant: what is mapped is never shortened while the map lives (a read past the new end would be SIGBUS). Active
//! files and `.log` files are therefore never mapped; they are read with `pread` and sent with `sendfile`.

use std::io;
use std::ops::Deref;

use super::file_system::File;

/// The bytes of a mapped file.
#[derive(Debug)]
pub struct Map(Option<memmap2::Mmap>);

impl Map {
    /// Maps the first `len` bytes of `file`.
    #[expect(unsafe_code, reason = "memory maps cannot be made in safe code")]
    pub fn read_only(file: &dyn File, len: u64) -> io::Result<Self> {
        if len == 0 {
            return Ok(Self(None));
        }
        let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        if file.len()? < len as u64 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        // SAFETY: the map is private to this process's reads and never written through; the contract of
        // `FileSystem::map_read` has callers map only files that are sealed, which storage never shortens or rewrites
        // before the map is dropped, and the length was checked above.
        let map = unsafe { memmap2::MmapOptions::new().len(len).map(&file.as_fd()) }?;
        Ok(Self(Some(map)))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
