//! What coordinators answer from state that the control plane published: who coordinates a group, the next producer id.
//!
//! Place: between `net` (frames) and `broker` (the image, the ids). A request that published state does not answer goes to the
//! control plane, which makes the topic, claims ids, or says why it cannot. Never: decides who coordinates what.

mod find;
mod init_producer_id;
mod partitioning;

use crate::broker::Api;
use crate::wire::ApiTable;

/// A request with more bytes may name many keys: it is the control plane's, which serves it in turns.
const MANY_BYTES: usize = 16 << 10;

/// The coordinators' API with this key, if the data plane serves it.
pub fn api(key: i16) -> Option<&'static dyn Api> {
    match key {
        ApiTable::FIND_COORDINATOR => Some(&find::FindCoordinator),
        ApiTable::INIT_PRODUCER_ID => Some(&init_producer_id::InitProducerId),
        _ => None,
    }
}
