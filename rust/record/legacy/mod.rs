//! Kafka's message formats of before 0.11, magic 0 and 1: bytes in, bytes out, as the rest of `record`.
//!
//! The files: `message` has the grammar, reads and writes one message; `header` decodes a message as a
//! [`super::BatchHeader`]; `inner` iterates the messages of a wrapper; `read` gives the records of either;
//! `convert_up` makes a v2 batch of a producer's message set; `convert_down` makes a message set of batches, for an old
//! consumer, with `stream` for compressed batches.
//!
//! Old messages are rare, and nothing here is on the hot path: every entry is `#[cold]`, and clarity wins over speed.
//! No length in a message is trusted: memory grows with bytes that are there, up to a limit that the caller gives.

mod convert_down;
mod convert_up;
mod header;
mod inner;
mod message;
mod read;
mod stream;

#[cfg(test)]
mod tests;

pub use convert_down::{DownConverter, fits, to_message};
pub use convert_up::convert_up;
pub use message::{LEAST_BATCH, Magic, crc_of};
pub use read::to_records;

pub(super) use header::{check_length_and_magic, parse_header};
