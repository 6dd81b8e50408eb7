//! Looking at transactions: for `DescribeTransactions` and `ListTransactions` (KIP-664, KIP-994, KIP-1152).

use regex::Regex;

use super::transaction::{Transaction, TransactionState};
use crate::Here;
use base::error::ErrorCode;

/// Which transactions are listed; an empty filter takes all.
#[derive(Debug, Default)]
pub struct Selection {
    /// States.
    pub states: Vec<String>,
    /// Producer ids.
    pub producer_ids: Vec<i64>,
    /// Transactions that have been open for longer than this, ms; negative takes all.
    pub min_duration_ms: i64,
    /// A pattern that the whole transactional id matches.
    pub pattern: Option<Regex>,
}

/// A transaction of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer id.
    pub producer_id: i64,
    /// The state.
    pub state: TransactionState,
}

impl Selection {
    fn takes(&self, id: &str, one: &Transaction, now_ms: i64) -> bool {
        // as in Kafka, an id that has begun no transaction counts as open since 1970
        let open_for_ms = now_ms.saturating_sub(one.start_ms);
        one.state != TransactionState::Dead
            && (self.states.is_empty() || self.states.iter().any(|state| state == one.state.name()))
            && (self.producer_ids.is_empty() || self.producer_ids.contains(&one.producer_id))
            && (self.min_duration_ms < 0 || open_for_ms > self.min_duration_ms)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(id))
    }
}

/// The transactions of a partition that this broker coordinates; none while it loads, and for other partitions.
pub fn list(here: Here<'_>, index: i32, selection: &Selection, now_ms: i64) -> Vec<Listed> {
    let Some(home) = here.transactions().homes.of(index) else {
        return Vec::new();
    };
    let listed = home.with(here, |shard| {
        let taken = shard.iter().filter(|(id, one)| selection.takes(id, one, now_ms));
        let listed = taken.map(|(id, one)| Listed {
            transactional_id: id.to_string(),
            producer_id: one.producer_id,
            state: one.state,
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort_unstable_by(|a, b| a.transactional_id.cmp(&b.transactional_id));
        listed
    });
    listed.unwrap_or_default()
}

/// The transaction of an id.
///
/// # Errors
/// The error code for clients: `TRANSACTIONAL_ID_NOT_FOUND`, or that of the coordinator.
pub fn describe(here: Here<'_>, transactional_id: &str) -> Result<Transaction, ErrorCode> {
    let home = here.transactions().homes.find(&here, transactional_id)?;
    let found = home.with(here, |shard| shard.get(transactional_id).cloned())?;
    found.ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
