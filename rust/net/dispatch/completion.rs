//! A parked fetch's answer, when there is one.

use std::time::Instant;

use super::{begin, finish_with_files};
use crate::broker::{Broker, ParkedFetch, Place, Tried};
use crate::net::operations::Framing;
use crate::net::outbox::Outbox;

/// What came of trying a parked fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// The response is there.
    Answered,
    /// It goes on waiting.
    Waits,
    /// It must be tried where the disk may be waited for.
    Cold,
}

/// Tries a parked fetch; the response is in `answer` if it is complete.
pub fn complete_fetch(
    parked: &ParkedFetch,
    framing: Framing,
    listener: &str,
    is_due: bool,
    broker: &Broker,
    place: (Place, Instant),
    answer: &mut Outbox,
) -> Completion {
    let out = answer.tail();
    let start = begin(out, framing);
    match parked.try_complete(broker, listener, is_due, place, out) {
        Tried::Answered(splices) => {
            finish_with_files(answer, start, splices);
            Completion::Answered
        }
        Tried::Waits => {
            out.truncate(start);
            Completion::Waits
        }
        Tried::Cold => {
            out.truncate(start);
            Completion::Cold
        }
    }
}
