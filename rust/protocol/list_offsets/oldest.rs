//! The response of `ListOffsets` version 0: for each partition the offsets at which its segments begin, and its end,
//! the greatest first.
//!
//! ```text
//! response := [name:string [result]]
//! result   := index:i32 error:i16 [offset:i64]
//! ```

use base::error::ErrorCode;

use super::{ListOffsetsRequest, name_of};
use crate::writer::Writer;

/// The offsets of one partition, descending; none with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldestResult {
    /// 0 also when no offset was found.
    pub error: ErrorCode,
    /// The offsets.
    pub offsets: Vec<i64>,
}

impl OldestResult {
    /// A result without offsets.
    pub fn nothing(error: ErrorCode) -> Self {
        Self {
            error,
            offsets: Vec::new(),
        }
    }
}

/// Appends a response body. `request` is `body` as [`ListOffsetsRequest::decode`] decoded it in version 0; `results`
/// has one entry for each partition of the request, in order.
pub fn encode_oldest_response(out: &mut Vec<u8>, body: &[u8], request: &ListOffsetsRequest, results: &[OldestResult]) {
    debug_assert_eq!(request.partitions.len(), results.len(), "one result for each partition");
    let mut w = Writer::new(out, false);
    let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic);
    w.length(Some(topics.clone().count()));
    let mut results = results.iter();
    for partitions in topics {
        w.string(name_of(partitions, body));
        w.length(Some(partitions.len()));
        for (partition, result) in partitions.iter().zip(&mut results) {
            w.i32(partition.index);
            w.i16(result.error.0);
            w.length(Some(result.offsets.len()));
            for offset in &result.offsets {
                w.i64(*offset);
            }
        }
    }
}
