//! A connection over which one question at a time is asked, without a wait.

use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::options::ConsumerOptions;
use client::{Connection, NoAnswer, Opening, Request, Server, unopened};

enum State {
    Opening(Box<Opening>),
    Open(Box<Connection>),
    /// Only within a step.
    Closed,
}

/// A question on its way, with what the asker wants to know again at its answer.
struct Pending<Q> {
    question: Q,
    request: Request,
    is_sent: bool,
    until: Instant,
}

/// See the module.
pub(super) struct Link<Q> {
    server: Server,
    state: State,
    connect_until: Instant,
    request_timeout: Duration,
    pending: Option<Pending<Q>>,
    answer: Vec<u8>,
}

/// An answer: its bytes, and where its body begins.
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    pub(super) body_at: usize,
}

impl Answer {
    pub(super) fn body(&self) -> &[u8] {
        self.bytes.get(self.body_at..).unwrap_or_default()
    }
}

impl<Q> Link<Q> {
    pub(super) fn new(server: &Server, options: &ConsumerOptions, now: Instant) -> Self {
        let opening = Opening::new(server, Vec::new(), &options.client_id, options.security.clone(), None);
        Self {
            server: server.clone(),
            state: State::Opening(Box::new(opening)),
            connect_until: now + options.connect_timeout,
            request_timeout: options.request_timeout,
            pending: None,
            answer: Vec::new(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_none()
    }

    /// Whether it is of no more use: its session has ended, or the broker has closed it.
    pub(super) fn is_spent(&self) -> bool {
        let State::Open(connection) = &self.state else {
            return false;
        };
        self.is_idle() && (connection.is_over() || !connection.is_quiet())
    }

    /// Puts a question on its way; into `memory` its answer is read.
    pub(super) fn ask(&mut self, request: Request, question: Q, memory: Vec<u8>, now: Instant) {
        let is_sent = match &mut self.state {
            State::Open(connection) => connection.send(&request).is_ok(), // the next step meets the error again
            _ => false,
        };
        self.answer = memory;
        self.pending = Some(Pending {
            question,
            request,
            is_sent,
            until: now + self.request_timeout,
        });
    }

    /// The question that gets no answer any more.
    pub(super) fn into_question(self) -> Option<Q> {
        self.pending.map(|pending| pending.question)
    }

    /// Goes on as far as that needs no wait: the question that was answered, with its answer.
    pub(super) fn step(&mut self, now: Instant) -> Result<Option<(Q, Answer)>, NoAnswer> {
        if let State::Opening(_) = self.state {
            self.open(now)?;
        }
        let (State::Open(connection), Some(pending)) = (&mut self.state, &mut self.pending) else {
            return Ok(None);
        };
        if !pending.is_sent {
            connection.send(&pending.request)?;
            pending.is_sent = true;
        }
        if !connection.receive_now(&mut self.answer)? {
            return if now < pending.until {
                Ok(None)
            } else {
                Err(self.timed_out())
            };
        }
        let bytes = std::mem::take(&mut self.answer);
        let body_at = pending.request.body_at(&bytes).map_err(|_| connection.malformed())?;
        let pending = self.pending.take();
        Ok(pending.map(|pending| (pending.question, Answer { bytes, body_at })))
    }

    fn open(&mut self, now: Instant) -> Result<(), NoAnswer> {
        let State::Opening(mut opening) = std::mem::replace(&mut self.state, State::Closed) else {
            return Ok(());
        };
        match opening.step(&|_| Ok(())) {
            Ok(opened) => self.state = State::Open(Box::new(Connection::over(opened, *opening))),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if now >= self.connect_until {
                    return Err(self.timed_out());
                }
                self.state = State::Opening(opening);
            }
            Err(error) => return Err(unopened(&self.server, &error)),
        }
        Ok(())
    }

    fn timed_out(&self) -> NoAnswer {
        unopened(&self.server, &std::io::ErrorKind::TimedOut.into())
    }

    fn socket(&self) -> Option<&TcpStream> {
        match &self.state {
            State::Opening(opening) => opening.socket(),
            State::Open(connection) => Some(connection.socket()),
            State::Closed => None,
        }
    }

    /// Whether its first step is due: it has no socket yet that could be waited for.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.state, State::Opening(_)) && self.socket().is_none()
    }

    /// What the next step waits for; `None` when it waits for nothing.
    pub(super) fn waits_for(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let wants_to_write = match &self.state {
            State::Opening(opening) => opening.wants_to_write(),
            State::Open(connection) => connection.wants_to_write(),
            State::Closed => false,
        };
        if self.is_idle() && matches!(self.state, State::Open(_)) {
            return None;
        }
        let write = if wants_to_write {
            PollFlags::OUT
        } else {
            PollFlags::empty()
        };
        Some((self.socket()?.as_fd(), PollFlags::IN | write))
    }
}
