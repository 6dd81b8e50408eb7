//! The buffers of Fetch.

use protocol::FetchRequest;

/// Buffers reused from one request to the next; one for each network loop.
#[derive(Default)]
pub struct FetchScratch {
    pub(super) request: FetchRequest,
}
