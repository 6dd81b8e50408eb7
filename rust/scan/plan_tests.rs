//! What is planned, beside logs that are cut, deleted and swapped.

use std::fs;
use std::os::unix::fs::FileExt;

use super::super::testing::*;
use super::super::{Bound, ScanError, ScanRequest, Watermarks, plan_scan};
use super::{EVERY_OTHER, Isolation};
use base::place::Offset;
use storage::format::{CLEANER_OFFSET_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT};

fn thirty(bench: &Bench) {
    let times: Vec<i64> = (0..30).map(|n| START_MS + n).collect();
    fill(bench, &times, 2, 5); // segments from 0, 10, 20
}

fn between(bench: &Bench, start: Bound, end: Bound) -> ScanRequest {
    ScanRequest {
        start: [(EVERY_OTHER, start)].into(),
        end: [(EVERY_OTHER, end)].into(),
        ..request(bench)
    }
}

fn message(result: super::Result<super::PartitionPlan>) -> String {
    result.err().unwrap().to_string()
}

#[track_caller]
fn assert_lost<T>(result: super::Result<T>, start: i64, end: i64) {
    let error = result.err().unwrap();
    assert!(
        matches!(error, ScanError::Lost { from, to, .. } if (from, to) == (Offset(start), Offset(end))),
        "{error}"
    );
}

fn append_bytes(bench: &Bench, base_offset: i64, bytes: &[u8]) {
    let path = bench.file(base_offset, ".log");
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, file.metadata().unwrap().len()).unwrap();
}

#[test]
fn a_bare_copy_is_read_to_its_last_whole_batch() {
    for garbage in [&[0xff_u8; 100][..], &batch(START_MS, 2, 10)[..70], &[0; 200]] {
        let bench = Bench::new(&[]);
        thirty(&bench);
        append_bytes(&bench, 20, garbage);
        let plan = plan(&request(&bench)).unwrap();
        assert_eq!(
            (plan.start_offset, plan.end_offset, plan.end_limit),
            (Offset(0), Offset(30), Offset(30))
        );
        assert_eq!(planned_offsets(&plan), (0..30).collect::<Vec<_>>());
    }
}

#[test]
fn a_last_batch_with_a_bad_checksum_is_not_part_of_a_bare_copy() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    let file = fs::OpenOptions::new().write(true).open(bench.file(20, ".log")).unwrap();
    file.write_all_at(&[0xee], file.metadata().unwrap().len() - 1).unwrap();
    assert_eq!(plan(&request(&bench)).unwrap().end_offset, Offset(28));
}

#[test]
fn nothing_above_the_high_watermark_is_read() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    for (high_watermark, end) in [(0, 0), (14, 14), (15, 14), (20, 20), (30, 30)] {
        write_high_watermark(&bench, high_watermark);
        let plan = plan(&request(&bench)).unwrap();
        assert_eq!(plan.end_offset, Offset(end), "{high_watermark}");
        assert_eq!(planned_offsets(&plan), (0..end).collect::<Vec<_>>());
    }
}

#[test]
fn log_that_ends_below_the_high_watermark_is_lost_from_there_on() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    write_high_watermark(&bench, 99);
    let mut request = request(&bench);
    assert_lost(plan(&request), 30, 99);
    request.ignore_corrupt_batches = true;
    let planned = plan(&request).unwrap();
    assert_eq!(
        (planned.end_offset, &planned.lost[..]),
        (Offset(30), &[(Offset(30), Offset(99))][..])
    );
    let checkpoint = bench.dir.path().join(REPLICATION_OFFSET_CHECKPOINT);
    let written_again = move || write_offsets(&checkpoint, 30);
    let fs = Meddling::when_opened(&bench.file(20, ".log"), written_again);
    request.ignore_corrupt_batches = false;
    let planned = plan_on(&fs, &request).unwrap();
    assert_eq!(
        (planned.end_offset, planned.lost.len()),
        (Offset(30), 0),
        "the checkpoint was of an earlier state"
    );
}

#[test]
fn what_was_cleaned_is_committed_however_old_the_high_watermark_is() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    for (high_watermark, cleaned, end) in [(0, 20, 20), (14, 20, 20), (24, 20, 24)] {
        write_high_watermark(&bench, high_watermark);
        write_checkpoint(&bench, CLEANER_OFFSET_CHECKPOINT, cleaned);
        assert_eq!(
            plan(&request(&bench)).unwrap().end_offset,
            Offset(end),
            "{high_watermark}"
        );
    }
}

#[test]
fn a_plan_below_the_last_sealed_segment_is_overtaken() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    for (high_watermark, is_overtaken) in [(10, true), (19, true), (20, false), (30, false)] {
        let mut request = request(&bench);
        let offset = Offset(high_watermark);
        let told = Watermarks {
            log_start_offset: Offset(0),
            high_watermark: offset,
            last_stable_offset: offset,
        };
        request.watermarks.insert(0, told);
        assert_eq!(plan(&request).unwrap().is_overtaken, is_overtaken, "{high_watermark}");
    }
}

#[test]
fn a_plan_of_files_begins_anew_when_a_cleaner_may_have_passed_its_end() {
    for (written, end) in [(24, 24), (14, 14)] {
        let bench = Bench::new(&[]);
        thirty(&bench);
        write_high_watermark(&bench, 14);
        let checkpoint = bench.dir.path().join(REPLICATION_OFFSET_CHECKPOINT);
        let before_the_first_swap = move || write_offsets(&checkpoint, written);
        let fs = Meddling::when_opened(&bench.file(0, ".log"), before_the_first_swap);
        let planned = plan_on(&fs, &request(&bench)).unwrap();
        assert_eq!((planned.end_offset, planned.is_overtaken), (Offset(end), false));
    }
}

#[test]
fn a_partition_that_the_checkpoint_does_not_name_has_nothing_committed() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    fs::write(bench.dir.path().join(REPLICATION_OFFSET_CHECKPOINT), "").unwrap();
    let plan = plan(&request(&bench)).unwrap();
    assert_eq!((plan.start_offset, plan.end_offset), (Offset(0), Offset(0)));
    assert!(plan.splits(1).unwrap().is_empty());
}

#[test]
fn a_tail_that_is_cut_above_the_high_watermark_does_not_matter_and_below_it_is_named() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    write_high_watermark(&bench, 28);
    let path = bench.file(20, ".log");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    file.set_len(len - 10).unwrap();
    assert_eq!(plan(&request(&bench)).unwrap().end_offset, Offset(28));
    write_high_watermark(&bench, 30);
    let error = plan(&request(&bench)).err().unwrap();
    let batch_len = len / 5;
    assert!(
        matches!(&error, ScanError::CorruptBatch { path: named, position, offset: Offset(28), .. }
            if *named == path && position.get() == len - batch_len),
        "{error}"
    );
}

#[test]
fn offsets_of_a_broker_take_precedence_over_the_checkpoints() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    write_high_watermark(&bench, 4);
    let said = Watermarks {
        log_start_offset: Offset(6),
        high_watermark: Offset(26),
        last_stable_offset: Offset(22),
    };
    let mut request = request(&bench);
    request.watermarks.insert(0, said);
    let open = plan(&request).unwrap();
    assert_eq!((open.start_offset, open.end_offset), (Offset(6), Offset(26)));
    request.isolation = Isolation::ReadCommitted;
    let stable = plan(&request).unwrap();
    assert_eq!((stable.start_offset, stable.end_offset), (Offset(6), Offset(22)));
}

#[test]
fn offsets_below_the_log_start_are_lost() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    write_checkpoint(&bench, LOG_START_OFFSET_CHECKPOINT, 13);
    let mut request = between(&bench, Bound::Offset(Offset(3)), Bound::Latest);
    assert_lost(plan(&request), 3, 13);
    request.fail_on_data_loss = false;
    let plan = plan(&request).unwrap();
    assert_eq!((plan.start_offset, plan.log_start_offset), (Offset(13), Offset(13)));
    assert_eq!(plan.lost, [(Offset(3), Offset(13))]);
    assert_eq!(planned_offsets(&plan), (13..30).collect::<Vec<_>>());
}

#[test]
fn offsets_above_what_can_be_read_are_lost() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    let mut request = between(&bench, Bound::Offset(Offset(3)), Bound::Offset(Offset(40)));
    assert_lost(plan(&request), 30, 40);
    request.fail_on_data_loss = false;
    let clamped = plan(&request).unwrap();
    assert_eq!(
        (clamped.end_offset, &clamped.lost[..]),
        (Offset(30), &[(Offset(30), Offset(40))][..])
    );
    let above = message(plan(&between(&bench, Bound::Offset(Offset(31)), Bound::Latest)));
    assert!(above.contains("31") && above.contains("30"), "{above}");
}

#[test]
fn a_reversed_range_names_both_ends() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    for (start, end, both) in [
        (Bound::Offset(Offset(7)), Bound::Offset(Offset(5)), ["7", "5"]),
        (Bound::Timestamp(70), Bound::Timestamp(50), ["70", "50"]),
        (Bound::Latest, Bound::Earliest, ["latest", "earliest"]),
    ] {
        let said = message(plan(&between(&bench, start, end)));
        assert!(both.iter().all(|it| said.contains(it)), "{said}");
    }
    let later = plan(&between(&bench, Bound::Timestamp(i64::MAX), Bound::Offset(Offset(5)))).unwrap();
    assert_eq!(later.start_offset, later.end_offset);
}

#[test]
fn a_partition_that_is_not_there_is_named() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    let mut asked = request(&bench);
    asked.partitions = Some(vec![0, 7]);
    assert!(message(plan(&asked)).contains("partition 7"));
    asked.partitions = None;
    asked.start.insert(8, Bound::Offset(Offset(1)));
    assert!(message(plan(&asked)).contains("partition 8"));
}

#[test]
fn segments_that_are_deleted_later_are_still_read() {
    for is_linked in [false, true] {
        let bench = Bench::new(&[]);
        let links = tempfile::tempdir().unwrap();
        thirty(&bench);
        let mut request = request(&bench);
        request.keep_open = !is_linked;
        request.link_dir = is_linked.then(|| links.path().to_path_buf());
        let plan = plan(&request).unwrap();
        for base in [0, 10, 20] {
            fs::remove_file(bench.file(base, ".log")).unwrap();
        }
        assert_eq!(planned_offsets(&plan), (0..30).collect::<Vec<_>>());
        assert_eq!(plan.summary(super::super::TimeLimits::default()).unwrap().records, 30);
        assert_eq!(fs::read_dir(links.path()).unwrap().count(), usize::from(is_linked));
    }
}

#[test]
fn a_segment_that_is_not_kept_open_is_a_loss_when_it_is_deleted_or_cut() {
    for is_deleted in [true, false] {
        let bench = Bench::new(&[]);
        thirty(&bench);
        let mut request = request(&bench);
        request.keep_open = false;
        let plan = plan(&request).unwrap();
        if is_deleted {
            fs::remove_file(bench.file(10, ".log")).unwrap();
        } else {
            fs::write(bench.file(10, ".log"), "").unwrap();
        }
        assert_lost(plan.splits(1), 10, 20);
        assert_lost(plan.summary(super::super::TimeLimits::default()), 10, 20);
    }
}

#[test]
fn a_segment_that_goes_while_it_is_planned_moves_the_log_start() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    let first = bench.file(0, ".log");
    let earliest = plan_on(&vanishing(&first), &request(&bench)).unwrap();
    assert_eq!((earliest.start_offset, earliest.end_offset), (Offset(10), Offset(30)));
    assert!(!first.exists(), "it was there when the plan began");

    let bench = Bench::new(&[]);
    thirty(&bench);
    let fs = vanishing(&bench.file(0, ".log"));
    let explicit = between(&bench, Bound::Offset(Offset(0)), Bound::Latest);
    assert_lost(plan_on(&fs, &explicit), 0, 10);
}

#[test]
fn a_plan_that_fails_leaves_no_link() {
    let bench = Bench::new(&[]);
    let links = tempfile::tempdir().unwrap();
    thirty(&bench);
    let mut request = between(&bench, Bound::Offset(Offset(0)), Bound::Offset(Offset(99)));
    request.link_dir = Some(links.path().to_path_buf());
    assert!(plan_scan(&os(), &request).is_err());
    assert_eq!(fs::read_dir(links.path()).unwrap().count(), 0);
}

#[test]
fn a_swap_that_a_crash_left_stands_for_the_segments_that_it_replaces() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    // A cleaner kept 0..2 and 16..20 of the first two segments, then died between its renames.
    let one = fs::read(bench.file(0, ".log")).unwrap();
    let two = fs::read(bench.file(10, ".log")).unwrap();
    let size = one.len() / 5;
    let kept = [&one[..size], &two[size * 3..]].concat();
    fs::write(bench.file(0, ".log.swap"), kept).unwrap();
    fs::remove_file(bench.file(0, ".log")).unwrap();
    let plan = plan(&request(&bench)).unwrap();
    let expected: Vec<i64> = (0..2).chain(16..30).collect();
    assert_eq!(planned_offsets(&plan), expected);
}

// As a start of a broker has it
#[test]
fn swaps_that_a_crash_left_stand_for_the_segments_in_the_gap_between_them_too() {
    let bench = Bench::new(&[]);
    thirty(&bench);
    let one = fs::read(bench.file(0, ".log")).unwrap();
    let two = fs::read(bench.file(10, ".log")).unwrap();
    let size = one.len() / 5;
    fs::write(bench.file(0, ".log.swap"), &one[..size]).unwrap();
    fs::write(bench.file(15, ".log.swap"), &two[size * 3..]).unwrap();
    let plan = plan(&request(&bench)).unwrap();
    let expected: Vec<i64> = (0..2).chain(16..30).collect();
    assert_eq!(planned_offsets(&plan), expected);
}
