//! Appends: offsets, bytes, refusals, duplicates, and what a failing disk leaves.

use std::sync::Arc;

use super::AppendError;
use crate::Log;
use crate::testing::{Bench, START_MS, append_batch, batch, marker, producer_batch, read_all};
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::error::{Error, ErrorCode};
use base::place::{LeaderEpoch, Offset};
use record::{Batch, Batches, Origin, TimestampType};

fn bytes_of(bench: &Bench) -> Vec<u8> {
    std::fs::read(bench.file(0, ".log")).unwrap()
}

#[test]
fn batches_get_the_next_offsets_and_the_leaders_epoch() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    let first = append_batch(&mut log, batch(START_MS, 3, 10), 7);
    let second = append_batch(&mut log, batch(START_MS, 2, 10), 8);
    assert_eq!(
        (first.first_offset, first.last_offset, first.log_append_time_ms),
        (Offset(0), Offset(2), -1)
    );
    assert_eq!(
        (second.first_offset, second.last_offset, second.is_duplicate),
        (Offset(3), Offset(4), false)
    );
    assert_eq!(log.log_end_offset(), Offset(5));
    let bytes = bytes_of(&bench);
    let headers: Vec<_> = Batches::new(&bytes).map(|it| *it.unwrap().header()).collect();
    assert_eq!(
        headers
            .iter()
            .map(|it| (it.base_offset, it.partition_leader_epoch.get()))
            .collect::<Vec<_>>(),
        [(Offset(0), 7), (Offset(3), 8)]
    );
    let epochs: Vec<_> = log
        .epochs()
        .entries()
        .iter()
        .map(|it| (it.epoch.get(), it.start_offset))
        .collect();
    assert_eq!(epochs, [(7, Offset(0)), (8, Offset(3))]);
    assert_eq!(log.size_bytes(), bytes.len() as u64);
}

#[test]
fn log_append_time_stamps_the_batch_and_keeps_its_crc_right() {
    let bench = Bench::new(&[("message.timestamp.type", "LogAppendTime")]);
    let mut log = bench.create();
    let now = START_MS + 5000;
    let appended = log
        .append_as_leader(&mut batch(START_MS, 2, 10), LeaderEpoch(0), Origin::Client, now)
        .unwrap();
    assert_eq!(appended.log_append_time_ms, now);
    let bytes = bytes_of(&bench);
    let (batch, _) = Batch::split_first(&bytes).unwrap().unwrap();
    batch.verify_crc().unwrap();
    assert_eq!(
        (batch.header().timestamp_type(), batch.header().max_timestamp),
        (TimestampType::LogAppendTime, now)
    );
}

#[test]
fn a_refused_batch_leaves_no_trace() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    log.materialise().unwrap();
    let mut bad = batch(START_MS, 1, 10);
    bad[70] ^= 1;
    let error = log
        .append_as_leader(&mut bad, LeaderEpoch(0), Origin::Client, START_MS)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::CORRUPT_MESSAGE);
    assert_eq!((log.log_end_offset(), bytes_of(&bench).len()), (Offset(0), 0));
}

#[test]
fn a_batch_larger_than_a_segment_is_refused() {
    let bench = Bench::new(&[("segment.bytes", "500")]);
    let mut log = bench.create();
    let error = log
        .append_as_leader(&mut batch(START_MS, 1, 1000), LeaderEpoch(0), Origin::Client, START_MS)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::RECORD_LIST_TOO_LARGE);
}

#[test]
fn a_retried_batch_is_answered_with_its_first_offsets_and_not_written_again() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    let first = append_batch(&mut log, producer_batch(START_MS, 9, 0, false), 0);
    append_batch(&mut log, producer_batch(START_MS, 9, 1, false), 0);
    let again = append_batch(&mut log, producer_batch(START_MS, 9, 0, false), 0);
    assert_eq!((again.first_offset, again.is_duplicate), (first.first_offset, true));
    assert_eq!(log.log_end_offset(), Offset(2));
    let gap = log
        .append_as_leader(
            &mut producer_batch(START_MS, 9, 5, false),
            LeaderEpoch(0),
            Origin::Client,
            START_MS,
        )
        .unwrap_err();
    assert_eq!(gap.code(), ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
}

#[test]
fn an_aborted_transaction_is_found_by_readers_of_its_range_across_segments() {
    let bench = Bench::new(&[]);
    let mut log = bench.create();
    bench.append(&mut log, 1, 10);
    append_batch(&mut log, producer_batch(START_MS, 9, 0, true), 0);
    assert_eq!(log.last_stable_offset(Offset(2)), Offset(1), "the transaction is open");
    log.roll(START_MS).unwrap();
    marker(&mut log, 9, false, START_MS);
    bench.append(&mut log, 1, 10);
    assert_eq!(log.last_stable_offset(Offset(4)), Offset(4));
    let aborted = log.aborted_transactions(Offset(0), Offset(4)).unwrap();
    assert_eq!(
        aborted
            .iter()
            .map(|it| (it.producer_id, it.first_offset))
            .collect::<Vec<_>>(),
        [(9, Offset(1))]
    );
    assert!(log.aborted_transactions(Offset(3), Offset(4)).unwrap().is_empty());
    drop(log);
    let log = bench.reopen(0).unwrap();
    assert_eq!(
        log.aborted_transactions(Offset(0), Offset(4)).unwrap(),
        aborted,
        "rebuilt by recovery"
    );
}

#[test]
fn a_follower_keeps_offsets_and_epochs_and_leaves_out_a_cut_batch() {
    let (leader, follower) = (Bench::new(&[]), Bench::new(&[]));
    let mut log = leader.create();
    for epoch in [3, 3, 5] {
        append_batch(&mut log, batch(START_MS, 2, 10), epoch);
    }
    let bytes = bytes_of(&leader);
    let mut copy = follower.create();
    let last = copy.append_as_follower(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!((last, copy.log_end_offset()), (Some(Offset(3)), Offset(4)));
    let rest = &bytes[bytes.len() / 3 * 2..];
    assert_eq!(copy.append_as_follower(rest).unwrap(), Some(Offset(5)));
    assert_eq!(bytes_of(&follower), bytes);
    assert_eq!(copy.epochs().entries(), log.epochs().entries());
    let again = copy.append_as_follower(rest).unwrap_err();
    assert_eq!(again.code(), ErrorCode::CORRUPT_MESSAGE, "it has these already");
}

// H26
#[test]
fn a_follower_takes_nothing_where_a_bit_has_changed_on_the_way() {
    let (leader, follower) = (Bench::new(&[]), Bench::new(&[]));
    let mut log = leader.create();
    for _ in 0..2 {
        append_batch(&mut log, batch(START_MS, 2, 10), 3);
    }
    let mut bytes = bytes_of(&leader);
    *bytes.last_mut().unwrap() ^= 1;
    let mut copy = follower.create();
    let refused = copy.append_as_follower(&bytes).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CORRUPT_MESSAGE);
    assert_eq!(copy.log_end_offset(), Offset(0), "not the sound batch before it either");
}

// H16: DeleteRecords may leave a leader's start within a batch.
#[test]
fn an_empty_log_keeps_its_start_within_the_first_batch_and_another_takes_none_that_it_has_a_part_of() {
    let (leader, follower) = (Bench::new(&[]), Bench::new(&[]));
    let mut log = leader.create();
    for _ in 0..2 {
        append_batch(&mut log, batch(START_MS, 10, 10), 3);
    }
    let bytes = bytes_of(&leader);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut copy = follower.create();
    copy.truncate_fully_and_start_at(Offset(4)).unwrap();
    assert_eq!(
        copy.append_as_follower(second).unwrap(),
        Some(Offset(19)),
        "a gap, as of compaction"
    );
    copy.truncate_fully_and_start_at(Offset(4)).unwrap();
    assert_eq!(copy.append_as_follower(first).unwrap(), Some(Offset(9)));
    assert_eq!(
        (copy.log_start_offset(), copy.log_end_offset()),
        (Offset(4), Offset(10))
    );
    copy.truncate_fully_and_start_at(Offset(0)).unwrap();
    copy.append_as_leader(&mut batch(START_MS, 4, 10), LeaderEpoch(3), Origin::Client, START_MS)
        .unwrap();
    let refused = copy.append_as_follower(first).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CORRUPT_MESSAGE);
    assert_eq!((copy.log_start_offset(), copy.log_end_offset()), (Offset(0), Offset(4)));
}

#[test]
fn a_failed_write_is_cut_off_and_the_next_one_succeeds() {
    for fault in [Fault::ShortWrite, Fault::NoSpace, Fault::InputOutput] {
        let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
        let bench = Bench::on(Arc::new(disk.clone()), &[]);
        let mut log = bench.create();
        bench.append(&mut log, 1, 10);
        disk.arm("write:.log", 1, fault);
        let error = log
            .append_as_leader(&mut batch(START_MS, 1, 10), LeaderEpoch(0), Origin::Client, START_MS)
            .unwrap_err();
        assert!(matches!(error, AppendError::Storage(Error::Io { .. })), "{error:?}");
        assert_eq!(error.code(), ErrorCode::KAFKA_STORAGE_ERROR);
        assert!(!log.is_poisoned());
        bench.append(&mut log, 1, 10);
        assert_eq!(read_all(&log, 0, 2, 1000), [(0, 1), (1, 2)]);
    }
}

#[test]
fn a_failed_write_that_cannot_be_cut_off_poisons_the_log() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    disk.arm("write:.log", 1, Fault::Crash);
    log.append_as_leader(&mut batch(START_MS, 1, 10), LeaderEpoch(0), Origin::Client, START_MS)
        .unwrap_err();
    assert!(log.is_poisoned());
    let error = log
        .append_as_leader(&mut batch(START_MS, 1, 10), LeaderEpoch(0), Origin::Client, START_MS)
        .unwrap_err();
    assert!(
        matches!(error, AppendError::Storage(Error::Poisoned { .. })),
        "{error:?}"
    );
}

#[test]
fn flush_messages_asks_for_a_flush() {
    let bench = Bench::new(&[("flush.messages", "3")]);
    let mut log = bench.create();
    assert!(!bench.append(&mut log, 2, 10).needs_flush);
    assert!(bench.append(&mut log, 1, 10).needs_flush);
    log.flush().unwrap();
    assert!(!bench.append(&mut log, 2, 10).needs_flush);
}

/// Whatever the run that is written at once, segments and indexes are those of batches written one by one.
#[test]
fn follower_that_writes_many_batches_at_once_keeps_what_one_by_one_gives() {
    let configs: [&[(&str, &str)]; 4] = [
        &[],
        &[("segment.bytes", "1500"), ("index.interval.bytes", "100")],
        &[("segment.index.bytes", "36"), ("index.interval.bytes", "0")],
        &[("segment.ms", "20")],
    ];
    for config in configs {
        let (leader_bench, together_bench, single_bench) = (Bench::new(&[]), Bench::new(config), Bench::new(config));
        let mut leader = leader_bench.create();
        let mut bytes = Vec::new();
        for n in 0..200 {
            let mut batch = batch(START_MS + n, 1 + n as usize % 3, 10 + n as usize % 90);
            leader
                .append_as_leader(&mut batch, LeaderEpoch(n as i32 / 50), Origin::Client, START_MS + n)
                .unwrap();
            bytes.extend_from_slice(&batch);
        }
        let mut together = together_bench.create();
        let mut single = single_bench.create();
        let last = together.append_as_follower(&bytes).unwrap();
        for batch in Batches::new(&bytes) {
            single.append_as_follower(batch.unwrap().bytes()).unwrap();
        }
        assert_eq!(last, Some(leader.log_end_offset() - 1));
        assert_eq!(together.log_end_offset(), single.log_end_offset());
        assert_eq!(together.epochs().entries(), single.epochs().entries());
        let end = single.log_end_offset();
        assert_eq!(
            read_all(&together, 0, end.get(), 500),
            read_all(&single, 0, end.get(), 500)
        );
        let sizes = |log: &Log| log.segments().map(|(base, _, size)| (base, size)).collect::<Vec<_>>();
        assert_eq!(sizes(&together), sizes(&single), "{config:?}");
        for time in [START_MS + 10, START_MS + 77, START_MS + 199] {
            let find = |log: &Log| {
                log.lookup_timestamp(time)
                    .unwrap()
                    .resolve()
                    .unwrap()
                    .map(|found| found.offset)
            };
            assert_eq!(find(&together), find(&single));
        }
    }
}
