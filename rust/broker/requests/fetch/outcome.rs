//! The outcome of one partition of a fetch, and its encoding.
//!
//! It writes a partition's head and, for a small slice, the records; a large slice becomes a [`Splice`], a place where
//! `net` sends bytes of a file. It reads nothing else and decides nothing.

use super::{INLINE_BYTES, Splice};
use crate::partition::ReadResult;
use crate::requests::fetch_session::RowUpdate;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use protocol::{AbortedTransaction, FetchPartitionHead, FetchResponseWriter};
use storage::{AbortedTxn, FileSlice};

/// One row's outcome: an error, or the result of the read.
pub(super) struct Outcome {
    pub(super) error: ErrorCode,
    pub(super) read: ReadResult,
    /// What the slice became for a version of an old format; the slice is gone then.
    pub(super) converted: Option<Vec<u8>>,
    /// The follower that asked knows an older high watermark or log start.
    pub(super) has_news: bool,
}

impl Outcome {
    pub(super) fn failed(error: ErrorCode) -> Self {
        let read = ReadResult {
            high_watermark: Offset::NONE,
            last_stable: Offset::NONE,
            log_start: Offset::NONE,
            ..ReadResult::default()
        };
        Self {
            error,
            read,
            converted: None,
            has_news: false,
        }
    }

    /// The bytes of records in the answer.
    pub(super) fn sent_bytes(&self) -> usize {
        let slice = self.read.slice.as_ref().map(|slice| slice.len);
        slice.or(self.converted.as_ref().map(Vec::len)).unwrap_or(0)
    }

    /// Whether the outcome must be sent without waiting for records.
    pub(super) fn is_urgent(&self) -> bool {
        self.has_news || self.read.diverging_epoch.is_some() || self.read.preferred_read_replica.is_some()
    }

    pub(super) fn news(&self) -> RowUpdate {
        RowUpdate {
            high_watermark: self.read.high_watermark,
            log_start: self.read.log_start,
            has_more: self.read.slice.is_some() || self.is_urgent(),
            is_void: self.error != ErrorCode::NONE || self.read.diverging_epoch.is_some(),
        }
    }

    pub(super) fn write(&self, index: i32, current_leader: Option<(i32, LeaderEpoch)>, sink: Sink<'_, '_>) {
        let Sink {
            writer,
            splices,
            inline_left,
        } = sink;
        let length = self.sent_bytes();
        let aborted: Option<Vec<AbortedTransaction>> = self.read.aborted.as_ref().map(|list| {
            let told = |t: &AbortedTxn| AbortedTransaction {
                producer_id: t.producer_id,
                first_offset: t.first_offset.get(),
            };
            list.iter().map(told).collect()
        });
        let head = FetchPartitionHead {
            index,
            error: self.error,
            high_watermark: self.read.high_watermark.get(),
            last_stable_offset: self.read.last_stable.get(),
            log_start_offset: self.read.log_start.get(),
            aborted: aborted.as_deref(),
            preferred_read_replica: self.read.preferred_read_replica.unwrap_or(-1),
            diverging_epoch: self.read.diverging_epoch.map(|(epoch, end)| (epoch.get(), end.get())),
            current_leader: current_leader.map(|(leader, epoch)| (leader, epoch.get())),
            snapshot_id: None,
        };
        writer.partition(&head, Some(length));
        if let Some(slice) = &self.read.slice {
            if length < INLINE_BYTES && length <= *inline_left && inline(slice, writer.out()) {
                *inline_left -= length;
            } else {
                splices.push(Splice {
                    at: writer.out().len(),
                    slice: slice.clone(),
                });
            }
        }
        if let Some(converted) = &self.converted {
            writer.out().extend_from_slice(converted);
        }
        writer.partition_end(&head);
    }
}

/// The response that a row is written to.
pub(super) struct Sink<'a, 'w> {
    pub(super) writer: &'a mut FetchResponseWriter<'w>,
    pub(super) splices: &'a mut Vec<Splice>,
    /// Bytes of files that may still be copied into the response.
    pub(super) inline_left: &'a mut usize,
}

/// Copies a small slice into the response, if its pages are in memory. Otherwise, and on a read error, the response
/// stays as it was: a disk thread reads the pages before they are sent, and sending shows the error.
fn inline(slice: &FileSlice, out: &mut Vec<u8>) -> bool {
    let at = out.len();
    out.resize(at + slice.len, 0);
    let is_read = slice
        .file
        .read_exact_if_cached(&mut out[at..], slice.position.get())
        .unwrap_or(false);
    if !is_read {
        out.truncate(at);
    }
    is_read
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
