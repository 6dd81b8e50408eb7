//! Kafka's messages: one table, and what reads and writes them after it.
//!
//! | module | what |
//! |---|---|
//! | [`table`] | the messages, their structs and fields in all versions, made of `messages/**/*.txt` by `build.rs` |
//! | [`schema`] | one version of one message, laid out for a reader or a writer |
//! | [`decode`] | reads bytes under limits and builds values through a [`Builder`] |
//! | [`encode`] | writes values; [`put`] has the pieces |
//! | [`stubs`] | the types of all this for mypy |
//! | [`values`] | plain values, for Rust and for tests |
//!
//! It knows no sockets, no files and no Python. It never keeps what it reads or writes.

pub mod decode;
pub mod encode;
pub(crate) mod java_text;
pub mod put;
pub mod schema;
pub mod stubs;
pub mod table;
pub mod values;

pub use decode::{Builder, Limits, decode};
pub use encode::{EncodeError, encode};
pub use schema::Schema;
pub use table::{Message, MessageKind};
pub use values::{Value, ValueBuilder};

#[cfg(test)]
pub mod tests;
