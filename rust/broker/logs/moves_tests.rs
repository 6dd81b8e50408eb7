use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use super::*;
use crate::testing::{Fixture, NODE, START_MS, batch, give, lease};
use crate::{Lease, Options, read_records};
use ::io::Fault;
use base::place::{LeaderEpoch, Offset};
use record::Origin;
use storage::log_dir::Listing;

const LIMIT: Duration = Duration::from_secs(20);

fn append(fixture: &Fixture, count: usize) {
    let partition = fixture.partition("t", 0);
    for _ in 0..count {
        partition
            .append(&mut batch(START_MS), 1, Origin::Client, START_MS)
            .unwrap();
    }
}

/// A topic with one partition in the first directory, with so many batches.
fn filled(dirs: usize, batches: usize, config: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::in_memory(dirs);
    fixture.create("t", 1, config);
    append(&fixture, batches);
    fixture
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::yield_now();
    }
}

fn wait_moved(fixture: &Fixture, to: &Path) {
    wait("the partition has moved", || {
        let partition = fixture.partition("t", 0);
        *partition.log_dir() == to && partition.log().dir() == to.join("t-0")
    });
}

/// Names of partition directories, without ids.
fn names(dir: &Path) -> Vec<String> {
    let listing = Listing::of(&::io::OsFileSystem, dir).unwrap();
    let current = listing.partitions.iter().map(|(partition, _)| partition.to_string());
    let future = listing
        .future
        .iter()
        .map(|(partition, _)| format!("{partition}-future"));
    let deleted = listing.deleted.iter().map(|_| "delete".to_owned());
    current.chain(future).chain(deleted).collect()
}

fn offsets(fixture: &Fixture) -> Vec<i64> {
    let (mut found, mut next) = (Vec::new(), Offset(0));
    while next < fixture.partition("t", 0).offsets().log_end() {
        let (records, after) = read_records(&fixture.partition("t", 0), next, 1 << 20).unwrap();
        found.extend(records.iter().map(|record| record.offset.get()));
        next = after;
    }
    found
}

fn batches(log: &Log) -> Vec<u8> {
    let mut all = Vec::new();
    for segment in log.segments().all() {
        all.append(&mut fs::read(&segment.log().path).unwrap());
    }
    all
}

/// The mover does not know of it.
fn begin(fixture: &Fixture, to: &Path) -> Move {
    let partition = fixture.partition("t", 0);
    Move::begin(partition, fixture.broker.context(), to).unwrap().unwrap()
}

fn die(fixture: Fixture) -> Fixture {
    die_with(fixture, || ())
}

fn die_with(fixture: Fixture, meanwhile: impl FnOnce()) -> Fixture {
    fixture.broker.logs().dirs().abandon(); // gives up the locks, as a dead process does
    fixture.restart_after(meanwhile)
}

// KIP-113
#[test]
fn a_partition_moves_with_every_byte_and_leaves_nothing_behind() {
    let fixture = filled(2, 50, &[("segment.bytes", "1000"), ("file.delete.delay.ms", "0")]);
    let before = batches(&fixture.partition("t", 0).log());
    fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[1])
        .unwrap();
    wait_moved(&fixture, &fixture.dirs[1]);
    assert_eq!(batches(&fixture.partition("t", 0).log()), before);
    wait("the old directory is gone", || names(&fixture.dirs[0]).is_empty());
    assert_eq!(names(&fixture.dirs[1]), ["t-0"]);
    append(&fixture, 1);
    wait("the event is there", || {
        let moved = |event: &Event| match event {
            Event::ReplicaMoved { index, log_dir, .. } => *index == 0 && *log_dir == fixture.dirs[1],
            _ => false,
        };
        fixture.broker.events().take(99).iter().any(moved)
    });
    let points = |at: usize| {
        let dirs = fixture.broker.logs().dirs().open();
        dirs[at].read_checkpoint(Checkpoint::RecoveryPoint).unwrap()
    };
    assert!(points(0).is_empty());
    assert_eq!(points(1).into_values().collect::<Vec<_>>(), [Offset(50)]);
    let fixture = die(fixture);
    let partition = fixture.partition("t", 0);
    assert_eq!(
        (partition.offsets().log_end(), &*partition.log_dir()),
        (Offset(51), &fixture.dirs[1])
    );
}

#[test]
fn a_partition_that_was_never_written_moves() {
    let fixture = filled(2, 0, &[]);
    fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[1])
        .unwrap();
    wait_moved(&fixture, &fixture.dirs[1]);
    append(&fixture, 1);
    assert_eq!(
        (names(&fixture.dirs[0]), names(&fixture.dirs[1])),
        (vec![], vec!["t-0".to_owned()])
    );
}

// The leader under load.
#[test]
fn records_appended_during_a_move_are_neither_missing_nor_duplicated() {
    let fixture = filled(2, 200, &[("segment.bytes", "100000")]);
    let is_over = AtomicBool::new(false);
    let partition = fixture.partition("t", 0);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                append(&fixture, 1);
                partition.flush().unwrap();
                count += 1;
            }
            count
        });
        for to in [1, 0, 1, 0, 1] {
            fixture
                .broker
                .logs()
                .moves()
                .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[to])
                .unwrap();
            let has_moved = || *partition.log_dir() == fixture.dirs[to];
            let end = Instant::now() + LIMIT;
            while !has_moved() && Instant::now() < end {
                thread::yield_now();
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(*partition.log_dir(), fixture.dirs[1]);
        let count: i64 = writer.join().unwrap();
        let offsets = partition.offsets();
        assert_eq!(
            (offsets.log_end(), offsets.high_watermark()),
            (Offset(200 + count), Offset(200 + count))
        );
    });
    let end = partition.offsets().log_end();
    assert_eq!(offsets(&fixture), (0..end.get()).collect::<Vec<_>>());
    drop(partition);
    let fixture = die(fixture);
    assert_eq!(fixture.partition("t", 0).offsets().log_end(), end);
}

#[test]
fn a_move_goes_on_after_a_restart_clean_or_not() {
    for is_clean in [true, false] {
        let fixture = filled(2, 30, &[]);
        let one = begin(&fixture, &fixture.dirs[1]);
        let copied = one.copy_piece().unwrap();
        assert_eq!(copied, MoveProgress::Copied(batches(&one.partition().log()).len()));
        append(&fixture, 5);
        fixture
            .broker
            .logs()
            .dirs()
            .write_checkpoints(&Checkpoint::ALL)
            .unwrap();
        drop(one);
        let fixture = if is_clean {
            fixture.broker.logs().close().unwrap();
            fixture.restart()
        } else {
            die(fixture)
        };
        wait_moved(&fixture, &fixture.dirs[1]);
        assert_eq!(
            fixture.partition("t", 0).offsets().log_end(),
            Offset(35),
            "clean: {is_clean}"
        );
        let may_lack = fixture.broker.logs().unclean();
        assert_eq!(may_lack.len(), usize::from(!is_clean), "wherever the log is now");
    }
}

#[test]
fn a_move_waits_for_a_partition_that_is_made_again_after_a_restart() {
    let fixture = filled(2, 0, &[]);
    drop(begin(&fixture, &fixture.dirs[1]));
    let fixture = die(fixture); // the log itself was never on disk
    assert!(fixture.broker.partition("t", 0).is_err());
    fixture.create("t", 1, &[]);
    wait_moved(&fixture, &fixture.dirs[1]);
}

#[test]
fn a_move_that_is_of_another_topic_of_the_name_is_discarded() {
    let fixture = filled(2, 0, &[]);
    drop(begin(&fixture, &fixture.dirs[1]));
    let fixture = die(fixture);
    fixture.create_with("t", [8; 16], 1, &[], &[NODE]);
    wait("it is gone", || names(&fixture.dirs[1]).is_empty());
    assert!(fixture.partition("t", 0).future().get().is_none());
}

#[test]
fn a_move_back_ends_the_move_and_another_target_replaces_it() {
    let fixture = filled(3, 10, &[]);
    let one = begin(&fixture, &fixture.dirs[1]);
    let lag = || -> Vec<_> {
        let described = fixture.broker.logs().dirs().describe();
        let rows = described
            .iter()
            .flat_map(|dir| dir.replicas.iter().map(|row| (row.3, row.4)));
        rows.filter(|(_, is_future)| *is_future).collect()
    };
    assert_eq!(lag(), [(10, true)]);
    one.copy_piece().unwrap();
    assert_eq!(lag(), [(0, true)]);
    fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[0])
        .unwrap();
    wait("the copy is gone", || names(&fixture.dirs[1]).is_empty());
    assert_eq!((names(&fixture.dirs[0]), lag()), (vec!["t-0".to_owned()], vec![]));
    assert!(!fixture.broker.logs().moves().move_on(&one), "the mover lets go of it");
    let one = begin(&fixture, &fixture.dirs[1]);
    fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[2])
        .unwrap();
    wait_moved(&fixture, &fixture.dirs[2]);
    assert!(!fixture.broker.logs().moves().move_on(&one));
    wait("the first copy is gone", || names(&fixture.dirs[1]).is_empty());
}

// KIP-113, replica.alter.log.dirs.io.max.bytes.per.second
#[test]
fn a_move_is_held_to_the_rate_until_it_is_taken_away() {
    let fixture = filled(2, 100, &[("segment.bytes", "1000")]); // a piece is of one segment
    let limited = |alter_log_dirs_rate| Options {
        alter_log_dirs_rate,
        replica_fetch_backoff: Duration::from_millis(1),
        ..Options::default()
    };
    let start = Instant::now();
    let pause = || fixture.broker.logs().moves().pause(Instant::now());
    fixture.broker.set_options(limited(200)); // of which ten seconds' worth may go at once
    assert_eq!(pause(), None);
    fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[1])
        .unwrap();
    wait("the rate is exceeded", || pause().is_some());
    let future = fixture.partition("t", 0).future().get().unwrap();
    let copied = || batches(&future.log()).len();
    assert_eq!(pause(), Some(Duration::from_millis(1)));
    assert!(copied() >= 2_000);
    let most = 2_000 + 1_000 + 200 * (start.elapsed().as_secs() as usize + 1); // and the piece that went too far
    assert!(copied() <= most, "{} bytes", copied());
    fixture.broker.set_options(limited(i64::MAX));
    wait_moved(&fixture, &fixture.dirs[1]);
    assert_eq!(offsets(&fixture), (0..100).collect::<Vec<_>>());
}

// A follower, whose log is cut while it is copied.
#[test]
fn a_copy_of_a_follower_is_cut_as_the_follower_is() {
    let fixture = filled(2, 20, &[]);
    let one = begin(&fixture, &fixture.dirs[1]);
    one.copy_piece().unwrap();
    give(
        one.partition(),
        Some(Lease {
            leader: NODE + 1,
            ..lease(3, &[NODE, NODE + 1], &[NODE + 1])
        }),
    );
    assert_eq!(
        one.partition()
            .following(LeaderEpoch(3))
            .unwrap()
            .truncate_to_leader((LeaderEpoch(0), Offset(7)))
            .unwrap()
            .at,
        Offset(7)
    );
    while fixture.broker.logs().moves().move_on(&one) {}
    assert_eq!(*one.partition().log_dir(), fixture.dirs[1]);
    assert_eq!(one.partition().log().log_end_offset(), Offset(7));
    assert_eq!(
        one.partition().following(LeaderEpoch(3)).unwrap().position().log_end,
        Offset(7)
    );
}

#[test]
fn a_topic_that_is_deleted_takes_its_copy_along() {
    let fixture = filled(2, 10, &[("file.delete.delay.ms", "0")]);
    let one = begin(&fixture, &fixture.dirs[1]);
    one.copy_piece().unwrap();
    fixture.broker.logs().delete("t", &[0]).unwrap();
    assert!(!fixture.broker.logs().moves().move_on(&one));
    wait("both are gone", || fixture.dirs.iter().all(|dir| names(dir).is_empty()));
}

#[test]
fn a_target_that_fails_leaves_the_partition_where_it_is() {
    let fixture = filled(2, 10, &[]);
    let one = begin(&fixture, &fixture.dirs[1]);
    fixture.faults.arm("write:.log", 1, Fault::InputOutput);
    while fixture.broker.logs().moves().move_on(&one) {}
    assert!(fixture.faults.has_fired());
    assert_eq!(fixture.broker.logs().dirs().failed(), [fixture.dirs[1].clone()]);
    assert!(one.partition().future().get().is_none());
    append(&fixture, 1);
    let refused = fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[1])
        .unwrap_err();
    assert_eq!(refused.code(), ErrorCode::KAFKA_STORAGE_ERROR);
}

/// Until the move is over or a call fails.
fn move_all(fixture: &Fixture) {
    let partition = fixture.partition("t", 0);
    let Ok(Some(one)) = Move::begin(partition, fixture.broker.context(), &fixture.dirs[1]) else {
        return;
    };
    while fixture.broker.logs().moves().move_on(&one) {}
}

/// 11 batches, 10 of which are flushed.
fn prepared() -> Fixture {
    let fixture = filled(2, 10, &[("segment.bytes", "300")]);
    fixture.partition("t", 0).flush().unwrap();
    append(&fixture, 1);
    fixture
}

// A crash at each call of a move, of the process alone and with the power: one log is left, whole, under the plain
// name, and a start goes on with it.
#[test]
fn a_crash_at_any_call_of_a_move_leaves_one_whole_log() {
    let counted = prepared();
    counted.faults.arm("none", 1, Fault::Crash);
    move_all(&counted);
    let counts = counted.faults.counts();
    assert_eq!(*counted.partition("t", 0).log_dir(), counted.dirs[1]);
    drop(counted);
    let mut crashes = 0;
    for (label, count) in counts.iter().filter(|(label, _)| !label.starts_with("read")) {
        for (nth, with_power) in (1..=*count).flat_map(|nth| [(nth, false), (nth, true)]) {
            let fixture = prepared();
            fixture.faults.arm(label, nth, Fault::Crash);
            move_all(&fixture);
            let what = format!("call {nth} of {label}, power lost: {with_power}");
            crashes += usize::from(fixture.faults.has_fired());
            fixture.broker.logs().dirs().abandon();
            let faults = fixture.faults.clone();
            let fixture = fixture.restart_after(|| {
                if with_power {
                    faults.lose_unsynced().unwrap();
                }
            });
            let partition = fixture.partition("t", 0);
            let end = partition.offsets().log_end();
            assert!(end >= if with_power { Offset(10) } else { Offset(11) }, "{what}");
            assert_eq!(offsets(&fixture), (0..end.get()).collect::<Vec<_>>(), "{what}");
            wait("it stands still", || partition.future().get().is_none());
            wait_moved(&fixture, &partition.log_dir());
            let plain = fixture.dirs.iter().filter(|dir| dir.join("t-0").is_dir());
            assert_eq!(plain.collect::<Vec<_>>(), [&*partition.log_dir()], "{what}");
        }
    }
    assert!(crashes > 40, "{crashes} of {counts:?}");
}

// A log directory that fails ends the moves to it, whoever finds out.
#[test]
fn a_move_to_a_directory_that_failed_copies_nothing_more() {
    let fixture = filled(2, 3, &[]);
    let one = begin(&fixture, &fixture.dirs[1]);
    fixture
        .broker
        .logs()
        .dirs()
        .fail(&fixture.dirs[1], "a checkpoint could not be written");
    assert!(one.future().log().is_closed());
    assert_eq!(one.copy_piece().unwrap(), MoveProgress::Over);
    assert!(!fixture.partition("t", 0).leadership().is_offline());
    assert_eq!(names(&fixture.dirs[1]), ["t-0-future"], "the next start finds it");
}

// The crash came between (a) and (c), and the disk of the other directory is not well yet.
#[test]
fn a_swap_that_cannot_be_finished_at_a_start_is_finished_by_the_next() {
    let fixture = filled(2, 3, &[]);
    let (old, new) = (fixture.dirs[0].clone(), fixture.dirs[1].clone());
    let id = "0123456789abcdef0123456789abcdef";
    let fixture = die_with(fixture, || {
        fs::rename(old.join("t-0"), new.join(format!("t-0.{id}-future"))).unwrap();
        fs::create_dir(old.join(format!("t-0.{id}-delete"))).unwrap();
        fs::write(new.join("t-0"), "in the way").unwrap();
    });
    assert_eq!(fixture.broker.logs().dirs().failed(), std::slice::from_ref(&new));
    assert!(fixture.broker.logs().hosted().is_empty() && fixture.broker.threads().reaper().is_empty());
    let fixture = die_with(fixture, || fs::remove_file(new.join("t-0")).unwrap());
    assert!(fixture.broker.logs().dirs().failed().is_empty());
    let partition = fixture.partition("t", 0);
    assert_eq!(
        (partition.offsets().log_end(), &*partition.log_dir()),
        (Offset(3), &new)
    );
}

#[test]
fn an_error_of_a_file_is_blamed_on_the_directory_that_it_was_in() {
    let file = Path::new("t-0").join("00000000000000000000.log");
    let failing = |fixture: &Fixture, dir: usize, kind: std::io::ErrorKind| {
        let error = Error::io("read", &fixture.dirs[dir].join(&file), kind.into());
        fixture
            .broker
            .logs()
            .dirs()
            .storage_failed(&fixture.partition("t", 0), &error);
        fixture.broker.logs().dirs().failed()
    };
    let fixture = filled(2, 3, &[]);
    fixture
        .broker
        .logs()
        .moves()
        .alter_log_dir(&fixture.partition("t", 0), &fixture.dirs[1])
        .unwrap();
    wait_moved(&fixture, &fixture.dirs[1]);
    let (missing, broken) = (std::io::ErrorKind::NotFound, std::io::ErrorKind::Other);
    assert!(failing(&fixture, 0, missing).is_empty(), "the swap has renamed it");
    assert_eq!(failing(&fixture, 0, broken), [fixture.dirs[0].clone()]);
    assert!(!fixture.partition("t", 0).leadership().is_offline());
    assert_eq!(failing(&fixture, 1, missing).len(), 2);
    assert!(fixture.partition("t", 0).leadership().is_offline());
}

// What was on disk in one directory is on disk in the other when it takes its place.
#[test]
fn swap_leaves_no_acknowledged_flush_behind() {
    let fixture = filled(2, 5, &[]);
    let partition = fixture.partition("t", 0);
    let one = begin(&fixture, &fixture.dirs[1]);
    append(&fixture, 3);
    partition.flush().unwrap();
    assert_eq!(partition.log().recovery_point(), Offset(8));
    assert!(matches!(one.swap(), Ok(MoveProgress::Swapped(_))));
    assert_eq!(*partition.log_dir(), fixture.dirs[1]);
    let log = partition.log();
    assert_eq!((log.log_end_offset(), log.recovery_point()), (Offset(8), Offset(8)));
}

// More is copied under the log's lock than was flushed of the copy.
#[test]
fn swap_waits_until_the_copy_is_flushed_as_far_as_the_log() {
    let fixture = filled(2, 1, &[]);
    let partition = fixture.partition("t", 0);
    let one = begin(&fixture, &fixture.dirs[1]);
    for _ in 0..10 {
        let mut builder = record::BatchBuilder::new(record::Codec::None);
        builder.append(START_MS, None, Some(&vec![b'v'; 900_000]), &[]); // a piece each
        partition
            .append(
                &mut builder.build(Offset(0), LeaderEpoch::NONE),
                1,
                Origin::Client,
                START_MS,
            )
            .unwrap();
    }
    partition.flush().unwrap();
    assert!(matches!(one.swap(), Ok(MoveProgress::Copied(0))));
    assert_eq!(*partition.log_dir(), fixture.dirs[0]);
    assert!(matches!(one.swap(), Ok(MoveProgress::Swapped(_))));
    let log = partition.log();
    assert_eq!((log.log_end_offset(), log.recovery_point()), (Offset(11), Offset(11)));
}

#[test]
fn move_that_finds_no_descriptor_goes_on_and_no_directory_fails() {
    for label in ["write:.log", "read:.log", "sync:.log", "rename:dir"] {
        let fixture = filled(2, 10, &[]);
        let one = begin(&fixture, &fixture.dirs[1]);
        fixture.faults.arm(label, 1, Fault::NoDescriptor);
        while fixture.broker.logs().moves().move_on(&one) {}
        assert!(fixture.faults.has_fired(), "{label}");
        assert!(fixture.broker.logs().dirs().failed().is_empty(), "{label}");
        assert_eq!(*one.partition().log_dir(), fixture.dirs[1], "{label}");
    }
}
