//! The buffers of Produce.

use protocol::{ProduceRequest, ProduceResult};
use record::Room;

/// Buffers reused from one request to the next; one for each network loop.
pub struct ProduceScratch {
    /// The bytes that this thread may still inflate.
    pub room: Room,
    pub(super) request: ProduceRequest,
    pub(super) results: Vec<ProduceResult>,
}

impl Default for ProduceScratch {
    fn default() -> Self {
        Self {
            room: Room::unlimited(),
            request: ProduceRequest::default(),
            results: Vec::new(),
        }
    }
}
