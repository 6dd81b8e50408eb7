//! `WriteTxnMarkers`: the coordinator's markers for partitions that this broker leads, answered when they are
//! replicated.
//!
//! Brokers send markers of decided transactions. A client may only abort: that is how `kafka-transactions` ends a
//! transaction that its coordinator has forgotten (KIP-664). It needs Alter or `ClusterAction` on the cluster.

use std::sync::Arc;
use std::time::Instant;

use super::marker_append::{MarkerBy, append_marker};
use super::transit::PATIENCE;
use crate::Coordinators;
use base::error::ErrorCode;
use broker::{
    Api, Attempt, Awaited, BodyTail, CLUSTER_NAME, Delayed, Executor, Handover, Marker, Operation, Partition, Request,
    ResourceType, Served, Thread, Tried, WaitKind, Waiter,
};
use protocol::messages::Message;
use protocol::messages::write_txn_markers::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopic, WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use protocol::{ApiTable, WireError};

/// A request with more bytes than this is not served on a network loop.
const MANY_BYTES: usize = 4 << 10;

/// The API.
pub struct WriteTxnMarkers(pub Arc<Coordinators>);

struct Row {
    index: i32,
    code: ErrorCode,
    waits: Option<(Arc<Partition>, Awaited)>,
}

struct MarkerRows {
    producer_id: i64,
    topics: Vec<(String, Vec<Row>)>,
}

impl MarkerRows {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.topics.iter().flat_map(|(_, rows)| rows)
    }
}

struct DelayedMarkers {
    version: i16,
    markers: Vec<MarkerRows>,
    watched: Vec<Arc<Partition>>,
    deadline: Instant,
}

impl Api for WriteTxnMarkers {
    fn key(&self) -> i16 {
        ApiTable::WRITE_TXN_MARKERS
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        if asked.executor == Executor::Loop && asked.body.len() > MANY_BYTES {
            return Ok(Served::Elsewhere(Handover::Serve(Thread::Request)));
        }
        let request = WriteTxnMarkersRequest::decode(asked.version, asked.body)?;
        let authorization = asked.authorization("WriteTxnMarkers");
        let acts_for_cluster = asked.caller.is_broker && authorization.acts_for_cluster();
        let may_alter = acts_for_cluster
            || authorization.allows_quietly(Operation::Alter, ResourceType::Cluster, CLUSTER_NAME)
            || authorization.allows_cluster(Operation::ClusterAction);
        let mut markers = Vec::with_capacity(request.markers.len());
        for one in &request.markers {
            let marker = Marker {
                producer_id: one.producer_id,
                producer_epoch: one.producer_epoch,
                is_commit: one.transaction_result,
                coordinator_epoch: one.coordinator_epoch,
                transaction_version: i16::from(one.transaction_version),
            };
            let by = match (acts_for_cluster, may_alter && !one.transaction_result) {
                (true, _) => Some(MarkerBy::Coordinator),
                (false, true) => Some(MarkerBy::Client),
                (false, false) => None,
            };
            let write = |topic: &str, index: i32| {
                let by = by.ok_or(ErrorCode::CLUSTER_AUTHORIZATION_FAILED)?;
                append_marker(self.0.on(asked.broker), topic, index, &marker, by, asked.now_ms)
            };
            markers.push(write_all(one.producer_id, &one.topics, write));
        }
        let rows = markers.iter().flat_map(MarkerRows::rows);
        let waits = rows.filter_map(|row| row.waits.as_ref());
        let delayed = DelayedMarkers {
            version: asked.version,
            watched: waits.map(|(partition, _)| Arc::clone(partition)).collect(),
            markers,
            deadline: asked.now + PATIENCE,
        };
        if delayed.watched.is_empty() {
            delayed.encode(out);
            return Ok(Served::Answered(BodyTail::Nothing));
        }
        Ok(Served::Delayed(Box::new(delayed)))
    }
}

fn write_all(
    producer_id: i64,
    topics: &[WritableTxnMarkerTopic<'_>],
    write: impl Fn(&str, i32) -> Result<(Arc<Partition>, Awaited), ErrorCode>,
) -> MarkerRows {
    let row = |topic: &str, index: i32| {
        let written = write(topic, index);
        let code = written.as_ref().err().copied().unwrap_or(ErrorCode::NONE);
        let waits = written.ok().filter(|(_, awaited)| !awaited.is_nothing());
        Row { index, code, waits }
    };
    let of = |topic: &WritableTxnMarkerTopic<'_>| {
        let rows = topic.partition_indexes.iter().map(|index| row(topic.name, *index));
        (topic.name.to_owned(), rows.collect())
    };
    MarkerRows {
        producer_id,
        topics: topics.iter().map(of).collect(),
    }
}

impl DelayedMarkers {
    /// Ends the rows that have nothing left to wait for, all rows when they are due. Whether none is left.
    fn poll(&mut self, is_due: bool) -> bool {
        let mut is_done = true;
        let topics = self.markers.iter_mut().flat_map(|one| &mut one.topics);
        for row in topics.flat_map(|(_, rows)| rows) {
            let Some((partition, awaited)) = &row.waits else {
                continue;
            };
            match partition.is_satisfied(*awaited) {
                Ok(true) => row.waits = None,
                Ok(false) if is_due => {
                    row.code = ErrorCode::REQUEST_TIMED_OUT;
                    row.waits = None;
                }
                Ok(false) => is_done = false,
                Err(error) => {
                    row.code = error.code();
                    row.waits = None;
                }
            }
        }
        is_done
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let row = |row: &Row| WritableTxnMarkerPartitionResult {
            partition_index: row.index,
            error_code: row.code,
        };
        let markers = self.markers.iter().map(|one| WritableTxnMarkerResult {
            producer_id: one.producer_id,
            topics: one
                .topics
                .iter()
                .map(|(name, rows)| WritableTxnMarkerTopicResult {
                    name,
                    partitions: rows.iter().map(row).collect(),
                })
                .collect(),
        });
        let markers = markers.collect();
        WriteTxnMarkersResponse { markers }.encode(out, self.version);
    }
}

impl Delayed for DelayedMarkers {
    fn watch(&self, waiter: &Waiter) {
        for partition in &self.watched {
            partition.waiters().watch(WaitKind::Produce, waiter.clone());
        }
    }

    fn forget(&self, waiter: &Waiter) {
        for partition in &self.watched {
            let waiters = partition.waiters();
            waiters.forget(WaitKind::Produce, waiter.operation, &waiter.owner);
        }
    }

    fn try_complete(&mut self, attempt: &Attempt<'_>, out: &mut Vec<u8>) -> Tried {
        if !self.poll(attempt.is_due) {
            return Tried::Waits;
        }
        self.encode(out);
        Tried::Answered(BodyTail::Nothing)
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}

#[cfg(test)]
#[path = "write_markers_tests.rs"]
mod tests;
