//! Attempts to complete a delayed answer into a framed response.

use super::framing::{Framing, framed};
use super::metering::{hold_answer, metered};
use super::outbox::Outbox;
use broker::{Attempt, BodyTail, Delayed, Tried};

/// Tries a delayed answer; `answer` gets the whole response if it is complete, else nothing.
pub fn try_complete(delayed: &mut dyn Delayed, attempt: &Attempt<'_>, framing: Framing, answer: &mut Outbox) -> Tried {
    let quotas = attempt.caller.quotas;
    let tried = framed(answer, framing, |out| {
        let begin = out.len();
        match metered(quotas, || delayed.try_complete(attempt, out)) {
            Tried::Answered(rest) => Ok(hold_answer(quotas, framing, &mut out[begin..], rest)),
            other => Err(other),
        }
    });
    match tried {
        Ok(()) => Tried::Answered(BodyTail::Nothing),
        Err(other) => other,
    }
}
