//! A client of brokers: connections, how they are protected, and how the client proves who it is.
//!
//! Everything blocks, and each wait ends within a timeout, with an answer or an error of one sentence; for a loop of
//! events a connection is opened and used without a wait. The map: [`Connection`] asks one question after the other, in
//! `frames`; `dial` opens what is below it: a socket, `tls`, a `login`; [`Security`] reads the keys that say which,
//! `jaas` and `bearer` two of them, out of a client's [`Properties`]; `reasons` says why it was in vain, and [`Pool`]
//! keeps connections for the next question. Nothing here knows what its callers do with the answers.

#![forbid(unsafe_code)]

mod bearer;
mod connection;
mod dial;
mod frames;
pub mod jaas;
mod login;
mod pool;
mod properties;
mod random;
mod reasons;
mod request;
mod security;
mod servers;
mod stream;
pub mod tls;

pub use bearer::TokenSource;
pub use connection::{Connection, NoAnswer, unopened};
pub use dial::{Began, Limits, Opened, Opening};
pub use login::Login;
pub use pool::Pool;
pub use properties::Properties;
pub use random::{nonce, random};
pub use reasons::{is_final, is_of_version_1, is_shut_out, reason_of};
pub use request::Request;
pub use security::{Security, is_key, is_unused};
pub use servers::{NoServer, Server, parse_servers};
pub use stream::Stream;

#[cfg(test)]
mod tests;
