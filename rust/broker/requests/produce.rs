//! Produce: checks the acks, finds each partition, appends, and knows what to wait for.
//!
//! Place: between `net` (frames) and `partition` (append). One partition's error never fails the others. The map:
//! `authorized` finds the rows that the client may not write; `verification` has the transactional batches of a request
//! verified before any batch is appended; `appending` appends the batches; `parked` waits until replicas or the disk
//! have the records, `unverified` until the transaction coordinator has answered. A request that would hold a network
//! loop for long (many rows, many bytes, much to inflate) becomes a [`LeftProduce`], which another thread appends,
//! slice by slice; so does a request with message sets of the old formats, which become batches first. It never touches
//! sockets or clocks: both times are passed in.

mod answer;
mod appending;
mod authorized;
mod left;
mod parked;
pub mod scratch;
mod unverified;
mod verification;

use std::time::Duration;

use self::answer::{Ending, encode, frame_bytes, unanswered};
use self::appending::{Appending, MANY_BYTES, MANY_ROWS};
use self::authorized::Unauthorized;
use self::parked::ProduceProgress;
use self::verification::{Stage, Verdicts, Verification};
use crate::requests::api::{Api, BodyTail, Request, Served};
use crate::requests::authorization::Authorization;
use protocol::produce::BATCHES_FROM;
use protocol::{ApiTable, WireError};

pub(crate) use appending::{append_refused, check_request};
use left::LeftProduce;

/// How long a request with acks=0, which has no timeout, waits for the transaction coordinator.
const SILENT_TIMEOUT: Duration = Duration::from_secs(5);

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
    let authorization = Authorization::new(broker, &asked.caller, "Produce");
    let scratch = &mut asked.scratch.produce;
    scratch.request.decode(version, body)?;
    scratch.results.clear();
    let unauthorized = Unauthorized::of(&authorization, broker, &scratch.request, body);
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
        verification.begin(asked.now, asked.now_ms)
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
        return Ok(Served::Answered(BodyTail::Nothing));
    }
    if is_appended && scratch.request.acks == 0 {
        return Ok(unanswered(ending, &scratch.results));
    }
    let progress = ProduceProgress {
        version,
        frame_bytes,
        request: std::mem::take(&mut scratch.request),
        results: std::mem::take(&mut scratch.results),
        waits,
        deadline: asked.now + timeout,
    };
    if is_appended {
        return Ok(Served::Delayed(Box::new(progress.park(body))));
    }
    let left = LeftProduce::new(progress, listed, may_write_internal, unauthorized, body.len());
    Ok(left.leave(stage, broker, body))
}

#[cfg(test)]
mod tests;
