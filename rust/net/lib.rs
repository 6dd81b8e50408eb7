//! Sockets: listeners, connections, frames, the order of answers, sending. This folder knows files only as ranges to
//! send, and it knows no partitions.
//!
//! The way of a request, file by file: `acceptor` (accept; then `handshakes` on a listener with `tls`) → `reactor`
//! (turns of a loop, with its `connections`) → `receiver` and `input` (frames) → `requests` and `dispatch` (which part
//! serves a request; `apis`: the data plane's own; `sasl`: who the client is; `proof`: whether it may act as a broker)
//! → `broker` → `outbox` (send, `sendfile`), over the connection's `transport`. Parked requests are in `operations`;
//! requests that are too much for a loop are `request_tasks` of other threads; the bytes that all clients together hold
//! are bounded by `pressure`, and clients over a quota are `held_back`. Other threads reach a loop through its
//! `mailbox`; all loops share one `network`. `replica_fetchers` and `peers` are the clients among them: they ask other
//! brokers, over a `broker_connection`. `linux` and `macos`: calls on sockets that differ, under the same names.

#![forbid(unsafe_code)]

mod acceptor;
mod apis;
mod broker_connection;
mod close_reason;
mod completion;
mod connection;
mod connections;
mod dispatch;
mod engine;
mod framing;
mod handshakes;
mod held_back;
mod input;
mod limits;
mod mailbox;
mod metering;
mod network;
mod operations;
mod outbox;
mod peers;
mod pressure;
mod proof;
mod reactor;
mod receiver;
mod refusals;
mod replica_fetchers;
mod request_body;
mod request_tasks;
mod requests;
mod sasl;
mod server;
mod socket_options;
mod spread;
mod tls;
mod to_brokers;
mod transport;
mod wall_clock;
mod warm;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "macos.rs")]
mod system;

pub use apis::serve_all;
pub use engine::Engine;
#[doc(hidden)] // for tests/fuzz
pub use input::{Front, front};
pub use operations::ParkedAppend;
pub use sasl::bearer::{Bearer, TokenRules};
pub use sasl::credentials::DelegationToken;
pub use sasl::mechanism::{Mechanism, PlainUsers, SaslSettings};
#[doc(hidden)] // for tests/fuzz
pub use sasl::{Authentication, SaslOutcome, bearer::ClientMessage, credentials::Credentials};
pub use server::{ListenerConfig, Server};
pub use tls::issue::{CertificatePair, issue};
pub use tls::validity;
#[doc(hidden)] // for tests/fuzz
pub use tls::{HandshakeProgress, TlsLayer, context::TlsContext};
pub use to_brokers::ToBrokers;
