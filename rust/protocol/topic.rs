//! How requests name topics and how responses name brokers.

use std::ops::Range;

/// A topic id's sixteen bytes.
pub type TopicId = [u8; 16];
/// The id that means "none".
pub const ZERO_TOPIC_ID: TopicId = [0; 16];

/// A topic as a request names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TopicKey {
    /// By name: the name's position in the body; valid UTF-8.
    Name(Range<usize>),
    /// By id.
    Id(TopicId),
}

impl TopicKey {
    /// The name out of the body that was decoded; `None` for an id (or another body).
    #[inline]
    pub fn name<'a>(&self, body: &'a [u8]) -> Option<&'a str> {
        match self {
            Self::Name(range) => text(body, range),
            Self::Id(_) => None,
        }
    }

    /// The id; `None` for a name.
    #[inline]
    pub fn id(&self) -> Option<TopicId> {
        match self {
            Self::Name(_) => None,
            Self::Id(id) => Some(*id),
        }
    }
}

/// The string at a range that a decoder returned, out of the body that it decoded.
#[inline]
pub fn text<'a>(body: &'a [u8], range: &Range<usize>) -> Option<&'a str> {
    body.get(range.clone())
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
}

/// Where a client finds a broker that a response names as leader (KIP-951).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeEndpoint<'a> {
    /// The broker.
    pub node_id: i32,
    /// Its host on the listener of the request.
    pub host: &'a str,
    /// Its port there.
    pub port: i32,
    /// Its rack.
    pub rack: Option<&'a str>,
}
