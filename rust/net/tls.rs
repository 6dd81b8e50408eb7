//! The TLS layer of a client's connection: records of TLS in place of the bytes of the protocol.
//!
//! Place: between a socket and [`super::transport::Transport`]. rustls holds the keys and the state of the protocol;
//! this file carries bytes between rustls and the socket, which never blocks. Plaintext that was decrypted and not yet
//! taken, and ciphertext that the socket did not take, wait here: one turn's worth of each at the most. The buffers in
//! which records are decrypted and encrypted belong to the thread, so an idle connection holds none. A layer makes no
//! handshake by itself: [`TlsLayer::shake`] goes on with it whenever the socket is ready.

pub mod context;
pub mod issue;
mod usage;
pub mod validity;

use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

use super::system::send_flags;
use broker::Principal;

/// Ciphertext received at a time; four records of the largest size.
const RECEIVED_BYTES: usize = 64 << 10;
/// The largest record with its header, and what a peer may have begun behind it.
const RECORD_BYTES: usize = 18 << 10;
/// The most of a message of the handshake that is not whole: a client's chain of certificates.
const MAX_KEPT_BYTES: usize = 32 << 10;
/// Plaintext encrypted at a time.
const SENT_BYTES: usize = 64 << 10;
/// What its records add to it: at most 64 bytes for each of five records.
const OVERHEAD_BYTES: usize = 512;

/// The buffers of a thread.
struct TlsBuffers {
    /// Ciphertext that was received; records are decrypted in it.
    received: Vec<u8>,
    /// Records that are being sent.
    records: Vec<u8>,
    /// Bytes of a file, before they are encrypted.
    file: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<TlsBuffers> = const { RefCell::new(TlsBuffers {
        received: Vec::new(),
        records: Vec::new(),
        file: Vec::new(),
    }) };
}

/// Bytes that wait, with a position up to which they were taken.
#[derive(Default)]
struct PendingBytes {
    bytes: Vec<u8>,
    taken: usize,
}

impl PendingBytes {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    /// Takes so many bytes; a queue that is empty gives its memory back.
    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.taken >= self.bytes.len() {
            *self = Self::default();
        }
    }
}

/// Where decrypted bytes go: as many as fit to the caller, the others wait.
pub(super) enum PlaintextSink<'a> {
    /// A buffer and how much of it is filled.
    Slice(&'a mut [u8], usize),
    /// Behind what a vector holds, as far as its capacity reaches.
    Behind(&'a mut Vec<u8>),
}

impl PlaintextSink<'_> {
    fn is_full(&self) -> bool {
        match self {
            Self::Slice(buffer, filled) => *filled == buffer.len(),
            Self::Behind(kept) => kept.len() == kept.capacity(),
        }
    }

    /// Takes as many bytes as fit; returns how many.
    fn take(&mut self, bytes: &[u8]) -> usize {
        match self {
            Self::Slice(buffer, filled) => {
                let count = bytes.len().min(buffer.len() - *filled);
                buffer[*filled..*filled + count].copy_from_slice(&bytes[..count]);
                *filled += count;
                count
            }
            Self::Behind(kept) => {
                let count = bytes.len().min(kept.capacity() - kept.len());
                kept.extend_from_slice(&bytes[..count]);
                count
            }
        }
    }
}

/// How far a handshake is.
#[derive(Debug, PartialEq, Eq)]
pub enum HandshakeProgress {
    /// Done: application data can be received and sent.
    Done,
    /// It waits until the socket is ready again.
    Waits,
}

/// A connection whose client has made a handshake.
pub struct TlsPeer {
    /// Its layer.
    pub layer: Box<TlsLayer>,
    /// The identity in the client's certificate; anonymous without one.
    pub principal: Principal,
}

/// See the module.
pub struct TlsLayer {
    connection: UnbufferedServerConnection,
    /// The beginning of a record whose end has not arrived.
    kept: Vec<u8>,
    /// Decrypted and not yet taken.
    plain: PendingBytes,
    /// Encrypted, and not taken by the socket.
    unsent: PendingBytes,
    is_established: bool,
    /// The client has ended its side, with or without saying so.
    is_ended: bool,
    /// The client made a mistake: rustls refers to bytes that are gone, and must see no others.
    is_failed: bool,
}

impl TlsLayer {
    /// A connection that was just accepted.
    ///
    /// # Errors
    /// When the configuration cannot be used.
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        Ok(Self {
            connection: UnbufferedServerConnection::new(config)?,
            kept: Vec::new(),
            plain: PendingBytes::default(),
            unsent: PendingBytes::default(),
            is_established: false,
            is_ended: false,
            is_failed: false,
        })
    }

    /// The certificates that the client has proven to own, its own first; empty when it sent none.
    pub fn peer_certificates(&self) -> &[CertificateDer<'static>] {
        self.connection.peer_certificates().unwrap_or_default()
    }

    /// Goes on with the handshake.
    ///
    /// # Errors
    /// The client's mistake, or a failure of the socket; the client was sent TLS's alert, if the socket took it.
    pub fn shake<S: AsFd>(&mut self, socket: &S) -> io::Result<HandshakeProgress> {
        while !self.is_established {
            let received = self.decrypt(socket, &mut PlaintextSink::Slice(&mut [], 0));
            let flushed = self.flush(socket);
            match received {
                Ok(0) if self.is_established => {}
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.is_established => {
                    flushed?;
                    return Ok(HandshakeProgress::Waits);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            flushed?;
        }
        // What was encrypted last goes out with the first answer, when the socket does not take it now.
        self.flush(socket)?;
        Ok(HandshakeProgress::Done)
    }

    /// Receives plaintext. `Ok(0)` is the end of the stream; fewer bytes than fit mean that the socket is drained.
    pub(super) fn receive<S: AsFd>(&mut self, socket: &S, mut into: PlaintextSink<'_>) -> io::Result<usize> {
        let mut total = into.take(self.plain.rest());
        self.plain.take(total);
        while !into.is_full() && !self.is_ended {
            let before = count(&into);
            match self.decrypt(socket, &mut into) {
                Ok(0) => break,
                Ok(_) => total += count(&into) - before,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && total > 0 => break,
                Err(error) => {
                    // TLS's alert, if there is one; the connection ends with the error anyway
                    let _ = self.flush(socket);
                    return Err(error);
                }
            }
        }
        Ok(total)
    }

    /// Copies the bytes that would be received next.
    pub(super) fn peek<S: AsFd>(&mut self, socket: &S, buffer: &mut [u8]) -> io::Result<usize> {
        while self.plain.rest().len() < buffer.len() && !self.is_ended {
            match self.decrypt(socket, &mut PlaintextSink::Slice(&mut [], 0)) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let rest = self.plain.rest();
        let seen = rest.len().min(buffer.len());
        buffer[..seen].copy_from_slice(&rest[..seen]);
        if seen == 0 && !self.is_ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(seen)
    }

    /// Encrypts and sends. Fewer bytes than given mean that the socket is full; the bytes that are reported were
    /// encrypted, and the rest of their records goes out with the next call.
    pub(super) fn send<S: AsFd>(&mut self, socket: &S, bytes: &[u8], more: bool) -> io::Result<usize> {
        let mut taken = 0;
        for chunk in bytes.chunks(SENT_BYTES) {
            if !self.flush(socket)? {
                break;
            }
            let is_last = taken + chunk.len() == bytes.len();
            BUFFERS.with_borrow_mut(|buffers| self.encrypt(socket, chunk, &mut buffers.records, more || !is_last))?;
            taken += chunk.len();
        }
        Ok(taken)
    }

    /// Encrypts and sends bytes of a file, which `read` reads into a buffer; `None` when the socket is full, 0 at the
    /// end of the file.
    pub(super) fn send_file<S: AsFd>(
        &mut self,
        socket: &S,
        count: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Option<usize>> {
        if !self.flush(socket)? {
            return Ok(None);
        }
        BUFFERS.with_borrow_mut(|TlsBuffers { records, file, .. }| {
            file.resize(SENT_BYTES, 0);
            let length = read(&mut file[..count.min(SENT_BYTES)])?;
            if length > 0 {
                self.encrypt(socket, &file[..length], records, length < count)?;
            }
            Ok(Some(length))
        })
    }

    /// Sends what waits; false when the socket does not take all of it.
    pub(super) fn flush<S: AsFd>(&mut self, socket: &S) -> io::Result<bool> {
        while !self.unsent.rest().is_empty() {
            let sent = send(socket, self.unsent.rest(), false)?;
            if sent == 0 {
                return Ok(false);
            }
            self.unsent.take(sent);
        }
        Ok(true)
    }

    /// Whether encrypted bytes wait for the socket.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.rest().is_empty()
    }

    /// Bytes of memory that wait here.
    pub fn held_bytes(&self) -> usize {
        self.kept.capacity() + self.plain.bytes.capacity() + self.unsent.bytes.capacity()
    }

    /// Says to the client that no more bytes come, if the socket takes that now.
    pub fn close<S: AsFd>(&mut self, socket: &S) {
        if self.is_failed {
            return;
        }
        let mut alert = [0; OVERHEAD_BYTES];
        let status = self.connection.process_tls_records(&mut self.kept);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state
            && let Ok(length) = traffic.queue_close_notify(&mut alert)
            && self.unsent.rest().is_empty()
        {
            // A client that has gone needs no alert.
            let _ = send(socket, &alert[..length], false);
        }
    }

    /// Receives ciphertext once, decrypts its whole records and keeps the rest. Returns the bytes received.
    fn decrypt<S: AsFd>(&mut self, socket: &S, into: &mut PlaintextSink<'_>) -> io::Result<usize> {
        if self.is_failed {
            return Err(io::ErrorKind::InvalidData.into());
        }
        BUFFERS.with_borrow_mut(|buffers| {
            let buffer = &mut buffers.received;
            let kept = self.kept.len();
            buffer.resize(buffer.len().max(kept + RECEIVED_BYTES + RECORD_BYTES), 0);
            buffer[..kept].copy_from_slice(&self.kept);
            let received = loop {
                match rustix::io::read(socket, &mut buffer[kept..kept + RECEIVED_BYTES]) {
                    Err(Errno::INTR) => {}
                    result => break result?,
                }
            };
            if received == 0 {
                self.is_ended = true;
                return Ok(0);
            }
            let whole = &mut buffer[..kept + received];
            let processed = self.process(whole, into);
            self.is_failed = processed.is_err();
            let used = processed?;
            self.kept.clear();
            self.kept.extend_from_slice(&whole[used..]);
            if self.kept.is_empty() {
                self.kept = Vec::new();
            }
            if self.kept.len() > MAX_KEPT_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "its records never end"));
            }
            Ok(received)
        })
    }

    /// Processes records until no whole record is left; returns the bytes used. After an error the alert for the client
    /// waits among the unsent bytes.
    fn process(&mut self, bytes: &mut [u8], into: &mut PlaintextSink<'_>) -> io::Result<usize> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } = self.connection.process_tls_records(&mut bytes[used..]);
            let goes_on = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(invalid)?;
                        discard += record.discard;
                        let taken = if self.plain.bytes.is_empty() {
                            into.take(record.payload)
                        } else {
                            0
                        };
                        if taken < record.payload.len() {
                            self.plain.bytes.extend_from_slice(&record.payload[taken..]);
                        }
                    }
                    true
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    encode(&mut self.unsent.bytes, |out| data.encode(out))?;
                    true
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    true
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    self.is_ended = true;
                    false
                }
                Ok(_) => false,
                Err(error) => {
                    self.fail(&mut bytes[used + discard..])?;
                    return Err(invalid(error));
                }
            };
            used += discard;
            if !goes_on {
                self.is_established = !self.connection.is_handshaking();
                return Ok(used);
            }
        }
    }

    /// Encodes the alert after a client's mistake, if there is one. rustls remembers where in `rest`, the bytes that it
    /// has not used, the messages behind the mistake are: given other bytes it would panic.
    fn fail(&mut self, rest: &mut [u8]) -> io::Result<()> {
        self.is_established = false;
        if let Ok(ConnectionState::EncodeTlsData(mut data)) = self.connection.process_tls_records(rest).state {
            encode(&mut self.unsent.bytes, |out| data.encode(out))?;
        }
        Ok(())
    }

    /// Encrypts a chunk of plaintext and sends its records; what the socket does not take waits.
    fn encrypt<S: AsFd>(&mut self, socket: &S, plain: &[u8], records: &mut Vec<u8>, more: bool) -> io::Result<()> {
        if self.is_failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        records.resize(SENT_BYTES + OVERHEAD_BYTES, 0);
        let mut filled = 0;
        loop {
            let status = self.connection.process_tls_records(&mut self.kept);
            match status.state.map_err(invalid)? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    filled += traffic.encrypt(plain, &mut records[filled..]).map_err(unencrypted)?;
                    break;
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    // keys that are renewed: their message comes before the records that they encrypt
                    let mut message = Vec::new();
                    encode(&mut message, |out| data.encode(out))?;
                    records.resize(records.len() + message.len(), 0);
                    records[filled..filled + message.len()].copy_from_slice(&message);
                    filled += message.len();
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.is_ended = true,
                _ => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        let sent = send(socket, &records[..filled], more)?;
        if sent < filled {
            self.unsent.bytes.extend_from_slice(&records[sent..filled]);
        }
        Ok(())
    }
}

fn count(into: &PlaintextSink<'_>) -> usize {
    match into {
        PlaintextSink::Slice(_, filled) => *filled,
        PlaintextSink::Behind(kept) => kept.len(),
    }
}

/// Sends as much as the socket takes.
fn send<S: AsFd>(socket: &S, bytes: &[u8], more: bool) -> io::Result<usize> {
    let flags = send_flags(more);
    let mut sent = 0;
    while sent < bytes.len() {
        match rustix::net::send(socket, &bytes[sent..], flags) {
            Ok(n) => sent += n,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(sent)
}

/// Appends what `encode` encodes, which says how much room it needs.
fn encode(out: &mut Vec<u8>, mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>) -> io::Result<()> {
    let from = out.len();
    let mut room = OVERHEAD_BYTES;
    loop {
        out.resize(from + room, 0);
        match encode(&mut out[from..]) {
            Ok(length) => {
                out.truncate(from + length);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(needs)) if needs.required_size > room => room = needs.required_size,
            Err(error) => {
                out.truncate(from);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn unencrypted(error: EncryptError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod outgoing_tests;
#[cfg(test)]
mod tests;
