//! `AddPartitionsToTxn`, versions 0 to 5: clients send versions 0 to 3 with one transaction, brokers send versions 4
//! and 5 with several transactions.
//!
//! ```text
//! request     := (v0-3: transactional_id:string producer_id:i64 producer_epoch:i16 topics) (v4+: [transaction]) tags
//! transaction := transactional_id:string producer_id:i64 producer_epoch:i16 verify_only:bool topics tags
//! response    := throttle_time_ms:i32 (v0-3: results) (v4+: error:i16 [result]) tags
//! result      := transactional_id:string results tags
//! ```
//! `topics` and `results` are in [`named_partitions`](super::named_partitions). Lengths are compact and tags are there
//! from version 3 on. A leader encodes requests and decodes responses of version 5, to verify that a partition is in a
//! transaction before it appends (KIP-890).

use base::error::ErrorCode;

use super::error::WireError;
use super::named_partitions::{NamedPartitions, PartitionErrors, RowLimit, encode_results, encode_topics};
use super::reader::{MAX_ROWS, Reader};
use super::writer::Writer;

/// The last version; the first is 0. Brokers use it between them.
pub const MAX_VERSION: i16 = 5;
const FLEXIBLE_FROM: i16 = 3;
/// From this version on the request has several transactions and the response has an error for the whole request.
pub const BATCHED_FROM: i16 = 4;
/// An empty transactional id, producer id and epoch, the flag, no topics and an empty tag section.
const MIN_TRANSACTION_BYTES: usize = 14;
/// An empty transactional id, no topics and an empty tag section.
const MIN_RESULT_BYTES: usize = 3;

/// One transaction of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionToAdd<'a> {
    /// The transactional id.
    pub transactional_id: &'a str,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether the coordinator only checks that the partitions are in the transaction; false before version 4.
    pub verify_only: bool,
    /// The partitions.
    pub topics: Vec<NamedPartitions<'a>>,
}

/// A decoded `AddPartitionsToTxn` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddPartitionsToTxnRequest<'a> {
    /// The transactions; exactly one before version 4.
    pub transactions: Vec<TransactionToAdd<'a>>,
}

impl<'a> AddPartitionsToTxnRequest<'a> {
    /// Decodes a body. All transactions together have at most [`MAX_ROWS`] partitions.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<Self, WireError> {
        if !(0..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        let mut rows = RowLimit::new();
        let mut transactions = Vec::new();
        if version >= BATCHED_FROM {
            let count = reader.count(MIN_TRANSACTION_BYTES)?;
            if count > MAX_ROWS {
                return Err(WireError::TooManyElements);
            }
            for _ in 0..count {
                transactions.push(decode_transaction(&mut reader, version, &mut rows)?);
                reader.skip_tags()?;
            }
        } else {
            transactions.push(decode_transaction(&mut reader, version, &mut rows)?);
        }
        reader.skip_tags()?;
        Ok(Self { transactions })
    }
}

fn decode_transaction<'a>(
    reader: &mut Reader<'a>,
    version: i16,
    rows: &mut RowLimit,
) -> Result<TransactionToAdd<'a>, WireError> {
    Ok(TransactionToAdd {
        transactional_id: reader.str()?,
        producer_id: reader.i64()?,
        producer_epoch: reader.i16()?,
        verify_only: version >= BATCHED_FROM && reader.boolean()?,
        topics: rows.decode_topics(reader)?,
    })
}

/// The answer for one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionResult<'a> {
    /// The transactional id; not written before version 4.
    pub transactional_id: &'a str,
    /// The topics of the request.
    pub topics: &'a [NamedPartitions<'a>],
    /// The error of each partition, in the order of the topics and of the partitions in each topic.
    pub errors: &'a [ErrorCode],
}

/// Appends a response body. Before version 4 there is no `top_error`, and only the first of `results` is written.
pub fn encode_add_partitions_to_txn_response(
    out: &mut Vec<u8>,
    version: i16,
    top_error: ErrorCode,
    results: &[TransactionResult<'_>],
) {
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    w.i32(0);
    if version >= BATCHED_FROM {
        w.i16(top_error.0);
        w.length(Some(results.len()));
        for result in results {
            w.string(result.transactional_id);
            encode_results(&mut w, result.topics, result.errors);
            w.no_tags();
        }
    } else {
        debug_assert_eq!(results.len(), 1, "one transaction before version 4");
        let (topics, errors) = results
            .first()
            .map_or((&[][..], &[][..]), |result| (result.topics, result.errors));
        encode_results(&mut w, topics, errors);
    }
    w.no_tags();
}

/// One transaction that a broker asks the coordinator about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedTransaction<'a> {
    /// The transactional id.
    pub transactional_id: &'a str,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether the coordinator only checks that the partitions are in the transaction.
    pub verify_only: bool,
    /// The topics by name, with the indexes of their partitions.
    pub topics: Vec<(&'a str, Vec<i32>)>,
}

/// Appends a request body of version 5.
pub fn encode_add_partitions_to_txn_request(out: &mut Vec<u8>, transactions: &[AskedTransaction<'_>]) {
    let mut w = Writer::new(out, true);
    w.length(Some(transactions.len()));
    for transaction in transactions {
        w.string(transaction.transactional_id);
        w.i64(transaction.producer_id);
        w.i16(transaction.producer_epoch);
        w.boolean(transaction.verify_only);
        encode_topics(&mut w, &transaction.topics);
        w.no_tags();
    }
    w.no_tags();
}

/// Decodes a response body of version 5: the error of the whole request, and the partitions of each transactional id.
pub fn decode_add_partitions_to_txn_response(
    body: &[u8],
) -> Result<(ErrorCode, Vec<(String, PartitionErrors)>), WireError> {
    let mut reader = Reader::new(body, true);
    let _throttle_time_ms = reader.i32()?;
    let top_error = ErrorCode(reader.i16()?);
    let mut rows = RowLimit::new();
    let mut results = Vec::new();
    for _ in 0..reader.count(MIN_RESULT_BYTES)? {
        let transactional_id = reader.str()?.to_owned();
        results.push((transactional_id, rows.decode_results(&mut reader)?));
        reader.skip_tags()?;
    }
    reader.skip_tags()?;
    Ok((top_error, results))
}

#[cfg(test)]
#[path = "add_partitions_to_txn_tests.rs"]
mod tests;
