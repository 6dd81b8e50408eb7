//! The figures of the data plane at one moment, for the metrics.
//!
//! It walks over all partitions and locks one log at a time, only to read the log's size. Rows by topic and by
//! partition are made only up to a number that the caller gives: the control plane needs much more time for a row than
//! this module does.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::metrics::{COUNT_NAMES, COUNTS};
use crate::partition::{IsrSize, Partition, PartitionFigures};
use crate::requests::waiters::WaitKind;
use crate::state::Broker;

/// See the module.
#[derive(Debug, Default)]
pub struct Figures {
    /// Totals, by name.
    pub totals: Vec<(&'static str, u64)>,
    /// (API key, requests that came).
    pub requests: Vec<(i16, u64)>,
    /// Counts by topic, in the order of [`COUNT_NAMES`]; empty when there are more topics than the caller's limit.
    pub topics: Vec<(Arc<str>, [u64; COUNTS])>,
    /// Figures by partition; empty when there are more partitions than the caller's limit.
    pub partitions: Vec<PartitionFigures>,
}

/// The sums over all partitions.
#[derive(Default)]
struct Sums {
    partitions: u64,
    leaders: u64,
    under_replicated: u64,
    under_min_isr: u64,
    at_min_isr: u64,
    offline: u64,
    size: u64,
    waiting: [u64; 3],
}

impl Sums {
    fn add(&mut self, partition: &Partition) -> PartitionFigures {
        self.partitions += 1;
        self.offline += u64::from(partition.leadership().is_offline());
        let kinds = [WaitKind::Produce, WaitKind::Fetch, WaitKind::LowWatermark];
        for (sum, kind) in self.waiting.iter_mut().zip(kinds) {
            *sum += partition.waiters().len(kind) as u64;
        }
        let (row, isr) = partition.figures();
        self.size += row.size;
        if let Some(IsrSize {
            replicas,
            members,
            least,
        }) = isr
        {
            self.leaders += 1;
            self.under_replicated += u64::from(members < replicas);
            self.under_min_isr += u64::from(members < least);
            self.at_min_isr += u64::from(members == least);
        }
        row
    }
}

impl Broker {
    /// The figures now, by topic and by partition while there are at most `max_rows` of each. Takes some milliseconds
    /// for 10,000 partitions.
    pub fn figures(&self, max_rows: usize) -> Figures {
        let topics = self.registry().snapshot();
        let mut sums = Sums::default();
        let mut partitions = Vec::new();
        for partition in topics.iter().flat_map(|topic| topic.partitions()) {
            let row = sums.add(partition);
            if partitions.len() <= max_rows {
                partitions.push(row);
            }
        }
        if partitions.len() > max_rows {
            partitions = Vec::new();
        }
        let (counts, topic_count) = self.metrics().totals();
        let mut totals: Vec<(&'static str, u64)> = COUNT_NAMES.into_iter().zip(counts).collect();
        totals.extend(sums.named());
        totals.extend(self.held());
        Figures {
            totals,
            requests: self.metrics().requests(),
            topics: if topic_count > max_rows {
                Vec::new()
            } else {
                self.metrics().by_topic()
            },
            partitions,
        }
    }

    /// The amounts that are held now, and their limits.
    fn held(&self) -> Vec<(&'static str, u64)> {
        let mut held = vec![
            ("FollowerFetches", self.metrics().follower_fetches()),
            ("connections", self.metrics().connections.load(Ordering::Relaxed)),
            ("events", self.events().len() as u64),
            ("sessions", self.sessions().len() as u64),
            ("session bytes", self.sessions().bytes() as u64),
            ("session bytes limit", self.options().fetch_session_bytes as u64),
            ("unsent bytes", self.unsent().used() as u64),
            ("unsent bytes limit", self.unsent().limit() as u64),
            ("queued bytes", self.queued().used() as u64),
            ("queued bytes limit", self.queued().limit() as u64),
            ("parked partitions", self.parked_rows().used() as u64),
            ("parked partitions limit", self.parked_rows().limit() as u64),
        ];
        if let Some(descriptors) = self.context().fs.descriptors() {
            held.extend([
                ("descriptors of connections", descriptors.connections() as u64),
                ("descriptors of files", descriptors.files() as u64),
                ("descriptors budget", descriptors.total() as u64),
                ("descriptors limit", descriptors.limit() as u64),
            ]);
        }
        held
    }
}

impl Sums {
    fn named(&self) -> [(&'static str, u64); 10] {
        [
            ("PartitionCount", self.partitions),
            ("LeaderCount", self.leaders),
            ("UnderReplicatedPartitions", self.under_replicated),
            ("UnderMinIsrPartitionCount", self.under_min_isr),
            ("AtMinIsrPartitionCount", self.at_min_isr),
            ("OfflineReplicaCount", self.offline),
            ("log bytes", self.size),
            ("waiting Produce", self.waiting[0]),
            ("waiting Fetch", self.waiting[1]),
            ("waiting DeleteRecords", self.waiting[2]),
        ]
    }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
