//! A client of brokers: one connection that asks one question at a time, and the parts of questions and answers.
//!
//! Everything blocks, and each wait ends within a timeout, with an answer or an error of one sentence. It speaks on
//! PLAINTEXT listeners only, and knows nothing of what its callers do with the answers.

#![forbid(unsafe_code)]

mod connection;
mod fields;
mod servers;

pub use connection::{Connection, NoAnswer};
pub use fields::{Fields, Malformed, push_array, push_string};
pub use servers::{NoServer, Server, parse_servers};

#[cfg(any(test, feature = "testing"))]
#[allow(missing_docs, clippy::expect_used, clippy::unwrap_used, clippy::pedantic)]
pub mod testing;
#[cfg(test)]
mod tests;
