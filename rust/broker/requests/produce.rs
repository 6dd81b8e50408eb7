//! Produce: checks the acks, finds each partition, appends, and knows what to wait for.
//!
//! Place: between `net` (frames) and `partition` (append). One partition's error never fails the others. The map:
//! `authorized` finds the rows that the client may not write; `verification` has the transactional batches of a request
//! verified before any batch is appended; `appending` appends the batches; `parked` waits until replicas or the disk
//! have the records, `unverified` until the transaction coordinator has answered. A request that would hold a network
//! loop for long (many rows, many bytes, much to inflate) becomes a [`LeftProduce`], which another thread appends,
//! slice by slice; so does a request with message sets of the old formats, which become batches first. It never touches
//! sockets or clocks: both times are passed in.

mod appending;
mod authorized;
mod left;
mod parked;
mod unverified;
mod verification;

use std::time::{Duration, Instant};

use self::appending::Appending;
use self::authorized::Unauthorized;
use self::verification::{Stage, Verdicts, Verification};
use crate::Broker;
use crate::requests::api::{Api, Request, Rest, Served};
use crate::requests::authorization::Authorization;
use crate::requests::caller::Caller;
use base::error::ErrorCode;
use protocol::produce::{BATCHES_FROM, FLEXIBLE_FROM};
use protocol::{ApiTable, NodeEndpoint, ProduceRequest, ProduceResult, WireError, encode_produce_response};
use record::Room;

pub(crate) use appending::{append_refused, check_request};
pub use left::LeftProduce;

/// A request with more partitions than this is not served on a network loop.
const MANY_ROWS: usize = 1000;
/// A request with more bytes than this is not served on a network loop: its checksums and writes take milliseconds.
const MANY_BYTES: usize = 4 << 20;
/// The request header but for the client id and tags: API, version, correlation id, length of the client id.
const FIXED_HEADER_BYTES: usize = 10;
/// How long a request with acks=0, which has no timeout, waits for the transaction coordinator.
const SILENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Buffers reused from one request to the next; one for each network loop.
pub struct ProduceScratch {
    /// The bytes that this thread may still inflate.
    pub room: Room,
    request: ProduceRequest,
    results: Vec<ProduceResult>,
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

/// The API. It patches the request's body in place; on a network loop it inflates within the scratch's room.
pub struct Produce;

impl Api for Produce {
    fn key(&self) -> i16 {
        ApiTable::PRODUCE
    }

    fn serve(&self, request: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        handle(request, out)
    }
}

fn handle(asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
    let (broker, version, body) = (asked.broker, asked.version, asked.body);
    let may_write_internal = asked.caller.may_write_internal;
    let asks = Authorization::new(broker, &asked.caller, "Produce");
    let scratch = &mut asked.scratch.produce;
    scratch.request.decode(version, body)?;
    scratch.results.clear();
    let unauthorized = Unauthorized::of(&asks, broker, &scratch.request, body);
    let timeout = match scratch.request.acks {
        0 => SILENT_TIMEOUT,
        _ => Duration::from_millis(u64::try_from(scratch.request.timeout_ms).unwrap_or(0)),
    };
    let (mut waits, mut listed) = (Vec::new(), 0);
    let is_large = scratch.request.partitions.len() > MANY_ROWS || body.len() > MANY_BYTES;
    let has_batches = version >= BATCHES_FROM;
    let stage = if !has_batches {
        Stage::Settled(Verdicts::default()) // the old formats have no transactions
    } else if is_large {
        Stage::Unbegun
    } else {
        let verification = Verification {
            broker,
            version,
            may_write_internal,
            unauthorized: &unauthorized,
            request: &scratch.request,
            body,
        };
        verification.begin((asked.now, asked.now_ms))
    };
    let is_appended = match &stage {
        Stage::Settled(verdicts) if has_batches => Appending {
            broker,
            version,
            may_write_internal,
            now_ms: asked.now_ms,
            request: &scratch.request,
            unauthorized: &unauthorized,
            verdicts,
            results: &mut scratch.results,
            waits: &mut waits,
            listed: &mut listed,
        }
        .append_all(body, &mut scratch.room),
        _ => false,
    };
    let frame_bytes = frame_bytes(&asked.caller, version, body.len());
    let ending = Ending {
        caller: asked.caller,
        frame_bytes,
        now: asked.now,
    };
    if is_appended && waits.is_empty() && scratch.request.acks != 0 {
        encode(broker, version, ending, body, &scratch.request, &scratch.results, out);
        return Ok(Served::Answered(Rest::Nothing));
    }
    if is_appended && scratch.request.acks == 0 {
        return Ok(unanswered(ending, &scratch.results));
    }
    let (request, results) = (
        std::mem::take(&mut scratch.request),
        std::mem::take(&mut scratch.results),
    );
    let deadline = asked.now + timeout;
    if is_appended {
        let parked = parked::park((version, frame_bytes), body, request, results, waits, deadline);
        return Ok(Served::Delayed(Box::new(parked)));
    }
    let left = LeftProduce::new(
        (version, may_write_internal, unauthorized),
        request,
        results,
        (waits, listed),
        deadline,
        (body.len(), frame_bytes),
    );
    Ok(left.leave(stage, broker, body))
}

/// The client of a produce that ends, which is counted for the client's quotas.
#[derive(Clone, Copy)]
struct Ending<'a> {
    caller: Caller<'a>,
    /// The size of the request.
    frame_bytes: usize,
    now: Instant,
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
fn frame_bytes(caller: &Caller<'_>, version: i16, body_bytes: usize) -> usize {
    let tags = usize::from(version >= FLEXIBLE_FROM);
    FIXED_HEADER_BYTES + caller.client_id.map_or(0, str::len) + tags + body_bytes
}

/// The outcome of a produce with acks=0: an error closes the connection.
fn unanswered(ending: Ending<'_>, results: &[ProduceResult]) -> Served {
    ending.count(false);
    if results.iter().any(|r| r.error != ErrorCode::NONE) {
        Served::Disconnect
    } else {
        Served::Silent
    }
}

fn encode(
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
    let image = broker.image.load();
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

#[cfg(test)]
mod tests;
