//! A delayed answer in its frame, when it is there.

use super::framed;
use crate::broker::{Attempt, Delayed, Rest, Tried};
use crate::net::operations::Framing;
use crate::net::outbox::Outbox;

/// Tries a delayed answer; the whole response is in `answer` if it is complete, nothing of it if it is not.
pub fn try_complete(delayed: &mut dyn Delayed, attempt: &Attempt<'_>, framing: Framing, answer: &mut Outbox) -> Tried {
    let tried = framed(answer, framing, |out| match delayed.try_complete(attempt, out) {
        Tried::Answered(rest) => Ok(rest),
        other => Err(other),
    });
    match tried {
        Ok(()) => Tried::Answered(Rest::Nothing),
        Err(other) => other,
    }
}
