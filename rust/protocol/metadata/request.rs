//! Decodes Metadata requests.
//!
//! ```text
//! request := topics:[topic] (nullable from v1) (v4+: allow_auto_topic_creation:bool)
//!            (v8-10: include_cluster_authorized_operations:bool) (v8+: include_topic_authorized_operations:bool) tags
//! topic   := (v10+: id:uuid) name:string (nullable from v10) tags
//! ```
//! Lengths are compact and tags are there from version 9 on. All topics are asked for by an empty list in version 0 and
//! by null from version 1 on, where an empty list asks for none.

use std::ops::Range;

use base::error::ErrorCode;

use super::super::error::WireError;
use super::super::reader::{MAX_ROWS, Reader};
use super::super::topic::{TopicId, ZERO_TOPIC_ID};
use super::super::writer::Writer;
use super::{
    AUTHORIZED_OPERATIONS_FROM, AUTO_CREATION_FROM, BY_TOPIC_ID_FROM, CLUSTER_OPERATIONS_UNTIL, FLEXIBLE_FROM,
    MAX_VERSION, NULL_TOPICS_FROM, TOPIC_ID_FROM,
};

/// A request body that asks for these topics and allows their creation: the part of a client's request that the control
/// plane gets when it has to create topics for the client.
pub fn encode_creation(version: i16, names: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, version >= FLEXIBLE_FROM);
    w.length(Some(names.len()));
    for name in names {
        if version >= TOPIC_ID_FROM {
            w.raw(&ZERO_TOPIC_ID);
        }
        w.string(name);
        w.no_tags();
    }
    if version >= AUTO_CREATION_FROM {
        w.boolean(true);
    }
    if version >= AUTHORIZED_OPERATIONS_FROM {
        if version <= CLUSTER_OPERATIONS_UNTIL {
            w.boolean(false);
        }
        w.boolean(false);
    }
    w.no_tags();
    out
}

/// A decoded Metadata request; its vector is reused from one request to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the request's own fields")]
pub struct MetadataRequest {
    /// Whether every topic is asked for; `topics` is empty then.
    pub all_topics: bool,
    /// The topics asked for.
    pub topics: Vec<MetadataTopicRequest>,
    /// True before version 4.
    pub allow_auto_topic_creation: bool,
    /// Versions 8 to 10.
    pub include_cluster_authorized_operations: bool,
    /// From version 8 on.
    pub include_topic_authorized_operations: bool,
}

/// One topic asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataTopicRequest {
    /// The position of the name in the body; `None` when the topic is asked for by id.
    pub name: Option<Range<usize>>,
    /// Zero when the topic is asked for by name.
    pub id: TopicId,
}

impl MetadataRequest {
    /// Decodes a body, replacing the previous request. After an error the content is unspecified.
    pub fn decode(&mut self, version: i16, body: &[u8]) -> Result<(), WireError> {
        self.topics.clear();
        if !(0..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        let has_id = version >= TOPIC_ID_FROM;
        let min_topic_bytes = if has_id { 18 } else { 1 };
        let count = reader.nullable_count(min_topic_bytes)?;
        self.all_topics = match count {
            None if version < NULL_TOPICS_FROM => return Err(WireError::UnexpectedNull),
            None => true,
            Some(count) => count == 0 && version < NULL_TOPICS_FROM,
        };
        let count = count.unwrap_or(0);
        if count > MAX_ROWS {
            return Err(WireError::TooManyElements);
        }
        for _ in 0..count {
            let id = if has_id { reader.uuid()? } else { ZERO_TOPIC_ID };
            let name = if has_id {
                reader.nullable_string()?
            } else {
                Some(reader.string()?)
            };
            reader.skip_tags()?;
            self.topics.push(MetadataTopicRequest { name, id });
        }
        self.allow_auto_topic_creation = version < AUTO_CREATION_FROM || reader.boolean()?;
        let has_operations = version >= AUTHORIZED_OPERATIONS_FROM;
        let has_cluster_operations = has_operations && version <= CLUSTER_OPERATIONS_UNTIL;
        self.include_cluster_authorized_operations = has_cluster_operations && reader.boolean()?;
        self.include_topic_authorized_operations = has_operations && reader.boolean()?;
        reader.skip_tags()
    }

    /// `INVALID_REQUEST` for a topic without a name or with an id in versions 10 and 11, which have the id field but do
    /// not support it (KIP-516): every topic of the request gets this error.
    pub fn refusal(&self, version: i16) -> Option<ErrorCode> {
        let is_refused = |topic: &MetadataTopicRequest| topic.name.is_none() || topic.id != ZERO_TOPIC_ID;
        (version < BY_TOPIC_ID_FROM && self.topics.iter().any(is_refused)).then_some(ErrorCode::INVALID_REQUEST)
    }
}
