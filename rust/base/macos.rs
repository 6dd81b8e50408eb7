//! What macOS and Linux call differently and several crates need: the names of `linux.rs`.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::sockopt::set_socket_nosigpipe;
use rustix::net::{AddressFamily, SocketType, socket};

/// Fills `buf` with random bytes of the system, at most 256.
pub fn fill_random(buf: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(buf)
}

/// A TCP socket that never blocks, is closed by `exec`, and raises no signal when its peer has gone.
pub fn tcp_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = socket(family, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

/// A descriptor that is readable from [`Self::set`] to [`Self::clear`]: a pipe with one byte in it, or none.
#[derive(Debug)]
pub struct Signal {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Signal {
    /// Not set.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        ioctl_fionbio(&reader, true)?;
        ioctl_fionbio(&writer, true)?;
        Ok(Self { reader, writer })
    }

    /// Once, until it is cleared. It cannot fail then: the pipe is empty.
    pub fn set(&self) {
        let _ = rustix::io::write(&self.writer, &[1]);
    }

    /// After it was set.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.reader, &mut [0u8; 1]);
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
