//! How bytes go over a connection: its socket, and a layer between the socket and the protocol: `PLAINTEXT` has none,
//! `SSL` has [`TlsLayer`].
//!
//! Place: below `outbox` and `input`. No other code reads from a client's socket or writes to it. A transport knows no
//! frames, and it never waits by itself: whether a call blocks depends on the socket.

use std::io;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::system::{send_file, send_flags};
use super::tls::{PlaintextSink, TlsLayer};
use ::io::File;

/// See the module.
pub struct Transport<S> {
    socket: S,
    tls: Option<Box<TlsLayer>>,
}

impl<S: AsFd> Transport<S> {
    /// Bytes go over the socket as they are.
    pub fn plain(socket: S) -> Self {
        Self { socket, tls: None }
    }

    /// Bytes go through a layer whose handshake is done.
    pub fn secure(socket: S, tls: Box<TlsLayer>) -> Self {
        Self { socket, tls: Some(tls) }
    }

    /// The socket, for a poll to watch.
    pub fn socket(&mut self) -> &mut S {
        &mut self.socket
    }

    /// Sends all of `bytes` that the socket takes; fewer than given means that it is full. `more`: more bytes follow
    /// soon, and the kernel may wait for them before it sends.
    pub fn send(&mut self, bytes: &[u8], more: bool) -> io::Result<usize> {
        if let Some(tls) = &mut self.tls {
            return tls.send(&self.socket, bytes, more);
        }
        let flags = send_flags(more);
        let mut sent = 0;
        while sent < bytes.len() {
            match rustix::net::send(&self.socket, &bytes[sent..], flags) {
                Ok(n) => sent += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(sent)
    }

    /// Sends at most `count` bytes of a file from `position` on; `None` when the socket is full, 0 at the end of the
    /// file.
    ///
    /// # Errors
    /// Of the socket, and of a file that cannot be opened again.
    pub fn send_file(&mut self, file: &dyn File, mut position: u64, count: usize) -> io::Result<Option<usize>> {
        if let Some(tls) = &mut self.tls {
            return tls.send_file(&self.socket, count, |buffer| file.read_at(buffer, position));
        }
        loop {
            let mut sent = Ok(0);
            file.with_fd(&mut |fd| sent = send_file(&self.socket, fd, &mut position, count))?;
            match sent {
                Ok(n) => return Ok(Some(n)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Sends what the layer has kept; false when the socket does not take all of it.
    pub fn flush_layer(&mut self) -> io::Result<bool> {
        self.tls.as_mut().map_or(Ok(true), |tls| tls.flush(&self.socket))
    }

    /// Whether the layer has bytes that the socket did not take.
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.has_unsent())
    }

    /// Bytes of memory that the layer holds for its peer.
    pub fn held_bytes(&self) -> usize {
        self.tls.as_ref().map_or(0, |tls| tls.held_bytes())
    }

    /// Says to the peer that no more bytes come, where the layer has a word for it.
    pub fn say_end(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close(&self.socket);
        }
    }

    /// Receives into `buffer`. `Ok(0)` is the end of the stream.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(tls) = &mut self.tls {
            return tls.receive(&self.socket, PlaintextSink::Slice(buffer, 0));
        }
        loop {
            match rustix::io::read(&self.socket, &mut *buffer) {
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    /// Appends received bytes to `kept`, as many as fit its spare capacity. `Ok(0)` is the end of the stream.
    pub fn receive_behind(&mut self, kept: &mut Vec<u8>) -> io::Result<usize> {
        if let Some(tls) = &mut self.tls {
            return tls.receive(&self.socket, PlaintextSink::Behind(kept));
        }
        loop {
            match rustix::io::read(&self.socket, spare_capacity(kept)) {
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    /// Copies the bytes that are received next; they are received again.
    pub fn peek(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(tls) = &mut self.tls {
            return tls.peek(&self.socket, buffer);
        }
        loop {
            match rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Err(Errno::INTR) => {}
                result => return Ok(result?.0),
            }
        }
    }
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
