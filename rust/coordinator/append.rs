//! Appending to the partition of a home, and the error codes of failed appends.

use super::homes::Home;
use base::error::ErrorCode;
use broker::{Awaited, Broker};
use storage::Appended;
use storage::producer_state::VerificationGuard;

/// Appends a batch in the leader epoch of a home, whose state the caller has locked.
///
/// # Errors
/// The error code for clients; the broker's log has the details.
pub fn append<S>(
    broker: &Broker,
    home: &Home<S>,
    batch: &mut [u8],
    now_ms: i64,
) -> Result<(Appended, Awaited), ErrorCode> {
    append_guarded(broker, home, batch, VerificationGuard::SENTINEL, now_ms)
}

/// As [`append`], for a batch of a transaction, with the guard that the partition's `begin_verification` returned.
pub fn append_guarded<S>(
    broker: &Broker,
    home: &Home<S>,
    batch: &mut [u8],
    guard: VerificationGuard,
    now_ms: i64,
) -> Result<(Appended, Awaited), ErrorCode> {
    let partition = &home.partition;
    let done = partition
        .append_in_epoch(batch, home.leader_epoch, guard, now_ms)
        .map_err(|error| {
            let error = broker.logs().dirs().append_failed(partition, error);
            let (topic, index) = (partition.topic(), partition.index());
            broker.log(&format!("append to {topic}-{index} failed: {error}"));
            client_error(error.code())
        })?;
    if done.1.wants_flush {
        broker.threads().flusher().enqueue(partition);
    }
    Ok(done)
}

/// The error code that a client gets for a failed append of a coordinator's records; the control plane has the same
/// table (`coordinator/runtime/append_errors.py`).
pub fn client_error(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        | ErrorCode::NOT_ENOUGH_REPLICAS
        | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
        | ErrorCode::REQUEST_TIMED_OUT => ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::KAFKA_STORAGE_ERROR => ErrorCode::NOT_COORDINATOR,
        ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE | ErrorCode::INVALID_FETCH_SIZE => {
            ErrorCode::UNKNOWN_SERVER_ERROR
        }
        other => other,
    }
}
