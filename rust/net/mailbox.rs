//! How other threads reach a network loop: a queue and a waker.
//!
//! Any thread may post; only the loop takes. The waker is rung once until the loop has taken its messages, so a burst
//! of messages costs one system call. A message from the loop to itself does not ring the waker: the loop looks into
//! its mailbox before it sleeps.

use std::cell::Cell;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::Waker;
use parking_lot::Mutex;

use super::close_reason::CloseReason;
use super::connection::{Connection, ConnectionRef};
use super::operations::{ApiVersion, ParkedAppend};
use super::outbox::Outbox;
use super::request_body::RequestBody;
use super::tls::TlsPeer;
use broker::{Delayed, Waiter, Wake};

thread_local! {
    /// The index of the loop that this thread runs, `usize::MAX` elsewhere.
    static CURRENT_LOOP: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A message to a loop.
pub enum LoopMessage {
    /// A new connection, already counted against the limits.
    Accepted {
        /// The socket, non-blocking.
        socket: TcpStream,
        /// Index of the listener that accepted it.
        listener: usize,
        /// The layer of TLS on a listener that has one.
        secured: Option<Box<TlsPeer>>,
    },
    /// A connection that another loop served so far; it has no request or answer in flight.
    Moved(Box<Connection>),
    /// A parked operation may be able to complete.
    Wake(u64),
    /// The control plane has spent this time on a request, which it answers next.
    Spent(u64, Duration),
    /// The control plane answered a request: the body after the response header, or `None` to close the connection.
    Answer(u64, Option<Vec<u8>>),
    /// The control plane hands a request back to be served here.
    ServeHere(u64),
    /// The result of a request that another thread has worked on.
    TaskDone(u64, Box<TaskResult>),
    /// Pages were read ahead; the connection may go on sending.
    Warmed(ConnectionRef),
    /// A control-plane append that waits for replicas or the disk.
    ParkAppend(Box<ParkedAppend>),
    /// Close one connection.
    Disconnect {
        /// Its id.
        id: u64,
        /// A loop without this connection asks all loops once more: the connection may have been on its way between two
        /// loops.
        asks_again: bool,
    },
    /// Accept nothing, answer the requests in flight, then end; at the latest at this time.
    Drain(Instant),
}

/// The result of a request that another thread has worked on.
pub enum TaskResult {
    /// The whole response.
    Answer(Outbox),
    /// acks=0: nothing is sent.
    Silent,
    /// A delayed answer, which watches its partitions already.
    Delayed(Box<dyn Delayed>),
    /// The control plane goes on with this request; `kept` comes back here afterwards.
    Control {
        /// The API.
        api: ApiVersion,
        /// The body for the control plane.
        request: Vec<u8>,
        /// The client's body, when the control plane is only asked first.
        kept: Option<RequestBody>,
    },
    /// The connection is to be closed.
    Close(CloseReason),
}

/// One loop's mailbox.
pub struct Mailbox {
    index: usize,
    waker: Waker,
    is_rung: AtomicBool,
    messages: Mutex<Vec<LoopMessage>>,
}

impl Mailbox {
    /// The mailbox of loop `index`, which sleeps on the poll behind `waker`.
    pub fn new(index: usize, waker: Waker) -> Arc<Self> {
        Arc::new(Self {
            index,
            waker,
            is_rung: AtomicBool::new(false),
            messages: Mutex::default(),
        })
    }

    /// Marks the calling thread as the one that runs the loop.
    pub fn enter(&self) {
        CURRENT_LOOP.set(self.index);
    }

    /// The loop's index.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Wakes an operation of the loop.
    pub fn waiter(self: &Arc<Self>, operation: u64) -> Waiter {
        Waiter {
            owner: Arc::clone(self) as Arc<dyn Wake>,
            operation,
        }
    }

    /// Delivers a message; never blocks.
    pub fn post(&self, message: LoopMessage) {
        self.messages.lock().push(message);
        if CURRENT_LOOP.get() != self.index && !self.is_rung.swap(true, Ordering::AcqRel) {
            // An eventfd write fails only when the loop is gone, and then no message is waited for.
            let _ = self.waker.wake();
        }
    }

    /// Moves all messages into `into`.
    pub fn take(&self, into: &mut Vec<LoopMessage>) {
        self.is_rung.store(false, Ordering::Release);
        into.append(&mut self.messages.lock());
    }

    /// Whether messages wait.
    pub fn has_mail(&self) -> bool {
        !self.messages.lock().is_empty()
    }
}

impl Wake for Mailbox {
    fn wake(&self, operation: u64) {
        self.post(LoopMessage::Wake(operation));
    }
}
