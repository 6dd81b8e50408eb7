//! Adds answered fetches to the counts of their topics. It decides nothing and writes no part of the answer.

use super::outcome::Outcome;
use super::{Plan, Row};
use crate::Broker;
use crate::metrics::Count;
use base::error::ErrorCode;

impl Plan {
    /// Counts an answer: one addition for each run of partitions of the same topic.
    pub(super) fn count(&self, broker: &Broker, outcomes: &[Outcome]) {
        let bytes_out = if self.replica_id < 0 {
            Count::BytesOut
        } else {
            Count::ReplicationBytesOut
        };
        let is_same = |a: &Row, b: &Row| match (&a.partition, &b.partition) {
            (Some(a), Some(b)) => a.meter().is_same(b.meter()),
            (None, None) => true,
            _ => false,
        };
        let mut left = outcomes.iter();
        for run in self.rows.chunk_by(is_same) {
            let add = |count, amount: usize| match run.first().and_then(|row| row.partition.as_ref()) {
                Some(partition) => partition.meter().add(count, amount as u64),
                None => broker.metrics().add(count, amount as u64),
            };
            add(Count::TotalFetchRequests, run.len());
            let (mut sent, mut failed) = (0, 0);
            for outcome in left.by_ref().take(run.len()) {
                sent += outcome.sent_bytes();
                failed += usize::from(outcome.error != ErrorCode::NONE);
            }
            if sent > 0 {
                add(bytes_out, sent);
            }
            if failed > 0 {
                add(Count::FailedFetchRequests, failed);
            }
        }
    }
}
