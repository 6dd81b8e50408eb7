//! The quota of request time: counts how long threads work on requests, and sets `throttle_time_ms` in answers.
//!
//! A request's time is what a network loop or another thread of the data plane spends on it, while the thread does
//! nothing else; waiting costs nothing. It counts once the answer is made, and an answer is held to what was counted
//! until then. Produce and Fetch set their own `throttle_time_ms`, which counts bytes, too. While the client has no
//! such quota, no clock is read.

use std::time::Instant;

use super::framing::Framing;
use broker::{Account, Api, BodyTail, Request, Served};
use protocol::WireError;
use protocol::throttle_time::{is_exempt, set_throttle_time};

/// Does a part of the work on a request, and counts its time.
#[inline]
pub fn metered<T>(quotas: Option<&Account>, work: impl FnOnce() -> T) -> T {
    let Some(quotas) = quotas.filter(|quotas| quotas.has_request_limit()) else {
        return work();
    };
    let began = Instant::now();
    let result = work();
    let now = Instant::now();
    quotas.note_request_time(now.saturating_duration_since(began), now);
    result
}

/// Has an API serve a request, counts the time, and sets `throttle_time_ms` in an answer.
#[inline]
pub fn serve_metered(
    api: &dyn Api,
    request: Request<'_>,
    framing: Framing,
    out: &mut Vec<u8>,
) -> Result<Served, WireError> {
    let quotas = request
        .caller
        .quotas
        .filter(|_| !is_exempt(request.caller.is_broker, api.key()));
    let begin = out.len();
    let served = metered(quotas, || api.serve(request, out))?;
    Ok(match served {
        Served::Answered(rest) => Served::Answered(hold_answer(quotas, framing, &mut out[begin..], rest)),
        other => other,
    })
}

/// Sets `throttle_time_ms` in an answer's body when the client is over its quota, and notes until when the connection
/// is held back.
#[inline]
pub fn hold_answer(quotas: Option<&Account>, framing: Framing, body: &mut [u8], rest: BodyTail) -> BodyTail {
    match (quotas, framing.throttle_at) {
        (Some(quotas), Some(at)) if quotas.has_request_limit() => hold(quotas, at, body, rest),
        _ => rest,
    }
}

fn hold(quotas: &Account, at: u8, body: &mut [u8], rest: BodyTail) -> BodyTail {
    let throttle_time_ms = quotas.throttle_requests(Instant::now());
    if throttle_time_ms == 0 || set_throttle_time(body, at, throttle_time_ms) {
        return rest;
    }
    // the answer begins in the part behind the buffer
    let mut bytes = match rest {
        BodyTail::Bytes(bytes) => bytes,
        BodyTail::Shared(bytes) => bytes.to_vec(),
        other => return other,
    };
    set_throttle_time(&mut bytes, at, throttle_time_ms);
    BodyTail::Bytes(bytes)
}
