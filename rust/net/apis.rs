//! Which APIs the data plane serves: a key's [`Api`].
//!
//! `receiver`, `dispatch`, `requests` and the simulator use this function; all other APIs are served by the connection
//! itself (`ApiVersions`, the brokers' proof) or by the control plane.

use broker::{AdoptSegments, Api, Fetch, ListOffsets, Metadata, Produce};
use protocol::ApiTable;

/// The API with this key; `None` when the data plane does not serve it.
#[inline]
pub fn find(key: i16) -> Option<&'static dyn Api> {
    match key {
        ApiTable::PRODUCE => Some(&Produce),
        ApiTable::FETCH => Some(&Fetch),
        ApiTable::LIST_OFFSETS => Some(&ListOffsets),
        ApiTable::METADATA => Some(&Metadata),
        ApiTable::ADOPT_SEGMENTS => Some(&AdoptSegments),
        key => coordinator::api(key),
    }
}

#[cfg(test)]
#[path = "apis_tests.rs"]
mod tests;
