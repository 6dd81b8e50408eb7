//! Linux's own calls on sockets; `macos.rs` has the same names.

use std::io::Result;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{SendFlags, sockopt};

/// Of a send to a client: no signal when it has gone. `more`: more bytes follow soon, and the kernel may wait for them.
pub fn send_flags(more: bool) -> SendFlags {
    if more {
        SendFlags::NOSIGNAL | SendFlags::MORE
    } else {
        SendFlags::NOSIGNAL
    }
}

/// Sends at most `count` bytes of a file from `position` on, which moves behind them.
pub fn send_file(
    socket: impl AsFd,
    file: BorrowedFd<'_>,
    position: &mut u64,
    count: usize,
) -> rustix::io::Result<usize> {
    rustix::fs::sendfile(socket, file, Some(position), count)
}

/// The congestion control of a socket.
pub fn congestion_control(socket: BorrowedFd<'_>) -> Result<String> {
    Ok(sockopt::tcp_congestion(socket)?)
}

/// Chooses the congestion control of a socket.
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> Result<()> {
    Ok(sockopt::set_tcp_congestion(socket, name)?)
}

/// Nothing: each send says it.
pub fn raise_no_signal(_socket: BorrowedFd<'_>) {}

/// Lowers the priority of the calling thread.
pub fn lower_priority(by: i32) -> Result<()> {
    rustix::process::nice(by)?;
    Ok(())
}
