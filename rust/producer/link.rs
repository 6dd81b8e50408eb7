//! A connection that carries several requests at a time and never waits: what cannot be written now is written later.
//!
//! ```text
//! request := size i32, api_key i16, api_version i16, correlation_id i32, client_id string, body
//! answer  := size i32, correlation_id i32, body
//! ```
//! Answers come in the order of the requests. After an error the connection is of no more use.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::options::ProducerOptions;
use client::{Limits, Opened, Opening, Server, Stream};

/// A larger answer to Produce is not Kafka's protocol.
const MAX_ANSWER_BYTES: usize = 16 << 20;
const READ_BYTES: usize = 16 << 10;
const SIZE_BYTES: usize = 4;

/// A request on its way.
pub(super) struct Sent {
    /// The number by which the caller knows it.
    pub(super) request: u64,
    /// The queues that have a batch in it.
    pub(super) queues: Vec<usize>,
    correlation_id: i32,
    deadline: Instant,
}

/// A piece of a request.
enum Piece {
    Own(Vec<u8>),
    Shared(Arc<Vec<u8>>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// A request as it is built: small parts are joined, large batches are not copied.
pub(super) struct Frame {
    pieces: Vec<Piece>,
    last: Vec<u8>,
}

/// A batch below this is copied: one call to write it costs more.
const COPIED_BELOW: usize = 32 << 10;

impl Frame {
    pub(super) fn new(key: i16, version: i16, client_id: &str) -> Self {
        let mut head = vec![0; SIZE_BYTES];
        head.extend(key.to_be_bytes());
        head.extend(version.to_be_bytes());
        head.extend([0; size_of::<i32>()]); // the correlation id
        head.extend((client_id.len() as i16).to_be_bytes());
        head.extend(client_id.as_bytes());
        Self {
            pieces: Vec::new(),
            last: head,
        }
    }

    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.last
    }

    pub(super) fn batch(&mut self, batch: Arc<Vec<u8>>) {
        if batch.len() < COPIED_BELOW {
            self.last.extend_from_slice(&batch);
        } else {
            self.pieces.push(Piece::Own(std::mem::take(&mut self.last)));
            self.pieces.push(Piece::Shared(batch));
        }
    }

    fn finish(mut self, correlation_id: i32) -> Vec<Piece> {
        if !self.last.is_empty() {
            self.pieces.push(Piece::Own(self.last));
        }
        let size: usize = self.pieces.iter().map(|piece| piece.bytes().len()).sum();
        if let Some(Piece::Own(head)) = self.pieces.first_mut() {
            head[..SIZE_BYTES].copy_from_slice(&((size - SIZE_BYTES) as i32).to_be_bytes());
            head[2 * SIZE_BYTES..3 * SIZE_BYTES].copy_from_slice(&correlation_id.to_be_bytes());
        }
        self.pieces
    }
}

/// See the module.
pub(super) struct Link {
    pub(super) address: String,
    stream: Stream,
    /// When the session of SASL is to be replaced by another.
    ends: Option<Instant>,
    unwritten: VecDeque<Piece>,
    /// Bytes of the first piece that are written.
    written: usize,
    read: Vec<u8>,
    pub(super) sent: VecDeque<Sent>,
    last_correlation_id: i32,
    /// The broker wants nothing more before this time.
    pub(super) not_before: Option<Instant>,
}

impl Link {
    /// Waits until the connection may be used, at most `timeout` for each step.
    pub(super) fn open(server: &Server, options: &ProducerOptions, timeout: Duration) -> io::Result<Self> {
        let limits = Limits {
            connect: timeout,
            socket: timeout,
        };
        let mut opening = Opening::new(
            server,
            Vec::new(),
            &options.client_id,
            options.security.clone(),
            Some(limits),
        );
        let Opened { stream, ends } = opening.step(&|_| Ok(()))?;
        stream.socket().set_nonblocking(true)?;
        Ok(Self {
            address: format!("{}:{}", server.0, server.1),
            stream,
            ends,
            unwritten: VecDeque::new(),
            written: 0,
            read: Vec::new(),
            sent: VecDeque::new(),
            last_correlation_id: 0,
            not_before: None,
        })
    }

    /// Whether no request is to be sent over it any more: its session ends.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.ends.is_some_and(|ends| now >= ends)
    }

    /// Puts a request in line.
    pub(super) fn send(&mut self, frame: Frame, request: u64, queues: Vec<usize>, deadline: Instant) {
        self.last_correlation_id = self.last_correlation_id.wrapping_add(1);
        self.unwritten.extend(frame.finish(self.last_correlation_id));
        self.sent.push_back(Sent {
            request,
            queues,
            correlation_id: self.last_correlation_id,
            deadline,
        });
    }

    pub(super) fn wants_to_write(&self) -> bool {
        !self.unwritten.is_empty() || self.stream.wants_to_write()
    }

    /// Writes what the socket takes.
    pub(super) fn write(&mut self) -> io::Result<()> {
        while let Some(piece) = self.unwritten.front() {
            let rest = piece.bytes().get(self.written..).unwrap_or_default();
            match self.stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) if count == rest.len() => {
                    self.unwritten.pop_front();
                    self.written = 0;
                }
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        match self.stream.flush() {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            flushed => flushed,
        }
    }

    /// Reads what has come: whole answers, each with its request, also those before an error.
    pub(super) fn read(&mut self, answers: &mut Vec<(Sent, Vec<u8>)>) -> io::Result<()> {
        let mut chunk = [0; READ_BYTES];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.read.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
            while let Some(answer) = self.whole_answer()? {
                answers.push(answer);
            }
        }
    }

    fn whole_answer(&mut self) -> io::Result<Option<(Sent, Vec<u8>)>> {
        let Some((size, rest)) = self.read.split_first_chunk::<SIZE_BYTES>() else {
            return Ok(None);
        };
        let size = i32::from_be_bytes(*size) as usize;
        if !(SIZE_BYTES..=MAX_ANSWER_BYTES).contains(&size) {
            return Err(not_kafka());
        }
        let Some((id, body)) = rest.get(..size).and_then(|answer| answer.split_first_chunk()) else {
            return Ok(None);
        };
        let sent = self.sent.pop_front().ok_or_else(not_kafka)?;
        if *id != sent.correlation_id.to_be_bytes() {
            self.sent.push_front(sent); // it has no answer
            return Err(not_kafka());
        }
        let body = body.to_vec();
        self.read.drain(..SIZE_BYTES + size);
        Ok(Some((sent, body)))
    }

    /// Requests that want no answer, once they are written.
    pub(super) fn take_written(&mut self) -> Vec<Sent> {
        if self.wants_to_write() {
            return Vec::new();
        }
        self.sent.drain(..).collect()
    }

    pub(super) fn is_late(&self, now: Instant) -> bool {
        self.sent.front().is_some_and(|sent| sent.deadline < now)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn not_kafka() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "its answer is not Kafka's protocol")
}
