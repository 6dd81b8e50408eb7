//! Every I/O call of a cleaning fails once, then the log is opened again: nothing is lost, and no older value comes
//! back. H18, H22
//!
//! The log has been cleaned once, so that this cleaning takes tombstones and a marker away. A first run counts the
//! calls by label; then, for each label, each n and each fault, the same log is cleaned with that call failing. After a
//! crash the directory is opened twice, as it is and as after a power loss. At the end the cleaning is done again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::super::testing::{Pair, append, append_of, clean, clean_within, end, in_transaction, records, roll};
use super::COMPACTED;
use crate::Log;
use crate::swap_rules::Passing;
use crate::testing::Bench;
use ::io::{Fault, FaultFileSystem, OsFileSystem};
use base::place::Offset;
use record::Codec;

const FAULTS: [Fault; 5] = [
    Fault::Crash,
    Fault::InputOutput,
    Fault::ShortWrite,
    Fault::NoSpace,
    Fault::NoDescriptor,
];

struct World {
    bench: Bench,
    disk: FaultFileSystem,
    log: Log,
    /// What must be there after any cleaning: the last record of each key, unless it is a tombstone.
    last: BTreeMap<String, (i64, Option<String>)>,
    before: BTreeMap<i64, Pair>,
}

fn bench_on(disk: &FaultFileSystem) -> Bench {
    let pairs = [("segment.bytes", "500"), ("delete.retention.ms", "10")];
    let mut bench = Bench::on(Arc::new(disk.clone()), &[&COMPACTED[..], &pairs].concat());
    // In memory where there is such a place: the syncs are real, and there are thousands.
    if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
        bench.dir = memory;
    }
    bench
}

/// Three groups of segments: old values in the first, tombstones past their horizon behind them.
fn world() -> World {
    let disk = FaultFileSystem::new(Arc::new(OsFileSystem));
    let bench = bench_on(&disk);
    let mut log = bench.create();
    let text = "x".repeat(60);
    for key in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        append(&bench, &mut log, Codec::None, &[(key, Some(&text))]);
    }
    append_of(&bench, &mut log, in_transaction(1, 0), &[("a", Some("aborted"))]);
    end(&bench, &mut log, 1, false);
    append(&bench, &mut log, Codec::Lz4, &[("b", None), ("c", Some("3"))]);
    roll(&bench, &mut log);
    // The values that the tombstone hides are older than this first cleaning's dirty part.
    clean(&bench, &mut log);
    bench.clock.advance(20);
    append(&bench, &mut log, Codec::None, &[("d", None), ("e", Some("4"))]);
    append(&bench, &mut log, Codec::Zstd, &[("f", Some("5")), ("a", Some("6"))]);
    append_of(&bench, &mut log, in_transaction(1, 1), &[("g", Some("7"))]);
    end(&bench, &mut log, 1, true);
    roll(&bench, &mut log);
    append(&bench, &mut log, Codec::None, &[("active", Some("8"))]);
    log.flush().unwrap();
    let before = records(&log);
    let mut last = BTreeMap::new();
    for (offset, (key, value)) in &before {
        last.insert(key.clone().unwrap(), (*offset, value.clone()));
    }
    World {
        bench,
        disk,
        log,
        last,
        before,
    }
}

/// Nothing is lost, nothing is new, and of no key an older value is left without its tombstone.
fn check(found: &BTreeMap<i64, Pair>, world: &World, case: &str) {
    for (offset, pair) in found {
        assert_eq!(world.before.get(offset), Some(pair), "{case}: offset {offset}");
    }
    for (key, (offset, value)) in &world.last {
        let latest = found.iter().rev().find(|(_, pair)| pair.0.as_ref() == Some(key));
        match (latest, value) {
            (Some((latest, _)), _) => assert_eq!(latest, offset, "{case}: {key}"),
            (None, None) => {} // a tombstone whose time has come
            (None, Some(_)) => panic!("{case}: {key} is lost"),
        }
    }
}

/// Opens a copy of the directory as a start would after a crash, and cleans it again.
fn reopen_and_clean(world: &World, dir: &Path, recovery_point: i64, case: &str) {
    let bench = bench_on(&FaultFileSystem::new(Arc::new(OsFileSystem)));
    bench.clock.advance(world.bench.now_ms() - bench.now_ms());
    std::fs::create_dir(bench.path()).unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), bench.path().join(entry.file_name())).unwrap();
    }
    let mut log = bench
        .reopen(recovery_point)
        .unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(log.report().bytes_cut, 0, "{case}");
    assert_eq!(log.log_end_offset(), world.log.log_end_offset(), "{case}");
    check(&records(&log), world, case);
    clean(&bench, &mut log);
    let found = records(&log);
    check(&found, world, case);
    assert_eq!(
        found.len(),
        world.last.values().filter(|(_, value)| value.is_some()).count() + 1,
        "{case}: {found:?}"
    );
    let is_passing = |name: &String| Passing::of(name).is_some();
    assert!(!bench.names().iter().any(is_passing), "{case}: {:?}", bench.names());
}

#[test]
fn any_call_of_a_cleaning_may_fail() {
    let counted = {
        let mut world = world();
        world.disk.arm("nothing", 1, Fault::Crash);
        clean(&world.bench, &mut world.log);
        let counted = world.disk.counts();
        check(&records(&world.log), &world, "without a fault");
        counted
    };
    let mut cases = 0;
    for (label, calls) in &counted {
        for nth in 1..=*calls {
            for fault in FAULTS {
                let case = format!("{label} {nth} of {calls}: {fault:?}");
                let mut world = world();
                let recovery_point = world.log.recovery_point().get();
                world.disk.arm(label, nth, fault);
                let cleaned = clean_within(&world.bench, &mut world.log, 1 << 20);
                assert!(world.disk.has_fired(), "{case}");
                let has_crashed = world.disk.has_crashed();
                if !has_crashed {
                    // A call that may fail without harm is one that only tidies up.
                    let is_tidying = label.starts_with("remove") || label.starts_with("unlink");
                    assert!(cleaned.is_err() || is_tidying, "{case}");
                    world.disk.disarm();
                    check(&records(&world.log), &world, &case);
                }
                let dir = world.bench.path();
                reopen_and_clean(&world, &dir, recovery_point, &case);
                if has_crashed {
                    world.disk.lose_unsynced().unwrap();
                    reopen_and_clean(&world, &dir, recovery_point, &format!("{case}, power lost"));
                }
                cases += 1;
            }
        }
    }
    println!("{cases} cases at {} fail points: {counted:?}", counted.len());
    assert!(cases > 200, "{cases}");
}

#[test]
fn poisoned_log_is_left_alone() {
    let mut world = world();
    // The second rename to a real name: memory and disk differ from here on.
    world.disk.arm("rename:.index", 1, Fault::InputOutput);
    assert!(clean_within(&world.bench, &mut world.log, 1 << 20).is_err());
    world.disk.disarm();
    assert!(world.log.is_poisoned());
    assert!(clean_within(&world.bench, &mut world.log, 1 << 20).is_err());
    assert_eq!(world.log.first_dirty_offset(), Some(Offset(12)));
}

#[test]
fn replaced_files_stay_when_the_names_of_the_new_ones_cannot_be_synced() {
    let mut world = world();
    world.disk.arm("sync:dir", 1, Fault::InputOutput);
    assert!(clean_within(&world.bench, &mut world.log, 1 << 20).is_err());
    assert!(world.disk.has_fired());
    let names = world.bench.names();
    assert!(names.iter().any(|name| name.ends_with(".log.deleted")), "{names:?}");
}
