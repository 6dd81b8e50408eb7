//! The bytes of a connection: as they are, or within TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

/// What comes at least at this rate may take longer than its limit.
const BYTES_A_SECOND: f64 = 65_536.0;

/// A socket whose reads have a limit all together: a server that gives a byte now and then would have no end else.
pub struct Socket {
    socket: TcpStream,
    until: Option<Instant>,
}

impl From<TcpStream> for Socket {
    fn from(socket: TcpStream) -> Self {
        Self { socket, until: None }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.until.is_some_and(|until| until <= Instant::now()) {
            return Err(ErrorKind::TimedOut.into());
        }
        let count = self.socket.read(buffer)?;
        if let Some(until) = &mut self.until {
            *until += Duration::from_secs_f64(count as f64 / BYTES_A_SECOND);
        }
        Ok(count)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// See the module.
pub enum Stream {
    /// PLAINTEXT.
    Plain(Socket),
    /// TLS.
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    /// The socket below.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(own) => &own.socket,
            Self::Tls(stream) => &stream.get_ref().socket,
        }
    }

    /// Limits all reads from now on together, until the next call.
    pub fn limit_reads(&mut self, limit: Option<Duration>) {
        let own = match self {
            Self::Plain(own) => own,
            Self::Tls(stream) => stream.get_mut(),
        };
        own.until = limit.map(|limit| Instant::now() + limit);
    }

    /// Whether TLS has records that the socket has not taken yet: only of a socket that does not block.
    pub fn wants_to_write(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream) => stream.conn.wants_write(),
        }
    }

    /// Makes the handshake of TLS, or goes on with it.
    pub fn shake(&mut self) -> io::Result<()> {
        if let Self::Tls(stream) = self {
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock)?;
            }
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
