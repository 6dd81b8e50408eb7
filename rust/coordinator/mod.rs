//! What coordinators answer from state that the control plane published: who coordinates a group, the next producer id.
//!
//! Place: between `net` (frames) and `broker` (the image, the ids). A request that published state does not answer goes to the
//! control plane, which makes the topic, claims ids, or says why it cannot. Never: decides who coordinates what.

mod find;
mod init_producer_id;
mod partitioning;

use crate::broker::Broker;
use crate::wire::{ApiTable, WireError};

/// A request with more bytes may name many keys: it is the control plane's, which serves it in turns.
const MANY_BYTES: usize = 16 << 10;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The response body is written.
    Answered,
    /// It is the control plane's; nothing is written.
    ToControl,
}

/// Serves a request of any API that is not the data plane's own, if published state answers it.
pub fn answer(
    broker: &Broker,
    (api_key, version): (i16, i16),
    listener: &str,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<Outcome, WireError> {
    if body.len() > MANY_BYTES {
        return Ok(Outcome::ToControl);
    }
    match api_key {
        ApiTable::FIND_COORDINATOR => find::handle(broker, version, listener, body, out),
        ApiTable::INIT_PRODUCER_ID => init_producer_id::handle(broker, version, body, out),
        _ => Ok(Outcome::ToControl),
    }
}
