//! The transactions of one partition that hold the last stable offset back.
//!
//! `ongoing` transactions are undecided; `unreplicated` transactions are decided, but their marker may not be on all
//! in-sync replicas yet. Both are keyed by the transaction's first offset.

use std::collections::BTreeMap;

use base::place::Offset;

#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// First offset → producer id.
    ongoing: BTreeMap<Offset, i64>,
    /// First offset → offset of the marker.
    unreplicated: BTreeMap<Offset, Offset>,
}

impl Transactions {
    pub(super) fn start(&mut self, first_offset: Offset, producer_id: i64) {
        self.ongoing.insert(first_offset, producer_id);
    }

    /// Moves a transaction to the decided ones.
    pub(super) fn complete(&mut self, first_offset: Offset, marker_offset: Offset) {
        self.ongoing.remove(&first_offset);
        self.unreplicated.insert(first_offset, marker_offset);
    }

    /// The last stable offset once the marker of `producer_id`'s transaction at `marker_offset` is replicated: the
    /// first offset of the oldest other open transaction, else the offset after the marker.
    pub(super) fn last_stable_offset(&self, producer_id: i64, marker_offset: Offset) -> Offset {
        let other = self.ongoing.iter().find(|(_, owner)| **owner != producer_id);
        other.map_or(marker_offset.saturating_add(1), |(first_offset, _)| *first_offset)
    }

    pub(super) fn first_undecided_offset(&self) -> Option<Offset> {
        self.ongoing.first_key_value().map(|(first_offset, _)| *first_offset)
    }

    pub(super) fn first_unstable_offset(&self, high_watermark: Offset) -> Option<Offset> {
        let mut unreplicated = self
            .unreplicated
            .iter()
            .filter(|(_, marker)| **marker >= high_watermark);
        let unreplicated = unreplicated.next().map(|(first_offset, _)| *first_offset);
        match (self.first_undecided_offset(), unreplicated) {
            (Some(undecided), Some(unreplicated)) => Some(undecided.min(unreplicated)),
            (undecided, unreplicated) => undecided.or(unreplicated),
        }
    }

    pub(super) fn replicated_to(&mut self, offset: Offset) {
        if !self.unreplicated.is_empty() {
            self.unreplicated.retain(|_, marker| *marker >= offset);
        }
    }

    pub(super) fn is_replicated(&self) -> bool {
        self.unreplicated.is_empty()
    }
}
