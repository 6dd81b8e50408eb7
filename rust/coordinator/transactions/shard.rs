//! The transactional ids of one partition of `__transaction_state`.
//!
//! Invariants: a transaction is the fold of the log up to the high watermark; a load folds the log to its end. A change
//! is appended and noted as pending under the lock that holds this shard, so pending changes are in the order of the
//! log; [`Shard::settle`] folds those that the high watermark has passed. While a change of an id is pending, no other
//! change of the id is appended. A change whose client got an error counts when it is replicated later. It never
//! appends, and never decides.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::transaction::Transaction;
use base::error::ErrorCode;
use base::place::Offset;

/// A transactional id.
struct Entry {
    /// The value that is replicated; `None` while the first record of the id is not.
    known: Option<Transaction>,
    is_pending: bool,
}

/// A change that is appended and not replicated yet.
struct Pending {
    /// The offset after its record.
    next: Offset,
    id: Arc<str>,
    /// The new value; `None` for a tombstone.
    value: Option<Transaction>,
}

/// See the module.
#[derive(Default)]
pub struct Shard {
    entries: HashMap<Arc<str>, Entry>,
    pending: VecDeque<Pending>,
    prepared: Vec<Arc<str>>,
    has_changed: bool,
}

impl Shard {
    /// The shard of a partition that was loaded. The transactions whose outcome is decided are to be ended again.
    pub fn loaded(transactions: HashMap<Arc<str>, Transaction>) -> Self {
        let prepared = transactions
            .iter()
            .filter(|(_, one)| one.state.is_prepared())
            .map(|(id, _)| Arc::clone(id));
        let mut prepared: Vec<_> = prepared.collect();
        prepared.sort_unstable();
        let entry = |(id, known)| {
            let entry = Entry {
                known: Some(known),
                is_pending: false,
            };
            (id, entry)
        };
        Self {
            prepared,
            entries: transactions.into_iter().map(entry).collect(),
            ..Self::default()
        }
    }

    /// Folds the pending changes that the high watermark has passed.
    pub fn settle(&mut self, high_watermark: Offset) {
        while self.pending.front().is_some_and(|front| front.next <= high_watermark) {
            let Some(Pending { id, value, .. }) = self.pending.pop_front() else {
                return;
            };
            self.has_changed = true;
            match value {
                None => drop(self.entries.remove(&id)),
                Some(value) => {
                    if value.state.is_prepared() {
                        self.prepared.push(Arc::clone(&id));
                    }
                    let entry = Entry {
                        known: Some(value),
                        is_pending: false,
                    };
                    self.entries.insert(id, entry);
                }
            }
        }
    }

    /// Takes the ids whose outcome was decided since the last call.
    pub fn take_prepared(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.prepared)
    }

    /// Whether the outcome of an id was decided since it was last taken.
    pub fn has_prepared(&self) -> bool {
        !self.prepared.is_empty()
    }

    /// Whether a transaction has changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Whether a change is not replicated yet.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The transaction of an id, whatever is pending.
    pub fn get(&self, id: &str) -> Option<&Transaction> {
        self.entries.get(id).and_then(|entry| entry.known.as_ref())
    }

    /// The transaction of an id that may be changed; `None` for an id that is not known.
    ///
    /// # Errors
    /// `CONCURRENT_TRANSACTIONS` while a change of the id is pending.
    pub fn settled(&self, id: &str) -> Result<Option<&Transaction>, ErrorCode> {
        match self.entries.get(id) {
            Some(entry) if entry.is_pending => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            found => Ok(found.and_then(|entry| entry.known.as_ref())),
        }
    }

    /// Notes a change that was appended; `next` is the offset after its record. `None` is a tombstone.
    pub fn note(&mut self, id: &str, value: Option<Transaction>, next: Offset) {
        let id = match self.entries.get_key_value(id) {
            Some((id, _)) => Arc::clone(id),
            None => id.into(),
        };
        let entry = self.entries.entry(Arc::clone(&id)).or_insert(Entry {
            known: None,
            is_pending: true,
        });
        entry.is_pending = true;
        self.pending.push_back(Pending { next, id, value });
    }

    /// All transactions whose value is replicated.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Transaction)> {
        self.entries
            .iter()
            .filter_map(|(id, entry)| entry.known.as_ref().map(|known| (id, known)))
    }

    /// The ids of transactions that may be changed, of which `is_wanted` holds, in order.
    pub fn select(&self, is_wanted: impl Fn(&Transaction) -> bool) -> Vec<Arc<str>> {
        let found = self.entries.iter().filter(|(_, entry)| !entry.is_pending);
        let found = found.filter(|(_, entry)| entry.known.as_ref().is_some_and(&is_wanted));
        let mut ids: Vec<_> = found.map(|(id, _)| Arc::clone(id)).collect();
        ids.sort_unstable();
        ids
    }
}

#[cfg(test)]
#[path = "shard_tests.rs"]
mod tests;
