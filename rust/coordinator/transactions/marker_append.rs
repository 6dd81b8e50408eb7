//! Appending a transaction marker to a partition that this broker leads.
//!
//! A marker in `__consumer_offsets` also ends the transaction for the offsets that were committed within it: the append
//! and its note in the groups' shard are one step. While the groups of the partition load, the marker is refused, since
//! the load may have read past its place.

use std::sync::Arc;

use crate::{Here, OFFSETS_TOPIC};
use base::error::ErrorCode;
use broker::{Awaited, Broker, Marker, Partition};
use storage::{AppendError, Appended};

/// Who has decided that a transaction ends.
#[derive(Clone, Copy)]
pub enum MarkerBy {
    /// Its coordinator.
    Coordinator,
    /// A client, which may only abort.
    Client,
}

/// Appends a marker. Returns the partition and what is left to wait for.
///
/// # Errors
/// The error code of the partition for `WriteTxnMarkers`.
pub fn append_marker(
    here: Here<'_>,
    topic: &str,
    index: i32,
    marker: &Marker,
    by: MarkerBy,
    now_ms: i64,
) -> Result<(Arc<Partition>, Awaited), ErrorCode> {
    let partition = here.partition(topic, index).map_err(|error| error.code())?;
    let append = || -> Result<(Appended, Awaited), ErrorCode> {
        let done = match by {
            MarkerBy::Coordinator => partition.append_marker(marker, now_ms),
            MarkerBy::Client => partition.append_abort(marker, now_ms),
        };
        done.map_err(|error| refused(&here, &partition, error))
    };
    let (_, awaited) = if topic == OFFSETS_TOPIC {
        append_for_groups(here, index, marker, append)?
    } else {
        append()?
    };
    if awaited.wants_flush {
        here.threads().flusher().enqueue(&partition);
    }
    Ok((partition, awaited))
}

fn refused(broker: &Broker, partition: &Partition, error: AppendError) -> ErrorCode {
    broker.logs().dirs().append_failed(partition, error).code()
}

fn append_for_groups(
    here: Here<'_>,
    index: i32,
    marker: &Marker,
    append: impl Fn() -> Result<(Appended, Awaited), ErrorCode>,
) -> Result<(Appended, Awaited), ErrorCode> {
    let homes = &here.groups().homes;
    let Some(home) = homes.of(index) else {
        // a load that begins afterwards reads the marker
        return homes
            .while_absent(index, append)
            .unwrap_or(Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    };
    let mut shard = home.shard(&here).map_err(|_| ErrorCode::NOT_LEADER_OR_FOLLOWER)?;
    let done = append()?;
    shard.note_end(marker.producer_id, marker.is_commit, done.0.last_offset + 1);
    home.settle(&mut shard, &here);
    drop(shard);
    if !home.is_current() {
        // a load that began meanwhile may have read up to the place before the marker: it is to be written again
        return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    }
    Ok(done)
}

#[cfg(test)]
#[path = "marker_append_tests.rs"]
mod tests;
