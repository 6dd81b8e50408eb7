//! The answer of a produce that ends, and what its client is counted.

use std::time::Instant;

use crate::Broker;
use crate::requests::api::Served;
use crate::requests::caller::Caller;
use base::error::ErrorCode;
use protocol::produce::FLEXIBLE_FROM;
use protocol::{NodeEndpoint, ProduceRequest, ProduceResult, encode_produce_response};

/// The request header but for the client id and tags: API, version, correlation id, length of the client id.
const FIXED_HEADER_BYTES: usize = 10;

/// The client of a produce that ends, which is counted for the client's quotas.
#[derive(Clone, Copy)]
pub(super) struct Ending<'a> {
    pub(super) caller: Caller<'a>,
    /// The size of the request.
    pub(super) frame_bytes: usize,
    pub(super) now: Instant,
}

impl Ending<'_> {
    /// Counts the request; returns the answer's `throttle_time_ms`.
    fn count(&self, is_answered: bool) -> i32 {
        self.caller.quotas.map_or(0, |quotas| {
            quotas.count_produce(self.frame_bytes, is_answered, self.now)
        })
    }
}

/// The size of a request with its header, without the size prefix: what Kafka counts.
pub(super) fn frame_bytes(caller: &Caller<'_>, version: i16, body_bytes: usize) -> usize {
    let tags = usize::from(version >= FLEXIBLE_FROM);
    FIXED_HEADER_BYTES + caller.client_id.map_or(0, str::len) + tags + body_bytes
}

/// The outcome of a produce with acks=0: an error closes the connection.
pub(super) fn unanswered(ending: Ending<'_>, results: &[ProduceResult]) -> Served {
    ending.count(false);
    if results.iter().any(|r| r.error != ErrorCode::NONE) {
        Served::Disconnect
    } else {
        Served::Silent
    }
}

pub(super) fn encode(
    broker: &Broker,
    version: i16,
    ending: Ending<'_>,
    body: &[u8],
    request: &ProduceRequest,
    results: &[ProduceResult],
    out: &mut Vec<u8>,
) {
    let throttle_time_ms = ending.count(true);
    if results.iter().all(|r| r.current_leader.is_none()) {
        return encode_produce_response(out, version, body, request, results, &[], throttle_time_ms);
    }
    let image = broker.image().load();
    let mut leaders: Vec<i32> = results
        .iter()
        .filter_map(|r| r.current_leader)
        .map(|(id, _)| id)
        .collect();
    leaders.sort_unstable();
    leaders.dedup();
    let endpoints: Vec<NodeEndpoint<'_>> = leaders
        .iter()
        .filter_map(|id| image.node_endpoint(*id, ending.caller.listener))
        .collect();
    encode_produce_response(out, version, body, request, results, &endpoints, throttle_time_ms);
}
