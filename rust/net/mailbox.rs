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

use super::connection::Connection;
use super::elsewhere::Returned;
use super::handshakes::Secured;
use broker::Wake;

thread_local! {
    /// The index of the loop that this thread runs, `usize::MAX` elsewhere.
    static CURRENT_LOOP: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A connection of a loop. The id tells it from a later connection in the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionRef {
    /// Place in the loop's table.
    pub key: usize,
    /// Unique in this process.
    pub id: u64,
}

/// A message to a loop.
pub enum Message {
    /// A new connection, already counted against the limits.
    Accepted {
        /// The socket, non-blocking.
        socket: TcpStream,
        /// Index of the listener that accepted it.
        listener: usize,
        /// The layer of TLS on a listener that has one.
        secured: Option<Box<Secured>>,
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
    Returned(u64, Box<Returned>),
    /// Pages were read ahead; the connection may go on sending.
    Warmed(ConnectionRef),
    /// A control-plane append that waits for replicas or the disk.
    ParkAppend(Box<super::operations::ParkedAppend>),
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

/// One loop's mailbox.
pub struct Mailbox {
    index: usize,
    waker: Waker,
    is_rung: AtomicBool,
    messages: Mutex<Vec<Message>>,
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

    /// Delivers a message; never blocks.
    pub fn post(&self, message: Message) {
        self.messages.lock().push(message);
        if CURRENT_LOOP.get() != self.index && !self.is_rung.swap(true, Ordering::AcqRel) {
            // An eventfd write fails only when the loop is gone, and then no message is waited for.
            let _ = self.waker.wake();
        }
    }

    /// Moves all messages into `into`.
    pub fn take(&self, into: &mut Vec<Message>) {
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
        self.post(Message::Wake(operation));
    }
}
