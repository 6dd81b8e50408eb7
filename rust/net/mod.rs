//! Sockets: listeners, connections, frames, the order of answers, sending. It knows no files but as ranges to send, and
//! no partitions.
//!
//! The way of a request, file by file: `server` (accept) → `reactor` (turns of a loop) → `serve` and `input` (frames) →
//! `dispatch` (who serves it; `apis`: the data plane's own; `proof`: who may act as a broker) → `broker` → `outbox`
//! (send, `sendfile`), over the connection's `transport`. What waits is in `operations` and ends in `complete`; what is
//! too much for a loop is served `elsewhere`; what all clients together hold is bounded under `pressure`. Other threads
//! reach a loop through its `mailbox`. `replica_fetchers` is the one client among them: it follows other brokers.

mod apis;
mod complete;
mod connection;
mod dispatch;
mod elsewhere;
mod engine;
mod input;
mod limits;
mod mailbox;
mod operations;
mod outbox;
mod pressure;
mod proof;
mod reactor;
mod replica_fetchers;
mod replica_proof;
mod serve;
mod server;
mod socket_options;
mod spread;
mod transport;
mod warm;

pub use apis::find as find_api;
pub use engine::Engine;
pub use operations::ParkedAppend;
pub use server::{ListenerConfig, Server};
