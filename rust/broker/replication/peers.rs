//! The contract between this broker's parts and the connections to other brokers: one request, one answer.
//!
//! Place: below the coordinators, which ask other brokers; `net` implements it with a thread and a connection for each
//! broker and channel. A send never waits. It does not retry, and it does not know what is asked.

use std::time::Duration;

/// A request to send; the sender adds the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// API key.
    pub api_key: i16,
    /// API version; its headers are the flexible ones.
    pub api_version: i16,
    /// The body.
    pub body: Vec<u8>,
}

/// Requests of one channel are sent to a broker one after the other; those of different channels do not wait for each
/// other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Questions about transactions.
    Transactions,
    /// Transaction markers, which are answered when they are replicated.
    Markers,
}

/// Gets the body of the answer; `None` when the broker could not be reached, or when the connection was lost. It is
/// called once, by a thread that it must not hold up.
pub type Then = Box<dyn FnOnce(Option<&[u8]>) + Send>;

/// See the module.
pub trait Peers: Send + Sync {
    /// Sends a request to a broker.
    fn send(&self, channel: Channel, node_id: i32, ask: Ask, then: Then);

    /// As [`Self::send`], after a pause.
    fn send_later(&self, pause: Duration, channel: Channel, node_id: i32, ask: Ask, then: Then);
}
