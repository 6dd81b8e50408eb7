//! Pending changes and their fold.

use super::super::TransactionState;
use super::*;

const fn at(offset: i64) -> Offset {
    Offset(offset)
}

fn value(state: TransactionState) -> Transaction {
    Transaction {
        state,
        ..Transaction::new(7, 60_000, 0)
    }
}

fn state_of(shard: &Shard, id: &str) -> Option<TransactionState> {
    shard.get(id).map(|one| one.state)
}

#[test]
fn change_is_known_when_the_high_watermark_has_passed_its_record() {
    let mut shard = Shard::default();
    shard.note("a", Some(value(TransactionState::Empty)), at(5));
    shard.note("b", Some(value(TransactionState::Ongoing)), at(6));
    assert_eq!(shard.settled("a"), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    assert_eq!((state_of(&shard, "a"), shard.iter().count()), (None, 0));
    shard.settle(at(4));
    assert!(!shard.take_changed() && shard.has_pending());
    shard.settle(at(5));
    assert!(shard.take_changed() && shard.has_pending());
    assert_eq!(state_of(&shard, "a"), Some(TransactionState::Empty));
    assert_eq!(state_of(&shard, "b"), None);
    shard.settle(at(9));
    assert_eq!(state_of(&shard, "b"), Some(TransactionState::Ongoing));
    assert!(!shard.has_pending());
    assert_eq!(shard.settled("none"), Ok(None));
}

#[test]
fn value_before_a_pending_change_is_known_until_then() {
    let mut shard = Shard::default();
    shard.note("a", Some(value(TransactionState::Ongoing)), at(1));
    shard.settle(at(1));
    shard.note("a", Some(value(TransactionState::PrepareCommit)), at(2));
    assert_eq!(state_of(&shard, "a"), Some(TransactionState::Ongoing));
    assert!(shard.select(|_| true).is_empty(), "it may not be changed");
    assert!(shard.take_prepared().is_empty());
    shard.settle(at(2));
    assert_eq!(shard.take_prepared(), ["a".into()]);
    assert!(shard.take_prepared().is_empty(), "it is taken once");
    assert_eq!(shard.select(|one| one.state.is_prepared()), ["a".into()]);
}

#[test]
fn tombstone_forgets_the_id_when_it_is_replicated() {
    let mut shard = Shard::default();
    shard.note("a", Some(value(TransactionState::Empty)), at(1));
    shard.settle(at(1));
    shard.note("a", None, at(2));
    assert!(shard.settled("a").is_err() && shard.get("a").is_some());
    shard.settle(at(2));
    assert_eq!(shard.settled("a"), Ok(None));
    assert_eq!(shard.iter().count(), 0);
}

#[test]
fn loaded_transactions_that_are_decided_are_taken_once() {
    let states = [
        ("d", TransactionState::PrepareAbort),
        ("a", TransactionState::PrepareCommit),
        ("b", TransactionState::Ongoing),
        ("c", TransactionState::CompleteCommit),
    ];
    let transactions = states.map(|(id, state)| (Arc::from(id), value(state)));
    let mut shard = Shard::loaded(transactions.into());
    assert_eq!(shard.take_prepared(), ["a".into(), "d".into()]);
    assert!(shard.take_prepared().is_empty());
    assert_eq!(shard.select(|_| true).len(), 4);
}
