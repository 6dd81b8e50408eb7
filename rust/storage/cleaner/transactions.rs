//! Which batches belong to aborted transactions, and which markers are needed no longer.
//!
//! A cleaning walks over a log from its start, or over its dirty part, and shows each batch in order. The aborted
//! transactions come from the transaction indexes, before the batches that they cover. Keeps one entry for each
//! transaction that is open at the present batch. Never reads a file.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use base::place::Offset;
use index::AbortedTxn;
use record::{BatchHeader, ControlRecord, ControlType};

/// An aborted transaction that has not begun yet, in the order of first offsets.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Upcoming(Offset, i64, Offset, Offset);

/// An aborted transaction at the present batch.
#[derive(Debug)]
struct Aborted {
    transaction: AbortedTxn,
    has_records: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Transactions {
    upcoming: BinaryHeap<Reverse<Upcoming>>,
    aborted: HashMap<i64, Aborted>,
    committed: HashSet<i64>,
    /// Aborted transactions whose marker stays; the caller takes them for the new segment's index.
    retained: Vec<AbortedTxn>,
}

impl Transactions {
    /// Adds aborted transactions of the batches that follow. A transaction may be added again.
    pub fn add(&mut self, aborted: &[AbortedTxn]) {
        let upcoming = |it: &AbortedTxn| {
            let (first, last, stable) = (it.first_offset, it.last_offset, it.last_stable_offset);
            Reverse(Upcoming(first, it.producer_id, last, stable))
        };
        self.upcoming.extend(aborted.iter().map(upcoming));
    }

    /// Passes a batch of records; whether its transaction was aborted.
    pub fn is_aborted(&mut self, header: &BatchHeader) -> bool {
        self.advance(header.last_offset());
        if !header.is_transactional() {
            return false;
        }
        if let Some(aborted) = self.aborted.get_mut(&header.producer_id) {
            aborted.has_records = true;
            return true;
        }
        self.committed.insert(header.producer_id);
        false
    }

    /// Passes a control batch, with its record unless an earlier cleaning has removed it; whether the marker is needed
    /// no longer: no record of its transaction is left in front of it.
    pub fn is_marker_unneeded(&mut self, header: &BatchHeader, control: Option<ControlRecord>) -> bool {
        self.advance(header.last_offset());
        match control.map(|control| control.control_type) {
            None => true,
            Some(ControlType::Commit) => !self.committed.remove(&header.producer_id),
            Some(ControlType::Abort) => match self.aborted.remove(&header.producer_id) {
                Some(aborted) if aborted.has_records => {
                    self.retained.push(aborted.transaction);
                    false
                }
                _ => true,
            },
            Some(ControlType::Other(_)) => false,
        }
    }

    /// The aborted transactions whose markers were passed since the last call and stay, in the order of the markers.
    pub fn take_retained(&mut self) -> impl Iterator<Item = AbortedTxn> + '_ {
        self.retained.drain(..)
    }

    /// Begins the aborted transactions whose first offset is at most `offset`.
    fn advance(&mut self, offset: Offset) {
        while let Some(Reverse(next)) = self.upcoming.peek() {
            if next.0 > offset {
                break;
            }
            let Some(Reverse(Upcoming(first_offset, producer_id, last_offset, last_stable_offset))) =
                self.upcoming.pop()
            else {
                break;
            };
            let transaction = AbortedTxn {
                producer_id,
                first_offset,
                last_offset,
                last_stable_offset,
            };
            self.aborted.entry(producer_id).or_insert(Aborted {
                transaction,
                has_records: false,
            });
        }
    }
}
