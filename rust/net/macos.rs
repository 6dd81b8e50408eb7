//! macOS' own calls on sockets: the names of `linux.rs`.

use std::cell::RefCell;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{SendFlags, sockopt};

/// Bytes that one [`send_file`] reads at most.
const READ_BYTES: usize = 256 << 10;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// None: see [`raise_no_signal`]; and the system sends at once.
pub fn send_flags(_more: bool) -> SendFlags {
    SendFlags::empty()
}

/// Sends at most `count` bytes of a file from `position` on, which moves behind them. By a copy: macOS' `sendfile` says
/// by an error how much of a range a full socket has taken.
pub fn send_file(
    socket: impl AsFd,
    file: BorrowedFd<'_>,
    position: &mut u64,
    count: usize,
) -> rustix::io::Result<usize> {
    READ.with_borrow_mut(|buffer| {
        buffer.resize(READ_BYTES, 0);
        let read = rustix::io::pread(file, &mut buffer[..count.min(READ_BYTES)], *position)?;
        if read == 0 {
            return Ok(0);
        }
        let sent = rustix::net::send(socket, &buffer[..read], send_flags(false))?;
        *position += sent as u64;
        Ok(sent)
    })
}

/// Unsupported: the system has one for all sockets.
pub fn congestion_control(_socket: BorrowedFd<'_>) -> Result<String> {
    Err(ErrorKind::Unsupported.into())
}

/// Unsupported, as above.
pub fn set_congestion_control(_socket: BorrowedFd<'_>, _name: &str) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A send to a client that has gone raises no signal.
pub fn raise_no_signal(socket: BorrowedFd<'_>) {
    let _ = sockopt::set_socket_nosigpipe(socket, true);
}

/// Unsupported: `nice` would lower the priority of the whole process.
pub fn lower_priority(_by: i32) -> Result<()> {
    Err(ErrorKind::Unsupported.into())
}
