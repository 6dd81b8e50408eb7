//! Record batches: bytes in, bytes out; no files, no clocks, no sockets.
//!
//! The files: `header` and `batch` read a batch, `record` iterates its records, `checksum` computes the CRC,
//! `compression` has the codecs, `validate` checks a producer's batch, `rewrite` patches the header in place before the
//! write, `convert` changes the codec when the topic needs another codec, `filter` leaves records out, `aborts` batches
//! of aborted transactions, `builder` and `control` write new batches, `partitioner` has Kafka's choice of the
//! partition of a key, `legacy` has the old formats.
//!
//! Magic 2 is written. Magic 0 and 1 are read like magic 2, and converted from and to magic 2 for old clients. The hot
//! path is [`validate`] and [`assign`] of an uncompressed batch: no allocation and no copy.

#![forbid(unsafe_code)]

mod aborts;
mod batch;
mod builder;
mod checksum;
mod codec;
mod compression;
mod control;
mod convert;
mod error;
mod filter;
mod header;
pub mod legacy;
mod partitioner;
mod record;
mod rewrite;
mod validate;
mod varint;

#[cfg(test)]
mod tests;

pub use aborts::{AbortedFrom, OpenAborts};
pub use batch::{Batch, Batches};
pub use builder::{BatchBuilder, Header};
pub use checksum::{crc32, crc32c};
pub use codec::Codec;
pub use compression::{compress, decompress};
pub use control::{ControlRecord, ControlType, end_transaction_marker};
pub use error::BatchError;
pub use filter::{LOOK_AHEAD, RecordFilter, Selection, Selector, empty_batch};
pub use header::{
    BATCH_HEADER, BatchHeader, HEADER_TO_MAGIC, LOG_OVERHEAD, TimestampType, has_transactional_bit, next_sequence,
};
pub use legacy::LEAST_BATCH;
pub use partitioner::partition_of;
pub use record::{Headers, Record, RecordIter};
pub use rewrite::{assign, placed_head, set_log_append_time, set_max_timestamp, set_offset_and_epoch, set_producer};
pub use validate::{Origin, Rejection, Room, Rules, Validated, WITHOUT_KEY, single_batch, validate, validate_within};
pub use varint::{read_varint, read_varlong};
