//! Topic ids (KIP-516).

/// A 16-byte topic id.
pub type TopicId = [u8; 16];

/// The id of a topic that is older than topic ids, or of a log that lost its topic id.
pub const NO_TOPIC_ID: TopicId = [0; 16];
