//! What is cut is told and kept, and what was durable and is gone is no log's ordinary end.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::*;
use crate::cut_files::is_cut_file;
use crate::recovery::{Extent, Note, OnLoss};
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::place::Offset;

const HALF: usize = 20;

fn lost(opened: base::error::Result<Log>) -> (PathBuf, String, i64) {
    match opened {
        Err(Error::Lost {
            path,
            reason,
            log_end_offset,
        }) => (path, reason, log_end_offset.get()),
        Err(other) => panic!("{other:?}"),
        Ok(log) => panic!("it was opened and ends at {}: {:?}", log.log_end_offset(), log.report()),
    }
}

fn cut_files(bench: &Bench) -> Vec<String> {
    bench.names().into_iter().filter(|name| is_cut_file(name)).collect()
}

fn flip(path: &std::path::Path, at: usize) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, &bytes).unwrap();
    bytes
}

fn only_note(log: &mut Log) -> Note {
    let mut notes = log.take_notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    notes.pop().unwrap()
}

/// The file positions of a segment's batches.
fn positions(bytes: &[u8]) -> Vec<usize> {
    let mut at = 0;
    Batches::new(bytes)
        .map(|batch| {
            let position = at;
            at += batch.unwrap().bytes().len();
            position
        })
        .collect()
}

#[test]
fn a_torn_tail_is_ordinary_and_not_kept() {
    let bench = bench();
    let (log, point) = written(&bench, HALF);
    drop(log);
    let path = last_log(&bench);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let mut log = bench.reopen(point).unwrap();
    let note = only_note(&mut log);
    assert!(!note.is_loss && note.text.contains("never whole"), "{note:?}");
    assert_eq!(cut_files(&bench), Vec::<String>::new());
}

#[test]
fn a_torn_tail_below_the_high_watermark_is_a_loss_and_kept() {
    let bench = bench();
    let (log, point) = written(&bench, HALF);
    let high_watermark = log.log_end_offset();
    drop(log);
    let path = last_log(&bench);
    let bytes = fs::read(&path).unwrap();
    let begins = *positions(&bytes).last().unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let extent = Extent {
        high_watermark,
        ..Extent::default()
    };
    let mut log = bench.open_to(point, false, extent).unwrap();
    let notes = log.take_notes();
    assert!(
        notes.iter().all(|note| note.is_loss) && notes[0].text.contains("offsets 78 to 79"),
        "{notes:?}"
    );
    let kept = fs::read(bench.path().join(&cut_files(&bench)[0])).unwrap();
    assert_eq!(kept, bytes[begins..bytes.len() - 3]);
}

#[test]
fn whole_batches_behind_bad_bytes_are_kept_and_counted() {
    let bench = bench();
    let (log, point) = written(&bench, 5);
    let end = log.log_end_offset();
    drop(log);
    let bases = bench.base_offsets();
    let path = bench.file(bases[1], ".log");
    let bytes = fs::read(&path).unwrap();
    let places = positions(&bytes);
    let damaged = flip(&path, places[1] + 70);
    let later: Vec<Vec<u8>> = bases[2..]
        .iter()
        .map(|base| fs::read(bench.file(*base, ".log")).unwrap())
        .collect();
    let mut log = bench.reopen(point).unwrap();
    let note = only_note(&mut log);
    assert_eq!(log.log_end_offset(), Offset(bases[1] + 2));
    let (gone, batches) = (end.get() - bases[1] - 4, (end.get() - bases[1]) / 2 - 2);
    assert!(note.is_loss);
    for part in [
        format!("{batches} whole batches of {gone} records"),
        format!("offsets {} to {}", bases[1] + 2, end - 1),
        format!("position {}", places[1]),
        path.display().to_string(),
        "crc".to_owned(),
    ] {
        assert!(note.text.contains(&part), "{part} is not in {}", note.text);
    }
    let kept = cut_files(&bench);
    assert_eq!(kept.len(), 1 + later.len(), "{kept:?}");
    let read = |name: &String| fs::read(bench.path().join(name)).unwrap();
    assert_eq!(read(&kept[0]), damaged[places[1]..]);
    assert_eq!(kept[1..].iter().map(read).collect::<Vec<_>>(), later);
}

#[test]
fn a_damaged_length_hides_no_batch_behind_it() {
    let bench = Bench::new(&[]);
    let (log, _) = written(&bench, 0);
    drop(log);
    let path = last_log(&bench);
    let mut bytes = fs::read(&path).unwrap();
    let places = positions(&bytes);
    assert!(places.len() > 2);
    bytes[places[0] + 8..places[0] + 12].copy_from_slice(&1_000_000_i32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let mut log = bench.reopen(0).unwrap();
    let note = only_note(&mut log);
    let found = format!("{} whole batches", places.len() - 1);
    assert!(note.is_loss && note.text.contains(&found), "{note:?}");
}

#[test]
fn cut_bytes_beyond_the_bound_are_not_kept_and_the_note_says_so() {
    let bench = bench();
    let (log, _) = written(&bench, 0);
    drop(log);
    flip(&bench.file(bench.base_offsets()[1], ".log"), 70);
    let extent = Extent {
        cut_max_bytes: 100,
        ..Extent::default()
    };
    let mut log = bench.open_to(0, false, extent).unwrap();
    assert!(cut_files(&bench).len() <= 1);
    assert!(only_note(&mut log).text.contains("kafkastore.cut.files.max.bytes"));
}

#[test]
fn a_log_that_ends_before_its_recovery_point_is_refused_and_nothing_changes() {
    for is_clean in [false, true] {
        let bench = bench();
        let (mut log, point) = written(&bench, 40);
        if is_clean {
            log.close().unwrap();
        }
        drop(log);
        let path = last_log(&bench);
        fs::write(&path, b"").unwrap();
        let base = *bench.base_offsets().last().unwrap();
        let before = bench.base_offsets();
        let (named, reason, end) = lost(bench.open(point, is_clean));
        assert_eq!((named, end), (path.clone(), base));
        assert!(reason.contains(&format!("offsets {base} to {}", point - 1)), "{reason}");
        assert_eq!(bench.base_offsets(), before);
        let accepted = Extent {
            accepted: &[Offset(base)],
            ..Extent::default()
        };
        let mut log = bench.open_to(point, is_clean, accepted).unwrap();
        assert!(only_note(&mut log).text.ends_with("accepted"));
        assert_eq!(log.log_end_offset(), Offset(base));
    }
}

#[test]
fn a_short_log_with_another_replica_is_opened_and_says_so() {
    let bench = bench();
    let (log, point) = written(&bench, 40);
    drop(log);
    fs::write(last_log(&bench), b"").unwrap();
    let extent = Extent {
        on_loss: OnLoss::ReportShort,
        ..Extent::default()
    };
    let log = bench.open_to(point, false, extent).unwrap();
    assert!(log.report().is_short && log.report().notes[0].text.contains("fetched again"));
}

// What was durable and is damaged is not opened as a log that is only short, whatever stands behind
// it.
#[test]
fn damage_below_the_recovery_point_is_refused_with_another_replica_too() {
    let bench = bench();
    let (log, point) = written(&bench, 40);
    drop(log);
    let extent = Extent {
        on_loss: OnLoss::ReportShort,
        checkpoint_ms: Some(0), // every segment has changed since
        ..Extent::default()
    };
    let bases = bench.base_offsets();
    let path = bench.file(bases[1], ".log");
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[70] ^= 1;
    let torn = whole[..whole.len() - 1].to_vec();
    for (damaged, points) in [
        (flipped, [bases[1] + 2, bases[2], point]),
        (torn, [bases[2], bases[2] + 1, point]),
    ] {
        for point in points {
            fs::write(&path, &damaged).unwrap();
            let (named, reason, _) = lost(bench.open_to(point, false, extent));
            assert_eq!(named, path);
            assert!(reason.contains("durable"), "{reason}");
            assert_eq!(bench.base_offsets(), bases, "nothing is removed");
        }
    }
}

#[test]
fn a_bad_batch_at_the_recovery_point_was_not_durable_and_is_cut() {
    let bench = Bench::new(&[]);
    let (log, point) = written(&bench, HALF);
    drop(log);
    let path = last_log(&bench);
    let bytes = fs::read(&path).unwrap();
    let at = positions(&bytes)[HALF];
    flip(&path, at + 70);
    let log = bench.reopen(point).unwrap();
    assert_eq!(
        (log.log_end_offset(), log.segments().size_bytes()),
        (Offset(point), at as u64)
    );
}

#[test]
fn a_log_without_any_segment_is_refused_and_goes_on_where_it_was_when_accepted() {
    let bench = bench();
    let (log, point) = written(&bench, 40);
    drop(log);
    for base in bench.base_offsets() {
        fs::remove_file(bench.file(base, ".log")).unwrap();
    }
    let (_, _, end) = lost(bench.reopen(point));
    assert_eq!(end, 0);
    let accepted = Extent {
        accepted: &[Offset(0)],
        ..Extent::default()
    };
    let log = bench.open_to(point, false, accepted).unwrap();
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset()),
        (Offset(point), Offset(point)),
        "no offset is given twice"
    );
}

#[test]
fn a_first_segment_of_which_the_index_is_left_is_missed() {
    let bench = bench();
    let (log, point) = written(&bench, 40);
    drop(log);
    let second = bench.base_offsets()[1];
    let path = bench.file(0, ".log");
    fs::remove_file(&path).unwrap();
    let (named, reason, _) = lost(bench.reopen(point));
    assert_eq!(named, path);
    assert!(reason.contains(&format!("offsets 0 to {}", second - 1)), "{reason}");
    lost(bench.reopen(point)); // what tells of it is still there
    fs::write(bench.file(0, ".log.deleted"), b"").unwrap();
    let log = bench.reopen(point).unwrap();
    assert_eq!(log.log_start_offset(), Offset(second), "retention had renamed it");
}

#[test]
fn a_sealed_segment_that_ends_too_early_is_missed() {
    for removed in [1, 40] {
        let bench = bench();
        let (log, point) = written(&bench, 40);
        drop(log);
        let bases = bench.base_offsets();
        let path = bench.file(bases[1], ".log");
        let bytes = fs::read(&path).unwrap();
        let places = positions(&bytes);
        let at = if removed == 1 { places[places.len() - 1] } else { 0 };
        fs::write(&path, &bytes[..at]).unwrap();
        let (named, reason, end) = lost(bench.reopen(point));
        assert_eq!(named, path);
        assert!(
            reason.contains(&format!("offsets {end} to {}", bases[2] - 1)),
            "{reason}"
        );
    }
}

#[test]
fn a_compacted_segment_may_end_too_early() {
    let bench = Bench::new(&[("segment.bytes", "3000"), ("cleanup.policy", "compact")]);
    let mut log = bench.create();
    let keyed = |at: i64| crate::testing::batch(START_MS, 2, 50 + at as usize);
    for at in 0..40 {
        // Replicated batches are not judged: those of the test have no keys.
        let mut bytes = keyed(at);
        record::set_offset_and_epoch(&mut bytes, Offset(at * 2), LeaderEpoch(0));
        log.append_as_follower(&bytes).unwrap();
    }
    log.flush().unwrap();
    let (point, end) = (log.recovery_point(), log.log_end_offset());
    drop(log);
    let path = bench.file(bench.base_offsets()[1], ".log");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..*positions(&bytes).last().unwrap()]).unwrap();
    assert_eq!(bench.reopen(point.get()).unwrap().log_end_offset(), end);
    let second_end = bench.base_offsets()[2] - 2;
    let log = bench.reopen(0).unwrap();
    assert_eq!(
        log.log_end_offset(),
        Offset(second_end),
        "nothing that was not durable was compacted"
    );
}

#[test]
fn a_crash_while_a_log_is_cut_leaves_no_hole_that_compaction_would_explain() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let pairs = [("segment.bytes", "1500"), ("cleanup.policy", "compact")];
    let bench = Bench::on(Arc::new(disk.clone()), &pairs);
    let mut log = bench.create();
    for at in 0..40 {
        let mut bytes = batch(START_MS, 2, 50);
        record::set_offset_and_epoch(&mut bytes, Offset(at * 2), LeaderEpoch(0));
        log.append_as_follower(&bytes).unwrap();
    }
    drop(log);
    let bases = bench.base_offsets();
    assert!(bases.len() > 3);
    flip(&bench.file(bases[1], ".log"), 70);
    disk.arm("rename:.0.cut", 1, Fault::Crash);
    assert!(bench.reopen(0).is_err());
    assert!(disk.has_fired(), "{:?}", disk.counts());
    let mut log = bench.mended().reopen(0).unwrap();
    assert_eq!(log.log_end_offset(), Offset(bases[1]), "it goes on behind a hole");
    assert!(only_note(&mut log).is_loss);
}

// A record may hold the headers of large batches, one behind the other, as its client likes.
#[test]
fn a_torn_batch_full_of_headers_is_not_read_again_for_each() {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = Bench::on(Arc::new(disk.clone()), &[]);
    let mut log = bench.create();
    let mut headers = Vec::new();
    for _ in 0..2000 {
        let mut header = batch(START_MS, 1, 10)[..61].to_vec();
        header[8..12].copy_from_slice(&60_000_i32.to_be_bytes());
        headers.extend(header);
    }
    let mut builder = record::BatchBuilder::new(record::Codec::None);
    builder.append(START_MS, None, Some(&headers), &[]);
    append_batch(&mut log, builder.build(Offset(0), LeaderEpoch::NONE), 0);
    drop(log);
    let path = last_log(&bench);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    disk.arm("none", 0, Fault::Crash);
    let mut log = bench.reopen(0).unwrap();
    let reads = disk.counts()["read:.log"];
    assert!(reads < 100, "each of 1000 headers costs a read of 60 KB: {reads}");
    let note = only_note(&mut log);
    assert!(note.is_loss && note.text.contains("maybe whole batches"), "{note:?}");
    assert_eq!(cut_files(&bench).len(), 1);
}

#[test]
fn a_sealed_segment_that_changed_after_the_checkpoint_is_read() {
    let bench = bench();
    let (log, point) = written(&bench, 40);
    drop(log);
    let path = bench.file(bench.base_offsets()[1], ".log");
    flip(&path, 70);
    let written_ms = fs::metadata(&path).unwrap().modified().unwrap();
    let written_ms = written_ms.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    let at = |checkpoint_ms| Extent {
        checkpoint_ms: Some(checkpoint_ms),
        ..Extent::default()
    };
    let (named, reason, _) = lost(bench.open_to(point, false, at(written_ms - 1)));
    assert_eq!(named, path);
    assert!(reason.contains("durable"), "{reason}");
    let log = bench.open_to(point, false, at(written_ms)).unwrap();
    assert!(log.report().segments_checked < 3, "what did not change costs nothing");
}

#[test]
fn without_recovery_points_no_whole_batch_is_cut() {
    let bench = bench();
    let (log, _) = written(&bench, 40);
    drop(log);
    let extent = Extent {
        is_recovery_point_lost: true,
        high_watermark: Offset(80),
        ..Extent::default()
    };
    let last = last_log(&bench);
    let whole = fs::read(&last).unwrap();
    let log = bench.open_to(0, false, extent).unwrap();
    assert_eq!((log.log_end_offset(), log.recovery_point()), (Offset(80), Offset(0)));
    drop(log);
    let one_segment = Bench::new(&[]);
    drop(written(&one_segment, 40));
    for bench in [&bench, &one_segment] {
        let path = bench.file(0, ".log");
        let before = fs::read(&path).unwrap();
        let damaged = flip(&path, 70);
        let (named, ..) = lost(bench.open_to(0, false, extent));
        assert_eq!((&named, fs::read(&path).unwrap()), (&path, damaged));
        fs::write(&path, before).unwrap();
    }
    fs::write(&last, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(
        bench.open_to(0, false, extent).unwrap().log_end_offset(),
        Offset(78),
        "a torn tail is cut"
    );
}

#[test]
fn records_below_the_high_watermark_that_are_gone_are_named() {
    let bench = bench();
    let (log, point) = written(&bench, HALF);
    drop(log);
    let path = last_log(&bench);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..*positions(&bytes).last().unwrap()]).unwrap();
    let extent = Extent {
        high_watermark: Offset(80),
        ..Extent::default()
    };
    let mut log = bench.open_to(point, false, extent).unwrap();
    let note = only_note(&mut log);
    assert!(
        note.is_loss && note.text.contains("2 records (offsets 78 to 79)"),
        "{note:?}"
    );
}

#[test]
fn leader_epochs_that_are_gone_are_read_from_the_batches() {
    for is_clean in [true, false] {
        let bench = bench();
        let mut log = bench.create();
        for epoch in [3, 5] {
            let bytes = batch(START_MS, 2, 50);
            append_batch(&mut log, bytes, epoch);
        }
        let epochs = log.epochs().entries().to_vec();
        assert_eq!(epochs.len(), 2);
        log.close().unwrap();
        let point = log.recovery_point();
        drop(log);
        fs::remove_file(bench.path().join("leader-epoch-checkpoint")).unwrap();
        assert_eq!(bench.open(point.get(), is_clean).unwrap().epochs().entries(), epochs);
    }
}

#[test]
fn a_log_start_above_the_end_keeps_what_is_cut() {
    let bench = bench();
    let (mut log, _) = written(&bench, 40);
    log.close().unwrap();
    drop(log);
    let progress = crate::RecoveryProgress::default();
    let args = crate::LoadArgs {
        recovery_point: Offset(80),
        log_start_offset: Offset(500),
        first_dirty_offset: None,
        clean_shutdown: true,
        extent: Extent::default(),
        progress: &progress,
    };
    let partition = crate::TopicPartition::new("topic", 0);
    let config = bench.config.clone().into();
    let mut log = Log::open(&bench.context(), &bench.path(), partition, config, args).unwrap();
    assert_eq!(
        (log.log_start_offset(), log.log_end_offset()),
        (Offset(500), Offset(500))
    );
    let note = only_note(&mut log);
    assert!(note.is_loss && note.text.contains("offsets 0 to 79"), "{note:?}");
    assert!(cut_files(&bench).len() > 2);
}

#[test]
fn a_clean_log_whose_files_were_touched_is_read_whole_and_served() {
    let bench = bench();
    let (mut log, _) = written(&bench, 40);
    log.close().unwrap();
    let closed = crate::closed_logs::ClosedLog::of(log.contents()).unwrap();
    drop(log);
    let path = bench.file(0, ".log");
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
    let extent = Extent {
        closed: Some(closed),
        ..Extent::default()
    };
    let mut log = bench.open_to(0, true, extent).unwrap();
    assert_eq!((log.log_end_offset(), log.report().batches_checked), (Offset(80), 40));
    let note = only_note(&mut log);
    assert!(
        !note.is_loss && note.text.contains("changed since the clean stop"),
        "{note:?}"
    );
}

#[test]
fn another_log_put_in_the_place_of_a_closed_one_keeps_its_own_start() {
    let bench = bench();
    let mut log = bench.create();
    log.close().unwrap();
    let closed = crate::closed_logs::ClosedLog::of(log.contents()).unwrap();
    drop(log);
    fs::remove_dir_all(bench.path()).unwrap();
    let (mut other, _) = written(&bench, 40);
    other.close().unwrap();
    drop(other);
    let progress = crate::RecoveryProgress::default();
    let args = crate::LoadArgs {
        recovery_point: Offset(80),
        log_start_offset: Offset(10),
        first_dirty_offset: None,
        clean_shutdown: true,
        extent: Extent {
            closed: Some(closed),
            ..Extent::default()
        },
        progress: &progress,
    };
    let partition = crate::TopicPartition::new("topic", 0);
    let config = bench.config.clone().into();
    let log = Log::open(&bench.context(), &bench.path(), partition, config, args).unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(10), Offset(80)));
}
