//! The sending side of a connection: bytes and file ranges in order, sent as the socket takes them.
//!
//! Small answers gather in one buffer and leave in one `send`. File ranges leave by `sendfile`, behind a header sent
//! with `MSG_MORE`. A range whose pages are not in memory is never sent from a network loop, which would stall every
//! other connection on the disk: [`SendProgress::Cold`] names the range that must be read ahead first (KAFKA-7504).

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::transport::Transport;
use ::io::{File, is_cached};
use base::error::shortage::is_out_of_descriptors;

/// Bytes of one range that are sent between two checks whether its pages are in memory.
const CHUNK_BYTES: usize = 1 << 20;
/// Distance between the pages checked within a chunk; the kernel reads ahead at least so much.
const PROBE_STEP_BYTES: u64 = 128 << 10;
/// A sent buffer larger than this is freed rather than kept for the next answers.
const KEEP_BYTES: usize = 32 << 10;

/// A range of a file on its way out.
#[derive(Clone)]
pub struct FileRange {
    /// The file.
    pub file: Arc<dyn File>,
    /// Where it starts.
    pub position: u64,
    /// How long it is.
    pub len: usize,
}

enum OutboxPiece {
    Bytes(Vec<u8>),
    /// Bytes that other connections send, too.
    Shared(Arc<Vec<u8>>),
    File(FileRange),
}

/// How far a flush came.
pub enum SendProgress {
    /// All bytes are with the kernel.
    All,
    /// The socket takes no more for now.
    Blocked,
    /// These pages must be read into memory first.
    Cold(FileRange),
}

/// The bytes and file ranges that wait to be sent on one connection.
#[derive(Default)]
pub struct Outbox {
    pieces: VecDeque<OutboxPiece>,
    sent_of_first: usize,
    spare: Vec<u8>,
    warmed_until: u64,
}

impl Outbox {
    /// The buffer to append an answer's bytes to.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        if !matches!(self.pieces.back(), Some(OutboxPiece::Bytes(_))) {
            let buffer = std::mem::take(&mut self.spare);
            self.pieces.push_back(OutboxPiece::Bytes(buffer));
        }
        match self.pieces.back_mut() {
            Some(OutboxPiece::Bytes(buffer)) => buffer,
            _ => &mut self.spare,
        }
    }

    /// Appends bytes that other connections send, too.
    pub fn push_shared(&mut self, bytes: Arc<Vec<u8>>) {
        self.pieces.push_back(OutboxPiece::Shared(bytes));
    }

    /// Appends bytes; more than [`KEEP_BYTES`] are not copied.
    pub fn push_bytes(&mut self, bytes: Vec<u8>) {
        if bytes.len() <= KEEP_BYTES {
            self.tail().extend_from_slice(&bytes);
        } else {
            self.pieces.push_back(OutboxPiece::Bytes(bytes));
        }
    }

    /// Appends a file range.
    pub fn push_file(&mut self, range: FileRange) {
        self.pieces.push_back(OutboxPiece::File(range));
    }

    /// Moves all pieces of `other` behind the pieces of this outbox.
    pub fn append(&mut self, other: &mut Self) {
        for piece in other.pieces.drain(..) {
            match piece {
                OutboxPiece::Bytes(bytes) if matches!(self.pieces.back(), Some(OutboxPiece::Bytes(_))) => {
                    self.push_bytes(bytes);
                }
                piece => self.pieces.push_back(piece),
            }
        }
    }

    /// Whether nothing waits to be sent.
    pub fn is_empty(&self) -> bool {
        self.pieces
            .iter()
            .all(|p| matches!(p, OutboxPiece::Bytes(b) if b.is_empty()))
    }

    /// Memory that this connection alone holds for unsent answers (shared bytes and file ranges not counted).
    pub fn held_bytes(&self) -> usize {
        if self.pieces.is_empty() {
            return 0;
        }
        self.pieces
            .iter()
            .map(|piece| match piece {
                OutboxPiece::Bytes(bytes) => bytes.capacity(),
                OutboxPiece::Shared(_) | OutboxPiece::File(_) => 0,
            })
            .sum()
    }

    /// Whether file ranges wait.
    pub fn has_files(&self) -> bool {
        self.pieces.iter().any(|p| matches!(p, OutboxPiece::File(_)))
    }

    /// Bytes that wait in memory (file ranges not counted).
    pub fn buffered_bytes(&self) -> usize {
        self.pieces
            .iter()
            .map(|piece| match piece {
                OutboxPiece::Bytes(bytes) => bytes.len(),
                OutboxPiece::Shared(bytes) => bytes.len(),
                OutboxPiece::File(_) => 0,
            })
            .sum()
    }

    /// Notes that the range asked for by [`SendProgress::Cold`] is in memory now.
    pub fn warmed(&mut self) {
        if let Some(OutboxPiece::File(range)) = self.pieces.front() {
            self.warmed_until = range.position + range.len.min(CHUNK_BYTES) as u64;
        }
    }

    /// Sends as much as the socket takes.
    pub fn flush<S: AsFd>(&mut self, transport: &mut Transport<S>) -> io::Result<SendProgress> {
        loop {
            let more = self.pieces.len() > 1;
            let sent = match self.pieces.front_mut() {
                None if transport.flush_layer()? => return Ok(SendProgress::All),
                None => return Ok(SendProgress::Blocked),
                Some(OutboxPiece::Bytes(bytes)) => {
                    if !send_rest(transport, bytes, &mut self.sent_of_first, more)? {
                        return Ok(SendProgress::Blocked);
                    }
                    true
                }
                Some(OutboxPiece::Shared(bytes)) => {
                    if !send_rest(transport, bytes, &mut self.sent_of_first, more)? {
                        return Ok(SendProgress::Blocked);
                    }
                    true
                }
                Some(OutboxPiece::File(range)) => match send_file(transport, range, &mut self.warmed_until)? {
                    SendProgress::All => true,
                    other => return Ok(other),
                },
            };
            if sent {
                self.drop_first();
            }
        }
    }

    fn drop_first(&mut self) {
        self.sent_of_first = 0;
        self.warmed_until = 0;
        if let Some(OutboxPiece::Bytes(mut bytes)) = self.pieces.pop_front()
            && bytes.capacity() <= KEEP_BYTES
            && bytes.capacity() > self.spare.capacity()
        {
            bytes.clear();
            self.spare = bytes;
        }
    }
}

/// Sends what follows the first `sent` bytes; false when the socket is full before their end.
fn send_rest<S: AsFd>(transport: &mut Transport<S>, bytes: &[u8], sent: &mut usize, more: bool) -> io::Result<bool> {
    let rest = &bytes[*sent..];
    if !rest.is_empty() {
        *sent += transport.send(rest, more)?;
    }
    Ok(*sent == bytes.len())
}

fn send_file<S: AsFd>(
    transport: &mut Transport<S>,
    range: &mut FileRange,
    warmed_until: &mut u64,
) -> io::Result<SendProgress> {
    while range.len > 0 {
        let chunk = range.len.min(CHUNK_BYTES);
        if range.position >= *warmed_until {
            if !is_in_memory(range, chunk) {
                return Ok(SendProgress::Cold(FileRange {
                    len: chunk,
                    ..range.clone()
                }));
            }
            *warmed_until = range.position + chunk as u64;
        }
        let count = usize::try_from(*warmed_until - range.position)
            .unwrap_or(chunk)
            .min(chunk);
        match transport.send_file(&*range.file, range.position, count) {
            Err(error) if is_out_of_descriptors(&error) => {
                return Ok(SendProgress::Cold(FileRange {
                    len: chunk,
                    ..range.clone()
                }));
            }
            Ok(Some(0)) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "a segment file is shorter than its log says",
                ));
            }
            Ok(Some(n)) => {
                range.position += n as u64;
                range.len -= n;
            }
            Ok(None) => return Ok(SendProgress::Blocked),
            Err(error) => return Err(error),
        }
    }
    Ok(SendProgress::All)
}

/// Looks at one page in every [`PROBE_STEP_BYTES`], without waiting for the disk. On a file system that cannot tell, a
/// page counts as in memory: then sending may wait for the disk, as it does in Kafka.
fn is_in_memory(range: &FileRange, len: usize) -> bool {
    let last = range.position + len as u64 - 1;
    let mut at = range.position;
    loop {
        let mut is_there = true;
        let probed = range.file.with_fd(&mut |fd| is_there = is_cached(fd, at));
        if probed.is_ok() && !is_there {
            return false;
        }
        if at == last {
            return true;
        }
        at = (at + PROBE_STEP_BYTES).min(last);
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
