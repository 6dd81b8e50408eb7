//! Loading a partition of `__transaction_state`: the last record of each transactional id counts.
//!
//! Records of unknown kinds and malformed records are skipped and counted. Loading blocks on the disk. No request sees
//! the transactions before all are loaded.

use std::collections::HashMap;
use std::sync::Arc;

use super::records::{read_key, read_value};
use super::shard::Shard;
use super::transaction::Transaction;
use super::{TransactionHome, Transactions};
use base::error::Result;
use base::place::Offset;
use broker::{Broker, INFLATE_LIMIT_BYTES};
use record::{Batch, BatchError};

/// The result of a load.
#[derive(Debug, Default)]
pub struct LoadedTransactions {
    /// Transactional ids.
    pub count: usize,
    /// Records that were skipped.
    pub skipped: u64,
    /// Why the first of them was skipped.
    pub skip_reason: String,
}

#[derive(Default)]
struct Folding {
    transactions: HashMap<Arc<str>, Transaction>,
    topics: HashMap<Box<str>, Arc<str>>,
    loaded: LoadedTransactions,
}

/// Loads the whole partition for the load `number`. `None` when the partition was closed or begun anew before the end
/// of this load.
pub fn load(
    broker: &Broker,
    transactions: &Transactions,
    index: i32,
    number: u64,
) -> Result<Option<LoadedTransactions>> {
    let homes = &transactions.homes;
    let Some(home) = homes.of(index).filter(|home| home.number == number) else {
        return Ok(None);
    };
    let mut folding = Folding::default();
    let mut scratch = Vec::new();
    if !homes.fold(broker, &home, |batch| folding.apply(batch, &mut scratch))? {
        return Ok(None);
    }
    Ok(Some(folding.finish(&home)))
}

impl Folding {
    fn apply(&mut self, batch: &Batch<'_>, scratch: &mut Vec<u8>) -> Result<(), BatchError> {
        if batch.header().is_control() {
            return Ok(());
        }
        for record in batch.records(scratch, INFLATE_LIMIT_BYTES)? {
            let record = record?;
            let id = match read_key(record.key.unwrap_or_default()) {
                Ok(Some(id)) => id,
                Ok(None) => {
                    self.skip(record.offset, "a key of an unknown version");
                    continue;
                }
                Err(error) => {
                    self.skip(record.offset, &error.to_string());
                    continue;
                }
            };
            let Some(value) = record.value else {
                self.transactions.remove(id);
                continue;
            };
            let topics = &mut self.topics;
            let shared = |name: &str| Arc::clone(topics.entry(name.into()).or_insert_with(|| name.into()));
            match read_value(value, shared) {
                Ok(read) => match self.transactions.get_mut(id) {
                    Some(known) => *known = read,
                    None => drop(self.transactions.insert(id.into(), read)),
                },
                Err(error) => self.skip(record.offset, &error.to_string()),
            }
        }
        Ok(())
    }

    fn skip(&mut self, offset: Offset, reason: &str) {
        self.loaded.skipped += 1;
        if self.loaded.skip_reason.is_empty() {
            self.loaded.skip_reason = format!("offset {offset}: {reason}");
        }
    }

    fn finish(mut self, home: &TransactionHome) -> LoadedTransactions {
        self.loaded.count = self.transactions.len();
        *home.lock() = Shard::loaded(self.transactions);
        self.loaded
    }
}

#[cfg(test)]
#[path = "loading_tests.rs"]
mod tests;
