//! `ListOffsets` version 0, as Kafka's: the offsets at which a log's segments begin, and its end, the greatest first.
//!
//! A time selects segments by when their files were last written, since the version is older than the timestamps of
//! records. The log's lock is held to list the segments; the times of their files are read after it, so a segment that
//! was deleted meanwhile is left out. It never reads records.

use std::path::PathBuf;
use std::sync::Arc;

use crate::partition::{Isolation, Partition};
use base::error::{Error, ErrorCode, Result};
use base::place::{LeaderEpoch, Offset};
use protocol::ListOffsetsPartition;
use protocol::list_offsets::timestamp;

/// The replica id of a consumer, which sees nothing past the high watermark.
const CONSUMER: i32 = -1;

/// At most `row.max_num_offsets` offsets, descending: from the log's end on for [`timestamp::LATEST`], the log's start
/// for [`timestamp::EARLIEST`], else from the last segment on that was not written after the time. The log's end has
/// the time `now_ms`. An offset past the high watermark becomes the high watermark for a consumer.
pub(super) fn offsets_before(
    partition: &Partition,
    row: &ListOffsetsPartition,
    replica_id: i32,
    now_ms: i64,
) -> Result<Vec<i64>> {
    if row.timestamp < timestamp::EARLIEST {
        let message = format!("timestamp {} is not served in version 0", row.timestamp);
        return Err(Error::rejected(ErrorCode::UNSUPPORTED_VERSION, message));
    }
    partition.leadership().leading(LeaderEpoch::NONE)?;
    let mut starts = starts(partition, row.timestamp, now_ms)?;
    let most = usize::try_from(row.max_num_offsets).unwrap_or(0);
    starts.drain(..starts.len().saturating_sub(most));
    starts.reverse();
    let high_watermark = partition.offsets().bound(Isolation::ReadUncommitted);
    if replica_id == CONSUMER && starts.first().is_some_and(|first| *first > high_watermark) {
        starts.retain(|start| *start <= high_watermark);
        starts.insert(0, high_watermark);
    }
    Ok(starts.into_iter().map(Offset::get).collect())
}

/// The offsets up to the wanted time, ascending.
fn starts(partition: &Partition, wanted: i64, now_ms: i64) -> Result<Vec<Offset>> {
    let (mut segments, end, fs) = {
        let log = partition.log();
        let first = log.log_start_offset();
        let listed = log.segments().all();
        let segments: Vec<(Offset, PathBuf, u64)> = listed
            .map(|it| (it.base_offset().max(first), it.log().path.clone(), it.size()))
            .collect();
        let is_written = segments.last().is_some_and(|(_, _, size)| *size > 0);
        (
            segments,
            is_written.then(|| log.log_end_offset()),
            Arc::clone(log.contents().dir().fs()),
        )
    };
    match wanted {
        timestamp::EARLIEST => segments.truncate(1),
        time if time == timestamp::LATEST || time >= now_ms => {
            return Ok(segments.into_iter().map(|(base, ..)| base).chain(end).collect());
        }
        time => {
            while let Some((_, path, _)) = segments.last() {
                match fs.metadata(path) {
                    Ok(metadata) if metadata.modified_ms <= time => break,
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::io("stat", path, error));
                    }
                    _ => drop(segments.pop()),
                }
            }
        }
    }
    Ok(segments.into_iter().map(|(base, ..)| base).collect())
}
