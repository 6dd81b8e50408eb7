//! All producers of one partition, and the queries of the log and of `DescribeProducers`.

use std::collections::HashMap;

use super::entry::ProducerEntry;
use super::transactions::Transactions;
use super::verification::Verifications;
use base::place::Offset;

/// What the broker's configuration says about producers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerStateConfig {
    /// `producer.id.expiration.ms`: an idle producer without open transaction is forgotten after it.
    pub producer_id_expiration_ms: i64,
    /// `transaction.partition.verification.enable`: the coordinator must verify the first batch of a transaction.
    pub is_transaction_verification_enabled: bool,
}

impl Default for ProducerStateConfig {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            producer_id_expiration_ms: 86_400_000,
            is_transaction_verification_enabled: true,
        }
    }
}

/// The producers and transactions of one partition; see the module.
#[derive(Debug, Default)]
pub struct ProducerState {
    pub(super) config: ProducerStateConfig,
    pub(super) producers: HashMap<i64, ProducerEntry>,
    pub(super) transactions: Transactions,
    pub(super) verifications: Verifications,
    /// Offsets of the `.snapshot` files, ascending.
    pub(super) snapshots: Vec<Offset>,
    pub(super) map_end_offset: Offset,
    pub(super) last_snapshot_offset: Offset,
}

impl ProducerState {
    /// An empty state at offset 0.
    pub fn new(config: ProducerStateConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Takes on a changed configuration (`producer.id.expiration.ms` is dynamic).
    pub fn set_config(&mut self, config: ProducerStateConfig) {
        self.config = config;
    }

    /// The offset up to which (exclusive) batches are in the state.
    pub const fn map_end_offset(&self) -> Offset {
        self.map_end_offset
    }

    /// Notes that the log ends at `offset` now.
    pub fn update_map_end_offset(&mut self, offset: Offset) {
        self.map_end_offset = offset;
    }

    /// Whether no producer is known and no transaction marker awaits replication.
    pub fn is_empty(&self) -> bool {
        self.producers.is_empty() && self.transactions.is_replicated()
    }

    /// How many producers are known.
    pub fn producer_id_count(&self) -> usize {
        self.producers.len()
    }

    /// The highest producer id that is known.
    pub fn highest_producer_id(&self) -> Option<i64> {
        self.producers.keys().copied().max()
    }

    /// The entry of a producer, if it is known.
    pub fn entry(&self, producer_id: i64) -> Option<&ProducerEntry> {
        self.producers.get(&producer_id)
    }

    /// All known producers, in no order.
    pub fn active_producers(&self) -> impl ExactSizeIterator<Item = (i64, &ProducerEntry)> {
        self.producers.iter().map(|(producer_id, entry)| (*producer_id, entry))
    }

    /// Whether the producer has a transaction open here in this epoch.
    pub fn has_ongoing_transaction(&self, producer_id: i64, producer_epoch: i16) -> bool {
        self.entry(producer_id)
            .is_some_and(|entry| entry.producer_epoch == producer_epoch && entry.current_txn_first_offset.is_some())
    }

    /// The first offset that is undecided (its transaction is open) or decided by a marker at or above
    /// `high_watermark`. The last stable offset is the lesser of it and the high watermark.
    pub fn first_unstable_offset(&self, high_watermark: Offset) -> Option<Offset> {
        self.transactions.first_unstable_offset(high_watermark)
    }

    /// The first offset whose transaction is open, wherever the high watermark is.
    pub fn first_undecided_offset(&self) -> Option<Offset> {
        self.transactions.first_undecided_offset()
    }

    /// Forgets the decided transactions whose markers lie below `high_watermark`.
    pub fn on_high_watermark(&mut self, high_watermark: Offset) {
        self.transactions.replicated_to(high_watermark);
    }

    /// Follows the log start offset. Producers whose batches are deleted stay known (KIP-360) until they expire.
    pub fn on_log_start_offset_incremented(&mut self, log_start_offset: Offset) {
        self.transactions.replicated_to(log_start_offset);
        self.map_end_offset = self.map_end_offset.max(log_start_offset);
        self.last_snapshot_offset = self.latest_snapshot_offset().unwrap_or(log_start_offset);
    }

    /// Forgets producers that were idle for `producer.id.expiration.ms`, unless a transaction of theirs is open.
    pub fn remove_expired(&mut self, now_ms: i64) {
        let expiration_ms = self.config.producer_id_expiration_ms;
        self.producers
            .retain(|_, entry| !is_expired(entry, now_ms, expiration_ms));
        self.verifications.remove_expired(now_ms, expiration_ms);
        if self.producers.is_empty() {
            self.producers = HashMap::new();
        }
    }

    /// Forgets all producers and transactions.
    pub(super) fn clear(&mut self) {
        self.producers = HashMap::new();
        self.transactions = Transactions::default();
    }
}

/// Whether a producer was idle for `expiration_ms` and has no open transaction.
pub(super) fn is_expired(entry: &ProducerEntry, now_ms: i64, expiration_ms: i64) -> bool {
    entry.current_txn_first_offset.is_none() && now_ms.saturating_sub(entry.last_timestamp) >= expiration_ms
}
