//! What a batch is told, and what it changes. Kafka's rules: `ProducerAppendInfo`, `ProducerStateManager`.

mod naive;
mod snapshots;

use super::entry::NO_SEQUENCE;
use super::*;
use crate::topic_partition::TopicPartition;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use record::{BatchHeader, ControlRecord, ControlType, Origin};

const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
const NOW_MS: i64 = 1_700_000_000_000;

fn data(producer_id: i64, epoch: i16, sequence: i32, count: i32, base_offset: i64) -> BatchHeader {
    BatchHeader {
        base_offset: Offset(base_offset),
        batch_length: 100,
        partition_leader_epoch: LeaderEpoch(0),
        magic: 2,
        crc: 0,
        attributes: 0,
        last_offset_delta: count - 1,
        base_timestamp: NOW_MS,
        max_timestamp: NOW_MS,
        producer_id,
        producer_epoch: epoch,
        base_sequence: sequence,
        record_count: count,
    }
}

fn in_txn(header: BatchHeader) -> BatchHeader {
    BatchHeader {
        attributes: header.attributes | TRANSACTIONAL,
        ..header
    }
}

fn marker(producer_id: i64, epoch: i16, base_offset: i64) -> BatchHeader {
    BatchHeader {
        attributes: TRANSACTIONAL | CONTROL,
        ..data(producer_id, epoch, NO_SEQUENCE, 1, base_offset)
    }
}

fn end(control_type: ControlType, coordinator_epoch: i32) -> ControlRecord {
    ControlRecord {
        control_type,
        coordinator_epoch,
    }
}

fn partition() -> TopicPartition {
    TopicPartition::new("flights", 3)
}

fn unverified() -> ProducerState {
    ProducerState::new(ProducerStateConfig {
        is_transaction_verification_enabled: false,
        ..Default::default()
    })
}

fn check(state: &ProducerState, header: &BatchHeader) -> Result<Check, ErrorCode> {
    check_from(state, header, Origin::Client)
}

fn check_from(state: &ProducerState, header: &BatchHeader, origin: Origin) -> Result<Check, ErrorCode> {
    state
        .check(&Candidate::data(header, origin, &partition()))
        .map_err(|rejection| rejection.code)
}

fn check_marker(
    state: &ProducerState,
    header: &BatchHeader,
    coordinator_epoch: i32,
    version: i16,
) -> Result<Check, ErrorCode> {
    let partition = partition();
    let candidate = Candidate {
        control: Some(end(ControlType::Commit, coordinator_epoch)),
        transaction_version: version,
        ..Candidate::data(header, Origin::Coordinator, &partition)
    };
    state.check(&candidate).map_err(|rejection| rejection.code)
}

/// Checks and appends.
fn append(state: &mut ProducerState, header: &BatchHeader) {
    assert_eq!(check(state, header), Ok(Check::Append), "{header:?}");
    assert_eq!(state.update(header, None), None);
}

const APPEND: Result<Check, ErrorCode> = Ok(Check::Append);
const OUT_OF_ORDER: Result<Check, ErrorCode> = Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
const STALE_EPOCH: Result<Check, ErrorCode> = Err(ErrorCode::INVALID_PRODUCER_EPOCH);
const INVALID_TXN: Result<Check, ErrorCode> = Err(ErrorCode::INVALID_TXN_STATE);

#[test]
fn batches_without_producer_id_pass_and_leave_nothing_behind() {
    let mut state = unverified();
    append(&mut state, &data(-1, -1, -1, 10, 0));
    append(&mut state, &data(-1, -1, -1, 10, 10));
    assert_eq!((state.producer_id_count(), state.map_end_offset()), (0, Offset(20)));
    assert!(state.is_empty() && state.producers.capacity() == 0 && state.snapshots.capacity() == 0);
}

#[test]
fn an_empty_state_is_small() {
    assert!(size_of::<ProducerState>() <= 320, "{}", size_of::<ProducerState>());
}

#[test]
fn the_last_five_batches_are_recognised_and_older_ones_are_out_of_order() {
    let mut state = unverified();
    for at in 0..7 {
        append(&mut state, &data(1, 0, at * 10, 10, 100 + i64::from(at) * 10));
    }
    for at in 2..7 {
        let base_offset = 100 + i64::from(at) * 10;
        let expected = Check::Duplicate {
            base_offset: Offset(base_offset),
            last_offset: Offset(base_offset + 9),
            timestamp: NOW_MS,
        };
        assert_eq!(check(&state, &data(1, 0, at * 10, 10, 170)), Ok(expected), "batch {at}");
    }
    for at in 0..2 {
        assert_eq!(check(&state, &data(1, 0, at * 10, 10, 170)), OUT_OF_ORDER, "batch {at}");
    }
    assert_eq!(
        check(&state, &data(1, 0, 60, 9, 170)),
        OUT_OF_ORDER,
        "same start, other length"
    );
    assert_eq!(
        check(&state, &data(1, 1, 60, 10, 170)),
        OUT_OF_ORDER,
        "same sequences, next epoch"
    );
}

#[test]
fn sequences_follow_on_and_wrap() {
    let mut state = unverified();
    append(&mut state, &data(1, 0, i32::MAX - 4, 5, 0));
    assert_eq!(state.entry(1).unwrap().last_sequence(), i32::MAX);
    assert_eq!(check(&state, &data(1, 0, 1, 1, 5)), OUT_OF_ORDER);
    append(&mut state, &data(1, 0, 0, 3, 5));

    let mut state = unverified();
    append(&mut state, &data(1, 0, i32::MAX - 1, 5, 0));
    assert_eq!(state.entry(1).unwrap().last_sequence(), 2, "a batch may wrap inside");
    let expected = Check::Duplicate {
        base_offset: Offset(0),
        last_offset: Offset(4),
        timestamp: NOW_MS,
    };
    assert_eq!(check(&state, &data(1, 0, i32::MAX - 1, 5, 5)), Ok(expected));
    assert_eq!(check(&state, &data(1, 0, 4, 1, 5)), OUT_OF_ORDER, "a gap");
    append(&mut state, &data(1, 0, 3, 1, 5));
}

// KIP-360, H10
#[test]
fn an_unknown_producer_may_start_anywhere_and_a_new_epoch_only_at_zero() {
    let mut state = unverified();
    append(&mut state, &data(1, 5, 77, 1, 0));
    assert_eq!(check(&state, &data(1, 6, 78, 1, 1)), OUT_OF_ORDER);
    assert_eq!(check(&state, &data(1, 4, 78, 1, 1)), STALE_EPOCH);
    append(&mut state, &data(1, 6, 0, 1, 1));
    assert_eq!(check(&state, &data(1, 5, 78, 1, 2)), STALE_EPOCH);
    assert_eq!(
        state.entry(1).unwrap().batches.as_slice().len(),
        1,
        "the old epoch's batches are forgotten"
    );
}

#[test]
fn refusals_name_producer_partition_and_sequence_numbers() {
    let mut state = unverified();
    append(&mut state, &data(9, 1, 0, 1, 0));
    let (header, partition) = (data(9, 1, 5, 1, 1), partition());
    let rejection = state
        .check(&Candidate::data(&header, Origin::Client, &partition))
        .unwrap_err();
    assert_eq!(
        rejection.message,
        "Out of order sequence number for producer 9 at offset 1 in partition flights-3: 5 (incoming seq. number), 0 \
         (current end sequence number)"
    );
}

#[test]
fn coordinators_have_no_sequences_but_epochs() {
    let mut state = unverified();
    append(&mut state, &data(1, 3, 0, 1, 0));
    let without_sequence = data(1, 3, NO_SEQUENCE, 2, 1);
    assert_eq!(check_from(&state, &without_sequence, Origin::Coordinator), APPEND);
    assert_eq!(
        check_from(&state, &data(1, 2, NO_SEQUENCE, 2, 1), Origin::Coordinator),
        STALE_EPOCH
    );
    assert_eq!(
        check_from(&state, &data(1, 2, 50, 2, 1), Origin::Replication),
        APPEND,
        "the leader has judged it"
    );
}

#[test]
fn a_transaction_keeps_the_last_stable_offset_until_its_marker_is_replicated() {
    let mut state = unverified();
    append(&mut state, &in_txn(data(1, 0, 0, 5, 10)));
    append(&mut state, &in_txn(data(2, 0, 0, 5, 15)));
    append(&mut state, &in_txn(data(1, 0, 5, 5, 20)));
    assert_eq!(state.first_unstable_offset(Offset(25)), Some(Offset(10)));
    assert!(state.has_ongoing_transaction(1, 0) && !state.has_ongoing_transaction(1, 1));

    let ended = state.update(&marker(1, 0, 25), Some(end(ControlType::Abort, 0)));
    let expected = CompletedTxn {
        producer_id: 1,
        first_offset: Offset(10),
        last_offset: Offset(25),
        is_aborted: true,
        last_stable_offset: Offset(15),
    };
    assert_eq!(ended, Some(expected));
    assert_eq!(state.first_undecided_offset(), Some(Offset(15)));
    assert_eq!(
        state.first_unstable_offset(Offset(25)),
        Some(Offset(10)),
        "the marker is above the high watermark"
    );
    assert_eq!(state.first_unstable_offset(Offset(26)), Some(Offset(15)));

    let ended = state
        .update(&marker(2, 0, 26), Some(end(ControlType::Commit, 0)))
        .unwrap();
    assert_eq!((ended.is_aborted, ended.last_stable_offset), (false, Offset(27)));
    state.on_high_watermark(Offset(26));
    assert_eq!(state.first_unstable_offset(Offset(26)), Some(Offset(15)));
    assert!(!state.transactions.is_replicated());
    state.on_high_watermark(Offset(27));
    assert_eq!(state.first_unstable_offset(Offset(27)), None);
    assert!(state.transactions.is_replicated());
}

#[test]
fn a_marker_without_records_here_completes_nothing() {
    let mut state = unverified();
    assert_eq!(state.update(&marker(1, 4, 0), Some(end(ControlType::Commit, 2))), None);
    assert_eq!(state.entry(1).unwrap().producer_epoch, 4);
    assert_eq!(state.update(&marker(1, 4, 1), None), None, "an empty control batch");
    assert_eq!(
        state.update(&marker(1, 4, 2), Some(end(ControlType::Other(5), -1))),
        None
    );
    assert_eq!(
        (state.first_undecided_offset(), state.map_end_offset()),
        (None, Offset(3))
    );
}

#[test]
fn a_producer_with_an_open_transaction_writes_nothing_outside_of_it() {
    let mut state = unverified();
    append(&mut state, &in_txn(data(1, 0, 0, 1, 0)));
    assert_eq!(check(&state, &data(1, 0, 1, 1, 1)), INVALID_TXN);
    state.update(&marker(1, 0, 1), Some(end(ControlType::Commit, 0)));
    append(&mut state, &data(1, 0, 1, 1, 2));
}

#[test]
fn markers_come_from_no_older_coordinator_and_no_older_epoch() {
    let mut state = unverified();
    append(&mut state, &in_txn(data(1, 3, 0, 1, 0)));
    assert_eq!(check_marker(&state, &marker(1, 3, 1), 5, 0), APPEND);
    assert_eq!(check_marker(&state, &marker(1, 2, 1), 5, 0), STALE_EPOCH);
    state.update(&marker(1, 3, 1), Some(end(ControlType::Commit, 5)));
    let fenced = Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED);
    assert_eq!(check_marker(&state, &marker(1, 3, 2), 4, 0), fenced);
    assert_eq!(check_marker(&state, &marker(1, 3, 2), 5, 0), APPEND);
}

// KIP-890
#[test]
fn markers_of_version_2_must_raise_the_epoch_unless_they_are_sent_again() {
    let mut state = unverified();
    append(&mut state, &in_txn(data(1, 3, 0, 1, 0)));
    assert_eq!(
        check_marker(&state, &marker(1, 3, 1), 0, 2),
        STALE_EPOCH,
        "it would end a transaction that goes on"
    );
    assert_eq!(check_marker(&state, &marker(1, 4, 1), 0, 2), APPEND);
    state.update(&marker(1, 4, 1), Some(end(ControlType::Commit, 0)));
    assert_eq!(check_marker(&state, &marker(1, 4, 2), 0, 2), APPEND, "sent again");
    assert_eq!(check_marker(&state, &marker(1, 3, 2), 0, 2), STALE_EPOCH);
    assert_eq!(
        check(&state, &data(1, 4, 1, 1, 2)),
        OUT_OF_ORDER,
        "the new epoch starts at 0"
    );
    append(&mut state, &data(1, 4, 0, 1, 2));
}

// KIP-890
#[test]
fn a_transaction_begins_only_with_the_guard_of_its_verification() {
    let mut state = ProducerState::new(ProducerStateConfig::default());
    let (first, partition) = (in_txn(data(1, 0, 0, 1, 0)), partition());
    let with = |guard| Candidate {
        guard,
        ..Candidate::data(&first, Origin::Client, &partition)
    };
    let judge = |state: &ProducerState, guard| state.check(&with(guard)).map_err(|rejection| rejection.code);
    assert_eq!(judge(&state, VerificationGuard::SENTINEL), INVALID_TXN);

    let outdated = state.begin_verification(&first, false, NOW_MS).unwrap();
    assert_eq!(judge(&state, outdated), APPEND);
    assert_eq!(
        state.begin_verification(&first, false, NOW_MS),
        Ok(outdated),
        "one guard until it is used"
    );
    state.update(&marker(1, 0, 0), Some(end(ControlType::Abort, 0)));
    assert_eq!(judge(&state, outdated), INVALID_TXN, "the marker came in between");

    let guard = state.begin_verification(&first, false, NOW_MS).unwrap();
    assert_ne!(guard, outdated);
    assert_eq!(judge(&state, guard), APPEND);
    state.update(&first, None);
    let second = in_txn(data(1, 0, 1, 1, 1));
    assert_eq!(
        state.begin_verification(&second, false, NOW_MS),
        Ok(VerificationGuard::SENTINEL)
    );
    append(&mut state, &second);
    let fenced = state
        .begin_verification(&in_txn(data(1, -1, 0, 1, 2)), false, NOW_MS)
        .unwrap_err();
    assert_eq!(fenced.code, ErrorCode::INVALID_PRODUCER_EPOCH);
}

#[test]
fn no_batch_overtakes_one_that_is_being_verified() {
    let mut state = ProducerState::new(ProducerStateConfig::default());
    let partition = partition();
    let (first, second) = (in_txn(data(1, 0, 3, 1, 0)), in_txn(data(1, 0, 4, 1, 0)));
    state.begin_verification(&second, false, NOW_MS).unwrap();
    let guard = state.begin_verification(&first, false, NOW_MS).unwrap();
    let judge = |header| {
        let candidate = Candidate {
            guard,
            ..Candidate::data(header, Origin::Client, &partition)
        };
        state.check(&candidate).map_err(|rejection| rejection.code)
    };
    assert_eq!(judge(&second), OUT_OF_ORDER);
    assert_eq!(judge(&first), APPEND);

    let mut state = ProducerState::new(ProducerStateConfig::default());
    let guard = state.begin_verification(&first, true, NOW_MS).unwrap();
    let candidate = Candidate {
        guard,
        ..Candidate::data(&first, Origin::Client, &partition)
    };
    let code = state.check(&candidate).map_err(|rejection| rejection.code);
    assert_eq!(
        code, OUT_OF_ORDER,
        "clients of version 2 start at 0 where nothing is known of them"
    );
}

#[test]
fn idle_producers_expire_but_not_with_an_open_transaction() {
    let config = ProducerStateConfig {
        producer_id_expiration_ms: 1000,
        ..unverified().config
    };
    let mut state = ProducerState::new(config);
    append(&mut state, &data(1, 0, 0, 1, 0));
    append(&mut state, &in_txn(data(2, 0, 0, 1, 1)));
    state.remove_expired(NOW_MS + 999);
    assert_eq!(state.producer_id_count(), 2);
    state.remove_expired(NOW_MS + 1000);
    assert!(state.entry(1).is_none() && state.entry(2).is_some());
    append(&mut state, &data(1, 0, 55, 1, 2));
    state.update(&marker(2, 0, 3), Some(end(ControlType::Abort, 0)));
    state.remove_expired(NOW_MS + 1000);
    assert_eq!(state.producers.capacity(), 0, "nothing is left");
}

#[test]
fn the_log_start_moves_the_maps_end_but_forgets_no_producer() {
    let mut state = unverified();
    append(&mut state, &data(1, 0, 0, 1, 0));
    state.on_log_start_offset_incremented(Offset(50));
    assert_eq!((state.map_end_offset(), state.producer_id_count()), (Offset(50), 1));
    append(&mut state, &data(1, 0, 1, 1, 50));
}
