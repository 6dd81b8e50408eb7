//! Kafka's wire format: decodes bytes into values and encodes values. No I/O, no policy, no allocation by a count that
//! a client declared.
//!
//! The map: [`reader`] and [`writer`] are the primitives; every request uses [`header`] and [`api_table`] first; one
//! file per API whose requests are read by hand ([`produce`], [`fetch`], [`list_offsets`], [`metadata`],
//! [`offset_commit`], [`txn_offset_commit`], [`offset_fetch`], [`api_versions`]): which those are, and why, is said in
//! `by_hand.rs`. [`messages`] has all others that Rust reads and writes, as types; [`codec`] has all messages, these
//! too, after one table: the control plane reads and writes by it. [`scram`] is what SASL carries; [`throttle_time`]
//! knows where answers name the time for which a client is held back.
//!
//! Decoders point into the body with `Range<usize>` and reuse their vectors. A [`WireError`] means that the bytes are
//! not Kafka's protocol: the connection is closed, as Kafka does; only strings that are not UTF-8 are [`mended`]. Bytes
//! after the last field of a request that the data plane serves are ignored, as Kafka ignores them; [`codec`] refuses
//! them.

#![forbid(unsafe_code)]

pub mod api_table;
pub mod api_versions;
#[cfg(test)]
mod by_hand;
pub mod codec;
pub mod error;
pub mod fetch;
pub mod header;
pub mod list_offsets;
pub mod mended;
pub mod messages;
pub mod metadata;
pub mod offset_commit;
pub mod offset_fetch;
pub mod produce;
pub mod reader;
pub mod scram;
mod stranger;
pub mod throttle_time;
pub mod topic;
pub mod txn_offset_commit;
pub mod writer;

pub use api_table::{ApiRange, ApiTable};
pub use api_versions::{
    ApiVersionsRequest, FEATURES, Feature, Features, FinalizedFeature, TRANSACTION_VERSION,
    encode_api_versions_response, encode_api_versions_unsupported,
};
pub use error::WireError;
pub use fetch::{AbortedTransaction, FetchPartition, FetchPartitionHead, FetchRequest, FetchResponseWriter};
pub use header::{RequestHeader, write_request, write_response_header};
pub use list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResult, OldestResult, encode_list_offsets_response,
    encode_oldest_response,
};
pub use metadata::encode_creation as encode_metadata_creation;
pub use metadata::{
    AUTHORIZED_OPERATIONS_OMITTED, MetadataPartition, MetadataRequest, MetadataResponseWriter, MetadataTop,
    MetadataTopic, MetadataTopicRequest,
};
pub use offset_commit::{CommitPartition, CommitTopic, OffsetCommitRequest, encode_offset_commit_response};
pub use offset_fetch::{FetchedGroup, FetchedOffset, FetchedTopic, OffsetFetchRequest, OffsetFetchWriter};
pub use produce::{ProducePartition, ProduceRequest, ProduceResult, encode_produce_response};
pub use reader::Reader;
pub use stranger::stranger;
pub use topic::{NodeEndpoint, TopicId, TopicKey, ZERO_TOPIC_ID};
pub use txn_offset_commit::{TxnOffsetCommitRequest, encode_txn_offset_commit_response};
pub use writer::Writer;
