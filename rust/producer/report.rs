//! What became of records, for a caller that wants to know of each batch.

use std::sync::Arc;
use std::time::Duration;

use base::error::ErrorCode;

/// The records of one batch, or of one call whose records came into none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Their topic.
    pub topic: Arc<str>,
    /// Their partition; -1 when none was chosen.
    pub partition: i32,
    /// How many there are.
    pub count: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// How long they waited from the append to this end: a time for the records of each call, and how many these are.
    pub waited: Vec<(Duration, i32)>,
    /// The offset of the first one, -1 when the broker was not asked for it; or Kafka's error, with a sentence.
    pub end: Result<i64, (ErrorCode, String)>,
}
