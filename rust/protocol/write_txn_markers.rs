//! `WriteTxnMarkers`, versions 1 and 2: a transaction coordinator ends transactions in the logs of partition leaders.
//!
//! ```text
//! request  := [marker] tags
//! marker   := producer_id:i64 producer_epoch:i16 transaction_result:bool topics coordinator_epoch:i32
//!             (v2+: transaction_version:i8) tags
//! response := [result] tags
//! result   := producer_id:i64 results tags
//! ```
//! `topics` and `results` are in [`named_partitions`](super::named_partitions). Lengths are compact and tags are there
//! in both versions. The coordinator encodes requests and decodes responses of version 2.

use base::error::ErrorCode;

use super::error::WireError;
use super::named_partitions::{NamedPartitions, PartitionErrors, RowLimit, encode_results, encode_topics};
use super::reader::{MAX_ROWS, Reader};
use super::writer::Writer;

/// The first version served.
pub const MIN_VERSION: i16 = 1;
/// The last version. Coordinators send it.
pub const MAX_VERSION: i16 = 2;
const TRANSACTION_VERSION_FROM: i16 = 2;
/// Producer id and epoch, the result, no topics, the coordinator's epoch and an empty tag section.
const MIN_MARKER_BYTES: usize = 17;
/// The producer id, no topics and an empty tag section.
const MIN_RESULT_BYTES: usize = 10;

/// One marker of a request: the end of one transaction in some partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxnMarker<'a> {
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether the transaction is committed; false aborts it.
    pub is_commit: bool,
    /// The epoch of the coordinator, which is the leader epoch of its partition of `__transaction_state`.
    pub coordinator_epoch: i32,
    /// The level of `transaction.version` of the transaction; 0 in version 1.
    pub transaction_version: i8,
    /// The partitions that get the marker.
    pub topics: Vec<NamedPartitions<'a>>,
}

/// A decoded `WriteTxnMarkers` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteTxnMarkersRequest<'a> {
    /// The markers.
    pub markers: Vec<TxnMarker<'a>>,
}

impl<'a> WriteTxnMarkersRequest<'a> {
    /// Decodes a body. All markers together have at most [`MAX_ROWS`] partitions.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<Self, WireError> {
        if !(MIN_VERSION..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, true);
        let count = reader.count(MIN_MARKER_BYTES)?;
        if count > MAX_ROWS {
            return Err(WireError::TooManyElements);
        }
        let mut rows = RowLimit::new();
        let mut markers = Vec::new();
        for _ in 0..count {
            markers.push(decode_marker(&mut reader, version, &mut rows)?);
        }
        reader.skip_tags()?;
        Ok(Self { markers })
    }
}

fn decode_marker<'a>(reader: &mut Reader<'a>, version: i16, rows: &mut RowLimit) -> Result<TxnMarker<'a>, WireError> {
    let (producer_id, producer_epoch, is_commit) = (reader.i64()?, reader.i16()?, reader.boolean()?);
    let topics = rows.decode_topics(reader)?;
    let marker = TxnMarker {
        producer_id,
        producer_epoch,
        is_commit,
        coordinator_epoch: reader.i32()?,
        transaction_version: if version >= TRANSACTION_VERSION_FROM {
            reader.i8()?
        } else {
            0
        },
        topics,
    };
    reader.skip_tags()?;
    Ok(marker)
}

/// Appends a response body: for each marker the producer id, the topics of the request and the error of each partition,
/// in the order of the topics and of the partitions in each topic. Both versions have the same bytes.
pub fn encode_write_txn_markers_response(
    out: &mut Vec<u8>,
    version: i16,
    markers: &[(i64, &[NamedPartitions<'_>], &[ErrorCode])],
) {
    let mut w = Writer::new(out, version >= MIN_VERSION);
    w.length(Some(markers.len()));
    for (producer_id, topics, errors) in markers {
        w.i64(*producer_id);
        encode_results(&mut w, topics, errors);
        w.no_tags();
    }
    w.no_tags();
}

/// One marker that a coordinator sends to a partition leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerToSend<'a> {
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether the transaction is committed; false aborts it.
    pub is_commit: bool,
    /// The epoch of the coordinator, which is the leader epoch of its partition of `__transaction_state`.
    pub coordinator_epoch: i32,
    /// The level of `transaction.version` of the transaction.
    pub transaction_version: i8,
    /// The topics by name, with the indexes of their partitions.
    pub topics: Vec<(&'a str, Vec<i32>)>,
}

/// Appends a request body of version 2.
pub fn encode_write_txn_markers_request(out: &mut Vec<u8>, markers: &[MarkerToSend<'_>]) {
    let mut w = Writer::new(out, true);
    w.length(Some(markers.len()));
    for marker in markers {
        w.i64(marker.producer_id);
        w.i16(marker.producer_epoch);
        w.boolean(marker.is_commit);
        encode_topics(&mut w, &marker.topics);
        w.i32(marker.coordinator_epoch);
        w.i8(marker.transaction_version);
        w.no_tags();
    }
    w.no_tags();
}

/// Decodes a response body of version 2: the partitions of each producer id, in the order of the markers.
pub fn decode_write_txn_markers_response(body: &[u8]) -> Result<Vec<(i64, PartitionErrors)>, WireError> {
    let mut reader = Reader::new(body, true);
    let mut rows = RowLimit::new();
    let mut results = Vec::new();
    for _ in 0..reader.count(MIN_RESULT_BYTES)? {
        let producer_id = reader.i64()?;
        results.push((producer_id, rows.decode_results(&mut reader)?));
        reader.skip_tags()?;
    }
    reader.skip_tags()?;
    Ok(results)
}

#[cfg(test)]
#[path = "write_txn_markers_tests.rs"]
mod tests;
