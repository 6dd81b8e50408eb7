//! What Linux and macOS call differently and several crates need: random bytes, sockets, a signal between threads.
//! `macos.rs` has the same names. Files are in the crate `io`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::rand::{GetRandomFlags, getrandom};

/// Fills `buf` with random bytes of the system, at most 256.
pub fn fill_random(buf: &mut [u8]) -> io::Result<()> {
    let wanted = buf.len();
    if getrandom(buf, GetRandomFlags::empty())? < wanted {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// A TCP socket that never blocks, is closed by `exec`, and raises no signal when its peer has gone.
pub fn tcp_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// A descriptor that is readable from [`Self::set`] to [`Self::clear`].
#[derive(Debug)]
pub struct Signal(OwnedFd);

impl Signal {
    /// Not set.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Once, until it is cleared. It cannot fail then: the counter is 0 or 1.
    pub fn set(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// After it was set.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
