//! The transitions, one test for each rule; KIP-98, KIP-360, KIP-890; H12, H15.

use std::sync::Arc;

use super::*;

const NOW: i64 = 1000;
const LATER: i64 = 2000;
const NEW_ID: i64 = 900;

fn transaction(state: TransactionState, producer_epoch: i16) -> Transaction {
    Transaction {
        producer_epoch,
        state,
        ..Transaction::new(7, 60_000, NOW)
    }
}

fn producer(epoch: i16) -> Producer {
    Producer { id: 7, epoch }
}

fn partition(index: i32) -> TopicPartition {
    (Arc::from("t"), index)
}

#[expect(clippy::unnecessary_wraps, reason = "as the function that it stands for")]
fn new_id() -> Result<i64, ErrorCode> {
    Ok(NEW_ID)
}

fn none_left() -> Result<i64, ErrorCode> {
    Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
}

fn written(decided: Decided) -> Transaction {
    match decided {
        Ok(Step::Write(next)) => next,
        other => panic!("nothing is written: {other:?}"),
    }
}

fn aborted(decided: Decided) -> Transaction {
    match decided {
        Ok(Step::Abort(next)) => next,
        other => panic!("nothing is aborted: {other:?}"),
    }
}

fn init(now: &Transaction, claimed: Option<Producer>) -> Decided {
    init_producer_id(now, claimed, 5_000, LATER, new_id)
}

fn ended(now: &Transaction, epoch: i16, is_commit: bool, version: i16) -> Decided {
    end(now, producer(epoch), is_commit, version, LATER, new_id)
}

#[test]
fn first_init_gives_epoch_0() {
    let next = written(init(&Transaction::new(7, 60_000, NOW), None));
    assert_eq!((next.producer_id, next.producer_epoch), (7, 0));
    assert_eq!((next.state, next.timeout_ms), (TransactionState::Empty, 5_000));
}

#[test]
fn init_of_complete_transaction_raises_the_epoch_and_forgets_the_last() {
    let next = written(init(&transaction(TransactionState::CompleteCommit, 4), None));
    assert_eq!((next.producer_epoch, next.last_producer_epoch), (5, NO_EPOCH));
    assert_eq!((next.start_ms, next.last_update_ms), (NO_TIME, LATER));
}

#[test]
fn init_with_current_epoch_raises_it_and_remembers_the_last() {
    let next = written(init(&transaction(TransactionState::Empty, 4), Some(producer(4))));
    assert_eq!((next.producer_epoch, next.last_producer_epoch), (5, 4));
    let again = written(init(&next, Some(producer(4))));
    assert_eq!(
        (again.producer_epoch, again.last_producer_epoch),
        (5, 4),
        "a repeated request"
    );
}

#[test]
fn init_with_older_epoch_is_fenced() {
    let now = transaction(TransactionState::Empty, 4);
    assert_eq!(init(&now, Some(producer(2))), Err(ErrorCode::PRODUCER_FENCED));
    let ongoing = transaction(TransactionState::Ongoing, 4);
    assert_eq!(
        init(&ongoing, Some(producer(3))),
        Err(ErrorCode::PRODUCER_FENCED),
        "a zombie aborts nothing"
    );
}

#[test]
fn init_of_another_producer_id_is_fenced() {
    let now = transaction(TransactionState::Empty, 4);
    let claimed = Some(Producer { id: 8, epoch: 4 });
    assert_eq!(init(&now, claimed), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn init_with_used_up_previous_producer_id_is_taken() {
    let mut now = transaction(TransactionState::Empty, 0);
    now.previous_producer_id = 6;
    now.last_producer_epoch = i16::MAX - 1;
    let claimed = Producer {
        id: 6,
        epoch: i16::MAX - 1,
    };
    let next = written(init(&now, Some(claimed)));
    assert_eq!(
        (next.producer_id, next.producer_epoch),
        (7, 0),
        "the answer that was lost"
    );
}

#[test]
fn init_of_open_transaction_aborts_it_with_a_raised_epoch() {
    let next = aborted(init(&transaction(TransactionState::Ongoing, 4), None));
    assert_eq!((next.state, next.producer_epoch), (TransactionState::PrepareAbort, 5));
    assert!(next.is_version_2(), "the marker's epoch must be above that of the data");
}

#[test]
fn init_while_markers_are_written_is_concurrent() {
    for state in [TransactionState::PrepareCommit, TransactionState::PrepareAbort] {
        assert_eq!(
            init(&transaction(state, 4), None),
            Err(ErrorCode::CONCURRENT_TRANSACTIONS)
        );
    }
}

#[test]
fn init_with_used_up_epochs_takes_a_new_producer_id() {
    let now = transaction(TransactionState::CompleteAbort, i16::MAX - 1);
    let next = written(init(&now, None));
    assert_eq!((next.producer_id, next.producer_epoch), (NEW_ID, 0));
    assert_eq!(next.previous_producer_id, 7);
    let refused = init_producer_id(&now, None, 5_000, LATER, none_left);
    assert_eq!(refused, Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
}

#[test]
fn added_partition_begins_the_transaction() {
    let now = transaction(TransactionState::CompleteCommit, 4);
    let next = written(add_partitions(&now, producer(4), [partition(0)].into_iter(), LATER));
    assert_eq!((next.state, next.start_ms), (TransactionState::Ongoing, LATER));
    let more = written(add_partitions(
        &next,
        producer(4),
        [partition(1)].into_iter(),
        LATER + 1,
    ));
    assert_eq!((more.start_ms, more.partitions.len()), (LATER, 2));
}

#[test]
fn added_partition_that_is_there_changes_nothing() {
    let now = transaction(TransactionState::Empty, 4);
    let next = written(add_partitions(&now, producer(4), [partition(0)].into_iter(), LATER));
    let again = add_partitions(&next, producer(4), [partition(0)].into_iter(), LATER);
    assert_eq!(again, Ok(Step::Nothing));
}

#[test]
fn added_partition_of_another_producer_is_refused() {
    let now = transaction(TransactionState::Ongoing, 4);
    let add = |id, epoch| add_partitions(&now, Producer { id, epoch }, [partition(0)].into_iter(), LATER);
    assert_eq!(add(8, 4), Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
    assert_eq!(add(7, 3), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(add(7, 5), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn added_partition_while_markers_are_written_is_concurrent() {
    for state in [TransactionState::PrepareCommit, TransactionState::PrepareAbort] {
        let decided = add_partitions(&transaction(state, 4), producer(4), [partition(0)].into_iter(), LATER);
        assert_eq!(decided, Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    }
}

#[test]
fn added_partition_with_the_last_epoch_is_fenced() {
    let now = transaction(TransactionState::CompleteAbort, i16::MAX);
    let decided = add_partitions(&now, producer(i16::MAX), [partition(0)].into_iter(), LATER);
    assert_eq!(decided, Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn verified_partition_must_be_in_the_transaction() {
    let mut now = transaction(TransactionState::Ongoing, 4);
    now.partitions.insert(partition(0));
    let codes = verify(&now, producer(4), [partition(0), partition(1)].into_iter());
    assert_eq!(codes, Ok(vec![ErrorCode::NONE, ErrorCode::TRANSACTION_ABORTABLE]));
    let fenced = verify(&now, producer(3), [partition(0)].into_iter());
    assert_eq!(fenced, Err(ErrorCode::PRODUCER_FENCED));
    now.state = TransactionState::PrepareCommit;
    let ending = verify(&now, producer(4), [partition(0)].into_iter());
    assert_eq!(ending, Err(ErrorCode::CONCURRENT_TRANSACTIONS));
}

#[test]
fn commit_of_version_0_keeps_the_epoch() {
    let next = written(ended(&transaction(TransactionState::Ongoing, 4), 4, true, 0));
    assert_eq!((next.state, next.producer_epoch), (TransactionState::PrepareCommit, 4));
    let done = complete(&next, LATER).unwrap();
    assert_eq!((done.state, done.producer_epoch), (TransactionState::CompleteCommit, 4));
    assert_eq!(ended(&done, 4, true, 0), Ok(Step::Nothing), "a repeated commit");
    assert_eq!(ended(&done, 4, false, 0), Err(ErrorCode::INVALID_TXN_STATE));
}

#[test]
fn commit_of_version_2_raises_the_epoch() {
    let next = written(ended(&transaction(TransactionState::Ongoing, 4), 4, true, 2));
    assert_eq!((next.producer_epoch, next.last_producer_epoch), (5, 4));
    assert_eq!(
        ended(&next, 4, true, 2),
        Err(ErrorCode::CONCURRENT_TRANSACTIONS),
        "a repeated commit"
    );
    for is_commit in [true, false] {
        let following = ended(&next, 5, is_commit, 2);
        assert_eq!(
            following,
            Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            "the next transaction's"
        );
    }
    assert_eq!(ended(&next, 3, true, 2), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(ended(&next, 6, true, 2), Err(ErrorCode::PRODUCER_FENCED));
    let done = complete(&next, LATER).unwrap();
    assert_eq!(ended(&done, 4, true, 2), Ok(Step::Nothing), "a repeated commit");
    assert_eq!(
        ended(&done, 4, false, 2),
        Err(ErrorCode::INVALID_TXN_STATE),
        "with the other result"
    );
    assert_eq!(ended(&done, 3, true, 2), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(
        ended(&done, 5, true, 2),
        Err(ErrorCode::INVALID_TXN_STATE),
        "nothing to commit"
    );
}

#[test]
fn commit_of_version_2_with_used_up_epochs_changes_the_producer_id_at_its_end() {
    let last = i16::MAX - 1;
    let next = written(ended(&transaction(TransactionState::Ongoing, last), last, true, 2));
    assert_eq!(
        (next.producer_id, next.next_producer_id, next.producer_epoch),
        (7, NEW_ID, i16::MAX)
    );
    let following = Producer { id: NEW_ID, epoch: 0 };
    let concurrent = Some(ErrorCode::CONCURRENT_TRANSACTIONS);
    assert_eq!(end(&next, following, false, 2, LATER, new_id).err(), concurrent);
    let again = init_producer_id(&next, Some(following), 60_000, LATER, new_id);
    assert_eq!(again.err(), concurrent);
    let partitions = [partition(0)];
    assert_eq!(
        add_partitions(&next, following, partitions.iter().cloned(), LATER).err(),
        concurrent
    );
    assert_eq!(verify(&next, following, partitions.into_iter()).err(), concurrent);
    let done = complete(&next, LATER).unwrap();
    assert_eq!(
        (done.producer_id, done.previous_producer_id, done.producer_epoch),
        (NEW_ID, 7, 0)
    );
    assert_eq!(ended(&done, last, true, 2), Ok(Step::Nothing), "a repeated commit");
}

#[test]
fn abort_of_version_2_without_partitions_raises_the_epoch() {
    for state in [
        TransactionState::Empty,
        TransactionState::CompleteCommit,
        TransactionState::CompleteAbort,
    ] {
        let next = written(ended(&transaction(state, 4), 4, false, 2));
        assert_eq!((next.state, next.producer_epoch), (TransactionState::PrepareAbort, 5));
        assert_eq!(next.start_ms, LATER);
    }
    let empty = transaction(TransactionState::Empty, 4);
    assert_eq!(
        ended(&empty, 4, true, 2),
        Err(ErrorCode::INVALID_TXN_STATE),
        "a commit of nothing"
    );
    assert_eq!(
        ended(&empty, 4, false, 0),
        Err(ErrorCode::INVALID_TXN_STATE),
        "version 0"
    );
}

#[test]
fn end_with_the_other_result_is_refused_while_markers_are_written() {
    for (state, is_commit) in [
        (TransactionState::PrepareCommit, false),
        (TransactionState::PrepareAbort, true),
    ] {
        let decided = ended(&transaction(state, 4), 4, is_commit, 0);
        assert_eq!(decided, Err(ErrorCode::INVALID_TXN_STATE));
    }
}

#[test]
fn end_of_another_producer_is_refused() {
    let now = transaction(TransactionState::Ongoing, 4);
    let other = end(&now, Producer { id: 8, epoch: 4 }, true, 0, LATER, new_id);
    assert_eq!(other, Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
    assert_eq!(ended(&now, 3, true, 0), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(ended(&now, 5, true, 0), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn timeout_fences_the_producer() {
    let mut now = transaction(TransactionState::Ongoing, 4);
    now.start_ms = NOW;
    assert!(!now.is_timed_out(NOW + 60_000));
    assert!(now.is_timed_out(NOW + 60_001));
    let next = fence(&now, LATER);
    assert_eq!((next.state, next.producer_epoch), (TransactionState::PrepareAbort, 5));
    let done = complete(&next, LATER).unwrap();
    assert_eq!(
        ended(&done, 4, true, 0),
        Err(ErrorCode::PRODUCER_FENCED),
        "a late commit"
    );
    assert_eq!(
        ended(&done, 4, false, 0),
        Err(ErrorCode::PRODUCER_FENCED),
        "a late abort"
    );
    let commit = ended(&done, 4, true, 2);
    assert_eq!(commit, Err(ErrorCode::INVALID_TXN_STATE), "a late commit of version 2");
    assert_eq!(
        ended(&done, 4, false, 2),
        Ok(Step::Nothing),
        "a late abort of version 2"
    );
    let late = add_partitions(&done, producer(4), [partition(0)].into_iter(), LATER);
    assert_eq!(late, Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn only_a_decided_transaction_completes() {
    for state in TransactionState::ALL {
        assert_eq!(
            complete(&transaction(state, 4), LATER).is_some(),
            state.is_prepared(),
            "{state:?}"
        );
    }
}

#[test]
fn id_expires_when_no_transaction_is_open() {
    for state in TransactionState::ALL {
        let may = matches!(
            state,
            TransactionState::Empty | TransactionState::CompleteCommit | TransactionState::CompleteAbort
        );
        assert_eq!(transaction(state, 4).is_expired(NOW + 500, 500), may, "{state:?}");
        assert!(!transaction(state, 4).is_expired(NOW + 499, 500), "{state:?}");
    }
}
