//! The file of a segment that is not on disk yet: empty, and refuses to be written.

use std::io::{self, Error, ErrorKind, Stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::LazyLock;

use super::file_system::File;

/// The place-holder for a [`File`] that was not made: it has no bytes. Readers find its end at once; a write is a bug
/// of the broker and an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFile;

/// A descriptor that is always open. No byte is read through it: a caller that uses a descriptor reads up to the file's
/// length, here 0.
static STANDARD_INPUT: LazyLock<Stdin> = LazyLock::new(io::stdin);

impl File for NoFile {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "the file was not made"))
    }

    fn read_exact_at(&self, buf: &mut [u8], _: u64) -> io::Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        Err(ErrorKind::UnexpectedEof.into())
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unsupported, "the file was not made"))
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn with_fd(&self, run: &mut dyn FnMut(BorrowedFd<'_>)) -> io::Result<()> {
        run(STANDARD_INPUT.as_fd());
        Ok(())
    }
}
