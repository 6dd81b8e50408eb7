use std::fs;

use super::*;
use crate::testing::{Bench, START_MS, append_batch, batch, read_all};
use ::io::OsFileSystem;
use base::place::Offset;

fn copy_of(bench: &Bench, other: &Path) -> Log {
    let config = Arc::new(bench.config.clone());
    Log::create_future(&bench.context(), other, TopicPartition::new("topic", 0), None, config).unwrap()
}

fn append(log: &mut Log, leader_epoch: i32, records: usize) {
    append_batch(log, batch(START_MS, records, 50), leader_epoch);
}

/// Everything; says how many pieces it took.
fn copy_all(current: &Log, copy: &mut Log, piece_bytes: usize) -> usize {
    let mut pieces = 0;
    while let Some(plan) = copy.plan_copy(current).unwrap() {
        let slice = plan.resolve(piece_bytes, true).unwrap();
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        copy.append_as_follower(&bytes).unwrap();
        pieces += 1;
    }
    pieces
}

fn assert_same(current: &Log, copy: &Log) {
    assert_eq!(copy.log_end_offset(), current.log_end_offset());
    assert_eq!(copy.log_start_offset(), current.log_start_offset());
    let all = |log: &Log| read_all(log, log.log_start_offset().get(), log.log_end_offset().get(), 1 << 20);
    assert_eq!(all(copy), all(current));
    assert_eq!(copy.epochs().latest_epoch(), current.epochs().latest_epoch());
}

// KIP-113
#[test]
fn a_future_log_gets_every_batch_of_every_segment() {
    let (bench, other) = (Bench::new(&[("segment.bytes", "1000")]), tempfile::tempdir().unwrap());
    let mut current = bench.create();
    (0..40).for_each(|n| append(&mut current, n / 10, 3));
    let mut copy = copy_of(&bench, other.path());
    assert!(copy_all(&current, &mut copy, 300) > 10);
    assert_same(&current, &copy);
    assert!(copy.segment_count() > 3);
}

#[test]
fn a_future_log_is_cut_where_the_current_one_was_cut_and_went_on_in_a_later_epoch() {
    let (bench, other) = (Bench::new(&[]), tempfile::tempdir().unwrap());
    let mut current = bench.create();
    (0..10).for_each(|_| append(&mut current, 0, 2));
    let mut copy = copy_of(&bench, other.path());
    copy_all(&current, &mut copy, 1 << 20);
    current.truncate_to(Offset(12)).unwrap();
    assert!(copy.plan_copy(&current).unwrap().is_none(), "cut to the same end");
    assert_same(&current, &copy);
    (0..10).for_each(|_| append(&mut current, 1, 2));
    copy_all(&current, &mut copy, 1 << 20);
    current.truncate_to(Offset(8)).unwrap();
    (0..20).for_each(|_| append(&mut current, 3, 1));
    copy_all(&current, &mut copy, 1 << 20);
    assert_same(&current, &copy);
}

#[test]
fn a_future_log_begins_where_the_current_one_begins_even_within_a_batch() {
    let (bench, other) = (Bench::new(&[]), tempfile::tempdir().unwrap());
    let mut current = bench.create();
    (0..4).for_each(|_| append(&mut current, 0, 10));
    current.advance_log_start_offset(Offset(15), Offset(40)).unwrap();
    let mut copy = copy_of(&bench, other.path());
    copy_all(&current, &mut copy, 1 << 20);
    assert_same(&current, &copy);
    current.truncate_fully_and_start_at(Offset(100)).unwrap();
    append(&mut current, 5, 1);
    copy_all(&current, &mut copy, 1 << 20);
    assert_same(&current, &copy);
}

#[test]
fn a_future_log_of_an_emptied_log_is_emptied() {
    let (bench, other) = (Bench::new(&[]), tempfile::tempdir().unwrap());
    let mut current = bench.create();
    append(&mut current, 0, 10);
    let mut copy = copy_of(&bench, other.path());
    copy_all(&current, &mut copy, 1 << 20);
    current.truncate_fully_and_start_at(Offset(0)).unwrap();
    assert!(copy.plan_copy(&current).unwrap().is_none());
    assert_eq!(copy.log_end_offset(), Offset(0));
}

#[test]
fn a_renamed_log_reads_indexes_that_it_had_not_read_before() {
    let bench = Bench::new(&[("segment.bytes", "2000"), ("index.interval.bytes", "100")]);
    let mut log = bench.create();
    (0..40).for_each(|_| append(&mut log, 0, 3));
    log.close().unwrap();
    drop(log);
    let mut log = bench.reopen_clean().unwrap();
    log.rename_dir(&bench.path().with_file_name("elsewhere-0")).unwrap();
    assert_eq!(read_all(&log, 50, 120, 1 << 20).first(), Some(&(48, 51)));
    append(&mut log, 0, 3);
    log.flush().unwrap();
}

// What stands on the disk when a crash comes between the steps of a swap.
#[test]
fn only_a_future_directory_with_the_id_of_a_deleted_one_takes_the_plain_name_at_a_start() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (id, other_id) = ("0123456789abcdef0123456789abcdef", "ffffffffffffffff0123456789abcdef");
    let make = |dir: &Path, name: String| fs::create_dir(dir.join(name)).unwrap();
    make(one.path(), format!("cut-0.{id}-delete"));
    make(two.path(), format!("cut-0.{id}-future"));
    make(one.path(), format!("deleted-0.{other_id}-delete"));
    make(two.path(), format!("deleted-0.{id}-future"));
    make(one.path(), "copied-0".to_owned());
    make(two.path(), format!("copied-0.{id}-future"));
    let finished = finish_swaps(&OsFileSystem, &[one.path(), two.path()]);
    assert!(finished.lines.len() == 1 && finished.failed.is_empty(), "{finished:?}");
    assert!(two.path().join("cut-0").is_dir());
    assert!(two.path().join(format!("deleted-0.{id}-future")).is_dir());
    assert!(two.path().join(format!("copied-0.{id}-future")).is_dir());
    let again = finish_swaps(&OsFileSystem, &[one.path(), two.path()]);
    assert!(again.lines.is_empty() && again.failed.is_empty());
}

#[test]
fn a_swap_that_cannot_be_finished_fails_its_directory_and_holds_up_no_other() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [old, bad, good] = dirs.each_ref().map(tempfile::TempDir::path);
    let id = "0123456789abcdef0123456789abcdef";
    for (topic, to) in [("cut", bad), ("more", bad), ("well", good)] {
        fs::create_dir(old.join(format!("{topic}-0.{id}-delete"))).unwrap();
        fs::create_dir(to.join(format!("{topic}-0.{id}-future"))).unwrap();
    }
    fs::write(bad.join("cut-0"), "in the way").unwrap();
    let finished = finish_swaps(&OsFileSystem, &[old, bad, good]);
    assert_eq!(finished.failed.into_keys().collect::<Vec<_>>(), [bad.to_path_buf()]);
    assert_eq!(finished.lines.len(), 2, "{:?}", finished.lines);
    assert!(good.join("well-0").is_dir() && bad.join("more-0").is_dir());
}
