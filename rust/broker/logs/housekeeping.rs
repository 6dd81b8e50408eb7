//! The work on all logs that the control plane schedules: retention, flushes by time, producer expiry. Every call may
//! block on the disk; no network loop makes these calls.

use std::sync::Arc;

use super::Logs;
use crate::partition::Partition;

impl Logs {
    /// Deletes old segments of every log by its configuration; returns how many. A log that is being
    /// cleaned waits for the end of its cleaning. Removes directories that bulk loads have left, too.
    pub fn run_retention(&self) -> usize {
        self.dirs().remove_stale_loads();
        let all = self.node().registry().online_partitions();
        all.iter()
            .map(|partition| self.cleaner().run_retention_of(partition))
            .sum()
    }

    /// Flushes logs whose oldest unflushed record is older than `flush.ms`; returns how many.
    pub fn flush_due(&self) -> usize {
        let now_ms = self.node().context().clock.now_ms();
        let due = |p: &Arc<Partition>| p.is_flush_due(now_ms);
        let due: Vec<_> = self
            .node()
            .registry()
            .online_partitions()
            .into_iter()
            .filter(due)
            .collect();
        for partition in &due {
            self.threads().flusher().enqueue(partition);
        }
        due.len()
    }

    /// Forgets idle producers (`producer.id.expiration.ms`); returns how many.
    pub fn expire_producers(&self) -> usize {
        let now_ms = self.node().context().clock.now_ms();
        self.node()
            .registry()
            .online_partitions()
            .iter()
            .map(|p| {
                let mut log = p.log();
                let before = log.producers().producer_id_count();
                log.producers_mut().remove_expired(now_ms);
                before - log.producers().producer_id_count()
            })
            .sum()
    }
}

#[cfg(test)]
#[path = "housekeeping_tests.rs"]
mod tests;
