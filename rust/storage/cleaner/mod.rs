//! Compaction: of each key the last value is kept, as Kafka's log cleaner keeps it.
//!
//! The files, in the order of a cleaning: `cleanable` says which part of a log is dirty, `plan` lists its segments and
//! groups them, `offset_map` has the last offset of each key, which `key_index` fills from the dirty part, `source`
//! reads batches, `transactions` knows the aborted transactions, `retention` decides about each batch and record,
//! `output` writes the segment that replaces a group, and `swap` puts it in the group's place. `cleaning` is the whole,
//! step by step.
//!
//! - (a) Only sealed segments below the last stable offset are cleaned. Offsets never change, and a record keeps its
//!   batch, timestamps, headers and codec.
//! - (b) A tombstone stays until its batch's delete horizon, a transaction marker until its transaction has no record
//!   left and its own delete horizon has passed (KIP-534). The records of aborted transactions go.
//! - (c) The last batch of each producer, and the batch at the high watermark, stay, without records if need be:
//!   sequences and the log's end can be read from them.
//! - (d) A log is cleaned from front to back: of a key no older value is left in front of a newer value that a reader
//!   has passed.
//!
//! Durability: a group's segment is on disk before it takes the group's place; a crash leaves the group or its
//! segment ([`super::swap_rules`]). Nothing here schedules: the caller chooses the log, the time and the pace.

pub mod cleanable;
pub mod cleaning;
mod key_index;
pub mod offset_map;
mod output;
pub mod plan;
pub mod planted;
mod retention;
mod source;
pub mod swap;
mod transactions;

pub use cleanable::Cleanable;
pub use cleaning::{Cleaning, CleaningStats, Interrupted, Pace};
pub use offset_map::OffsetMap;
pub use swap::Swapped;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
