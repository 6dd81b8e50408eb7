//! How many connections there may be: `max.connections` of the broker and of a listener, `max.connections.per.ip` and
//! its overrides. The options are read at each new connection, since they may change at run time.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use std::time::Instant;

use mio::net::TcpStream;
use parking_lot::Mutex;

use broker::ConnectionOptions;

/// Connections that wait to be closed: each holds a descriptor.
const MAX_TURNED_AWAY: usize = 256;

#[derive(Default)]
struct ConnectionCounts {
    all: usize,
    by_listener: Vec<usize>,
    by_ip: HashMap<IpAddr, usize>,
}

/// The counts of one broker.
pub struct ConnectionLimits {
    counts: Mutex<ConnectionCounts>,
}

impl ConnectionLimits {
    /// No connections on any of `listeners` listeners.
    pub fn new(listeners: usize) -> Self {
        Self {
            counts: Mutex::new(ConnectionCounts {
                by_listener: vec![0; listeners],
                ..ConnectionCounts::default()
            }),
        }
    }

    /// Counts a new connection on a listener, whose name and number are given; false when it must be refused.
    pub fn admit(&self, ip: IpAddr, listener: usize, name: &str, options: &ConnectionOptions) -> bool {
        let max_of_ip = options.max_of_ip.get(&ip).copied().unwrap_or(options.max_per_ip);
        let max_of_listener = options.of_listener(name).max;
        let mut counts = self.counts.lock();
        let of_ip = counts.by_ip.get(&ip).copied().unwrap_or(0);
        let of_listener = counts.by_listener.get(listener).copied().unwrap_or(0);
        if counts.all >= options.max || of_ip >= max_of_ip || of_listener >= max_of_listener {
            return false;
        }
        counts.all += 1;
        if let Some(of_listener) = counts.by_listener.get_mut(listener) {
            *of_listener += 1;
        }
        counts.by_ip.insert(ip, of_ip + 1);
        true
    }

    /// A connection of a listener has gone.
    pub fn release(&self, ip: IpAddr, listener: usize) {
        let mut counts = self.counts.lock();
        counts.all = counts.all.saturating_sub(1);
        if let Some(of_listener) = counts.by_listener.get_mut(listener) {
            *of_listener = of_listener.saturating_sub(1);
        }
        if let Some(of_ip) = counts.by_ip.get_mut(&ip) {
            *of_ip -= 1;
            if *of_ip == 0 {
                counts.by_ip.remove(&ip);
            }
        }
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.counts.lock().all
    }
}

/// Connections of addresses that open too many a second: they are closed after a while, unserved, so that a client
/// that dials again at once gains nothing (KIP-612).
#[derive(Default)]
pub struct RejectedConnections {
    sockets: BinaryHeap<RejectedConnection>,
}

struct RejectedConnection {
    /// Closed when it is dropped.
    _socket: TcpStream,
    at: Instant,
}

impl PartialEq for RejectedConnection {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for RejectedConnection {}

impl PartialOrd for RejectedConnection {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RejectedConnection {
    /// The first to be closed is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at)
    }
}

impl RejectedConnections {
    /// Whether another connection can wait; else it must be closed at once.
    pub fn has_room(&self) -> bool {
        self.sockets.len() < MAX_TURNED_AWAY
    }

    /// Keeps a connection until `at`.
    pub fn push(&mut self, socket: TcpStream, at: Instant) {
        self.sockets.push(RejectedConnection { _socket: socket, at });
    }

    /// When the next connection is to be closed.
    pub fn next(&self) -> Option<Instant> {
        self.sockets.peek().map(|turned| turned.at)
    }

    /// Closes the connections whose time is over; returns how many.
    pub fn close_due(&mut self, now: Instant) -> usize {
        let before = self.sockets.len();
        while self.next().is_some_and(|at| at <= now) {
            self.sockets.pop();
        }
        before - self.sockets.len()
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
