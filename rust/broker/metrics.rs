//! Counters of the data plane, by the names of Kafka's meters. Written by every thread, read rarely.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::ErrorCode;
use crate::wire::ProduceResult;

/// Monotonic counts since the start of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    /// `TotalProduceRequestsPerSec`.
    pub produce_requests: AtomicU64,
    /// `FailedProduceRequestsPerSec`, by partition.
    pub failed_produce_requests: AtomicU64,
    /// `TotalFetchRequestsPerSec`.
    pub fetch_requests: AtomicU64,
    /// `BytesInPerSec`: request bytes of Produce.
    pub bytes_in: AtomicU64,
    /// `BytesOutPerSec`: record bytes of Fetch.
    pub bytes_out: AtomicU64,
    /// Connections open now.
    pub connections: AtomicU64,
    /// Requests handed to the control plane.
    pub control_requests: AtomicU64,
}

impl Metrics {
    pub(super) fn count_produce(&self, results: &[ProduceResult]) {
        self.produce_requests.fetch_add(1, Ordering::Relaxed);
        let failed = results.iter().filter(|r| r.error != ErrorCode::NONE).count();
        if failed > 0 {
            self.failed_produce_requests.fetch_add(failed as u64, Ordering::Relaxed);
        }
    }

    pub(super) fn count_fetch(&self) {
        self.fetch_requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_bytes_out(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Name and value of each.
    pub fn snapshot(&self) -> Vec<(&'static str, u64)> {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        vec![
            ("TotalProduceRequestsPerSec", get(&self.produce_requests)),
            ("FailedProduceRequestsPerSec", get(&self.failed_produce_requests)),
            ("TotalFetchRequestsPerSec", get(&self.fetch_requests)),
            ("BytesInPerSec", get(&self.bytes_in)),
            ("BytesOutPerSec", get(&self.bytes_out)),
            ("connection-count", get(&self.connections)),
            ("ControlRequests", get(&self.control_requests)),
        ]
    }
}
