//! Which files of a task's machine are taken for those of the plan.

use std::fs;

use super::nearby;
use base::place::{LeaderEpoch, Offset};
use scan::testing::{Bench, START_MS, fill, offsets_of, os, plan, request};
use scan::{Remote, Split};

/// Thirty records, two in a batch, in the directory of a broker of the cluster "c".
fn written_by(node: i32) -> Bench {
    let bench = Bench::new(&[]);
    let times: Vec<i64> = (0..30).map(|n| START_MS + n).collect();
    fill(&bench, &times, 2, 5);
    name(&bench, "c", node);
    bench
}

fn name(bench: &Bench, cluster: &str, node: i32) {
    let text = format!("version=1\ncluster.id={cluster}\nnode.id={node}\n");
    fs::write(bench.dir.path().join("meta.properties"), text).unwrap();
}

/// The whole log as broker 1 has it, to be read where directories of brokers are under the path of its own. Brokers 1
/// and 2 had all of it.
fn planned(bench: &Bench) -> Split {
    let split = plan(&request(bench)).unwrap().splits(u64::MAX).unwrap().pop().unwrap();
    let remote = Remote {
        bootstrap_servers: "one:1".to_owned(),
        client_rack: String::new(),
        leader_epoch: LeaderEpoch(3),
        size_bytes: split.size_bytes(),
        cluster_id: "c".to_owned(),
        planned_dir: Some("c/1/".to_owned()),
        log_dirs: vec![bench.dir.path().to_path_buf()],
        in_sync: vec![1, 2],
    };
    Split {
        remote: Some(remote),
        ..split
    }
}

fn from_here(split: Split) -> Split {
    nearby(&os(), vec![split]).pop().unwrap()
}

#[test]
fn the_planned_directory_is_read_as_it_was_planned() {
    let bench = written_by(1);
    let split = planned(&bench);
    assert_eq!(from_here(split.clone()).encode().unwrap(), split.encode().unwrap());
}

#[test]
fn another_replica_under_the_same_path_is_read_at_its_own_positions() {
    let mut split = planned(&written_by(1));
    let here = written_by(2);
    let remote = split.remote.as_mut().unwrap();
    remote.log_dirs = vec![here.dir.path().to_path_buf()];
    for slice in &mut split.slices {
        let name = slice.path.file_name().unwrap();
        slice.path = here.path().join(name);
        slice.start = base::place::Position(1); // as in a log that was cleaned
    }
    let own = from_here(split);
    assert_eq!(offsets_of(&own), (0..30).collect::<Vec<_>>());
}

#[test]
fn a_replica_that_had_not_every_record_or_is_of_another_cluster_is_not_read() {
    let bench = written_by(1);
    let split = planned(&bench);
    for (cluster, node) in [("c", 3), ("d", 1), ("d", 2)] {
        name(&bench, cluster, node);
        let read = from_here(split.clone());
        assert!(read.slices.is_empty(), "{cluster} {node}");
        assert_eq!((read.start_offset, read.end_offset), (Offset(0), Offset(30)));
    }
}

#[test]
fn a_range_that_begins_and_ends_within_batches_is_read_in_the_files_that_are_seen_here() {
    let bench = written_by(2);
    let split = Split {
        start_offset: Offset(3),
        end_offset: Offset(7),
        slices: Vec::new(),
        ..planned(&bench)
    };
    let own = from_here(split);
    assert!(!own.slices.is_empty());
    assert_eq!(offsets_of(&own), [3, 4, 5, 6]);
}

#[test]
fn a_replica_that_ends_before_the_range_does_is_not_read() {
    let bench = written_by(2);
    let split = Split {
        end_offset: Offset(31),
        slices: Vec::new(),
        ..planned(&bench)
    };
    assert!(from_here(split).slices.is_empty());
}
