//! Kafka's wire format: decodes bytes into values and encodes values. No I/O, no policy, no allocation by a count that
//! a client declared.
//!
//! The map: [`reader`] and [`writer`] are the primitives; every request uses [`header`] and [`api_table`] first; one
//! file per API that the data plane answers ([`produce`], [`fetch`], [`list_offsets`], [`metadata`],
//! [`find_coordinator`], [`init_producer_id`], [`heartbeat`], [`offset_commit`], [`offset_fetch`], [`api_versions`],
//! [`sasl`] with the messages that it carries in [`scram`]); [`shape`] checks the bodies of all other APIs before the
//! control plane decodes them.
//!
//! Decoders point into the body with `Range<usize>` and reuse their vectors. A [`WireError`] means that the bytes are
//! not Kafka's protocol: the connection is closed, as Kafka does. Bytes after the last field of a request that the data
//! plane serves are ignored, as Kafka ignores them; [`shape`] refuses them.

pub mod api_table;
pub mod api_versions;
pub mod error;
pub mod fetch;
pub mod find_coordinator;
pub mod header;
pub mod heartbeat;
pub mod init_producer_id;
pub mod list_offsets;
pub mod metadata;
pub mod offset_commit;
pub mod offset_fetch;
pub mod produce;
pub mod reader;
pub mod sasl;
pub mod scram;
pub mod shape;
pub mod topic;
pub mod writer;

pub use api_table::{ApiRange, ApiTable};
pub use api_versions::{
    ApiVersionsRequest, FEATURES, Feature, encode_api_versions_response, encode_api_versions_unsupported,
};
pub use error::WireError;
pub use fetch::{AbortedTransaction, FetchPartition, FetchPartitionHead, FetchRequest, FetchResponseWriter};
pub use find_coordinator::{FindCoordinatorRequest, FoundCoordinator, encode_find_coordinator_response};
pub use header::{RequestHeader, write_response_header};
pub use heartbeat::{HeartbeatRequest, encode_heartbeat_response};
pub use init_producer_id::{InitProducerIdRequest, encode_init_producer_id_response};
pub use list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResult, encode_list_offsets_response};
pub use metadata::encode_creation as encode_metadata_creation;
pub use metadata::{
    AUTHORIZED_OPERATIONS_OMITTED, MetadataPartition, MetadataRequest, MetadataResponseWriter, MetadataTop,
    MetadataTopic, MetadataTopicRequest,
};
pub use offset_commit::{CommitPartition, CommitTopic, OffsetCommitRequest, encode_offset_commit_response};
pub use offset_fetch::{FetchedGroup, FetchedOffset, FetchedTopic, OffsetFetchRequest, OffsetFetchWriter};
pub use produce::{ProducePartition, ProduceRequest, ProduceResult, encode_produce_response};
pub use reader::Reader;
pub use shape::Shape;
pub use topic::{NodeEndpoint, TopicId, TopicKey, ZERO_TOPIC_ID};
pub use writer::Writer;
