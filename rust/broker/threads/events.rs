//! The events that the data plane sends to the control plane: requests that the data plane does not serve, and things
//! that happened.
//!
//! One queue, taken in batches; its signal (an eventfd on Linux) is readable while it is not empty. A push never waits
//! for the control plane. The sources bound the queue's length: a connection has at most one request in it; an append,
//! a partition's in-sync set, a partition's low watermark, a log directory and a thread have at most one event each.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::partition::followers::Proposal;
use crate::requests::budget::Charge;
use crate::requests::caller::ClientInfo;
use base::error::ErrorCode;
use base::place::Offset;
use base::system::Signal;

/// A request for the control plane.
#[derive(Debug, PartialEq, Eq)]
pub struct ControlRequest {
    /// Names the parked operation that the answer completes.
    pub token: u64,
    /// API key.
    pub api_key: i16,
    /// API version.
    pub api_version: i16,
    /// The client's correlation id.
    pub correlation_id: i32,
    /// What the connection knows of its client.
    pub client: Arc<ClientInfo>,
    /// The body after the request header, unchecked.
    pub body: Vec<u8>,
    /// The bytes that it takes from the broker's budget for such bodies.
    pub charge: Charge,
}

/// An append of the control plane that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendDone {
    /// The token that `append` returned.
    pub token: u64,
    /// `NONE`, or the code of the error.
    pub code: ErrorCode,
    /// First offset, -1 on error.
    pub base_offset: Offset,
    /// Last offset, -1 on error.
    pub last_offset: Offset,
    /// With `LogAppendTime`, else -1.
    pub log_append_time_ms: i64,
    /// One sentence on the error.
    pub message: Option<String>,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A request to serve.
    Request(ControlRequest),
    /// A line for the log.
    Log(String),
    /// A line for the audit log: a client may not do what it asked for.
    Refused(String),
    /// An append was answered.
    AppendDone(AppendDone),
    /// A leader proposes another in-sync set.
    IsrChange {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        index: i32,
        /// The change.
        proposal: Proposal,
    },
    /// A log directory went offline.
    LogDirFailed {
        /// The log directory.
        log_dir: PathBuf,
        /// The error that took it offline.
        reason: String,
    },
    /// A partition is in another log directory now.
    ReplicaMoved {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        index: i32,
        /// Where it is.
        log_dir: PathBuf,
    },
    /// The low watermark of a partition that is watched may have moved, or this broker does not lead it any more.
    LowWatermarkMoved {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        index: i32,
    },
    /// The client of a request that is not answered yet has closed the connection, or will send no more.
    RequestAbandoned {
        /// The request's token.
        token: u64,
    },
    /// Few producer ids are left: the next block is to be claimed.
    ProducerIdsLow,
    /// Groups without members were created by their first commit.
    GroupsCreated {
        /// Partition of `__consumer_offsets`.
        index: i32,
        /// Their ids.
        groups: Vec<Arc<str>>,
    },
    /// Sessions of members are over: partition of `__consumer_offsets`, number of its load, group, member. A member
    /// that sent a request since then has a new session.
    SessionsExpired(Vec<(i32, u64, Arc<str>, Arc<str>)>),
    /// A thread of the data plane failed: requests that wait for it would wait for ever.
    ThreadFailed {
        /// The thread's name.
        thread: String,
        /// The panic's message, or the error.
        reason: String,
    },
}

/// Bytes of request bodies that one [`EventQueue::take`] may return, and one request more.
const MAX_TAKEN_BYTES: usize = 1 << 20;

struct Queue {
    events: VecDeque<Event>,
    is_signalled: bool,
}

/// The queue.
pub struct EventQueue {
    queue: Mutex<Queue>,
    signal: Signal,
}

impl EventQueue {
    /// An empty queue with its own signal.
    pub fn new() -> io::Result<Self> {
        let signal = Signal::new()?;
        Ok(Self {
            queue: Mutex::new(Queue {
                events: VecDeque::new(),
                is_signalled: false,
            }),
            signal,
        })
    }

    /// Readable while the queue has events.
    pub fn signal(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }

    /// Whether the signal is readable; asks the kernel, as an event loop does.
    pub fn is_signalled(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(&self.signal, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Adds an event; never blocks.
    pub fn push(&self, event: Event) {
        let mut queue = self.queue.lock();
        queue.events.push_back(event);
        if !queue.is_signalled {
            queue.is_signalled = true;
            self.signal.set(); // a lost wake-up would show as a stuck request
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.queue.lock().events.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes at most `limit` events, the oldest first. It takes requests up to [`MAX_TAKEN_BYTES`] and one more, since
    /// the control plane copies their bodies.
    pub fn take(&self, limit: usize) -> Vec<Event> {
        let mut queue = self.queue.lock();
        let mut bytes = 0;
        let fits = |event: &&Event| {
            let fits = bytes <= MAX_TAKEN_BYTES;
            if let Event::Request(request) = event {
                bytes += request.body.len();
            }
            fits
        };
        let count = queue.events.iter().take(limit).take_while(fits).count();
        let taken = queue.events.drain(..count).collect();
        if queue.events.is_empty() && queue.is_signalled {
            queue.is_signalled = false;
            self.signal.clear();
        }
        taken
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
