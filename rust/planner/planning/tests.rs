//! What a read reads, on real files.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::super::filters::{Filter, push};
use super::super::{Ask, Cluster, Live, PlanError, ReadOptions, Result, Wanted, cut};
use super::{Planned, PlannedPartition, Way, loss_sentence, plan};
use base::place::{LeaderEpoch, Offset};
use scan::testing::{Bench, START_MS, fill, os, write_checkpoint};
use scan::{Isolation, ScanError, Watermarks};
use storage::format::LOG_START_OFFSET_CHECKPOINT;

/// Topic `topic` with partitions 0 and 1: thirty records each, one a millisecond, two in a batch, in three segments.
fn two_partitions() -> Bench {
    let bench = Bench::new(&[]);
    let times: Vec<i64> = (0..30).map(|n| START_MS + n).collect();
    fill(&bench, &times, 2, 5);
    copy(&bench, "topic-1");
    bench
}

fn copy(bench: &Bench, name: &str) {
    let other = bench.dir.path().join(name);
    fs::create_dir(&other).unwrap();
    for entry in fs::read_dir(bench.path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), other.join(entry.file_name())).unwrap();
    }
}

fn options(bench: &Bench, given: &[(&str, &str)]) -> ReadOptions {
    let mut all: BTreeMap<String, String> = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    all.entry("path".to_owned())
        .or_insert_with(|| bench.dir.path().display().to_string());
    let names_topics = ["assign", "subscribePattern", "subscribe"];
    if !names_topics.iter().any(|name| all.contains_key(*name)) {
        all.insert("subscribe".to_owned(), "topic".to_owned());
    }
    ReadOptions::parse(&all, 1 << 30).unwrap().0
}

fn planned(bench: &Bench, given: &[(&str, &str)], wanted: &Wanted) -> Result<Planned> {
    let options = options(bench, given);
    plan(&os(), &options, wanted, None, None)
}

fn ranges(planned: &Planned) -> Vec<(i32, i64, i64)> {
    let of = |plan: &PlannedPartition| (plan.partition.partition, plan.start_offset.get(), plan.end_offset.get());
    planned.plans.iter().map(of).collect()
}

fn read(bench: &Bench, given: &[(&str, &str)]) -> Vec<(i32, i64, i64)> {
    ranges(&planned(bench, given, &Wanted::default()).unwrap())
}

fn filtered(bench: &Bench, filters: Value) -> Vec<(i32, i64, i64)> {
    let filters: Vec<Filter> = serde_json::from_value(filters).unwrap();
    let (taken, wanted) = push(&filters);
    assert_eq!(taken.len(), filters.len());
    ranges(&planned(bench, &[], &wanted).unwrap())
}

fn sentence(bench: &Bench, given: &[(&str, &str)]) -> String {
    planned(bench, given, &Wanted::default()).err().unwrap().to_string()
}

#[test]
fn every_partition_of_a_topic_is_read_from_the_earliest_to_the_latest() {
    let bench = two_partitions();
    assert_eq!(read(&bench, &[]), [(0, 0, 30), (1, 0, 30)]);
}

#[test]
fn assigned_partitions_alone_are_read() {
    let bench = two_partitions();
    assert_eq!(read(&bench, &[("assign", r#"{"topic":[1]}"#)]), [(1, 0, 30)]);
    assert_eq!(
        sentence(&bench, &[("assign", r#"{"topic":[1,7]}"#)]),
        format!(
            "assign: {} has partitions [0, 1] of topic, not [7]; assign those that are there",
            bench.dir.path().display()
        )
    );
}

#[test]
fn a_topic_that_is_not_there_is_named() {
    let bench = two_partitions();
    let error = planned(&bench, &[("subscribe", "nobody")], &Wanted::default())
        .err()
        .unwrap();
    assert!(matches!(error, PlanError::NotFound(_)), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!(
            "path: there is no topic nobody in {}; name a topic or log directory that is there",
            bench.dir.path().display()
        )
    );
}

#[test]
fn a_pattern_reads_the_topics_that_match_but_none_of_kafkas_own() {
    let bench = two_partitions();
    copy(&bench, "__consumer_offsets-0");
    copy(&bench, "other-0");
    let all = planned(&bench, &[("subscribePattern", ".*")], &Wanted::default()).unwrap();
    let topics: Vec<_> = all.plans.iter().map(|plan| plan.partition.to_string()).collect();
    assert_eq!(topics, ["other-0", "topic-0", "topic-1"]);

    let none = planned(&bench, &[("subscribePattern", "top")], &Wanted::default()).unwrap();
    assert!(none.plans.is_empty());
    let dir = bench.dir.path().display();
    assert_eq!(
        none.warnings,
        [format!("subscribePattern: no topic in {dir} matches top")]
    );
}

#[test]
fn offsets_cut_each_partition() {
    let bench = two_partitions();
    let start = ("startingOffsets", r#"{"topic":{"0":3,"1":-2}}"#);
    let end = ("endingOffsets", r#"{"topic":{"0":-1,"1":4}}"#);
    assert_eq!(read(&bench, &[start, end]), [(0, 3, 30), (1, 0, 4)]);
    let empty = ("endingOffsets", r#"{"topic":{"0":3,"1":4}}"#);
    assert_eq!(read(&bench, &[start, empty]), [(1, 0, 4)]);
}

#[test]
fn json_that_names_other_partitions_than_those_read_is_a_mistake() {
    let bench = two_partitions();
    assert_eq!(
        sentence(&bench, &[("startingOffsets", r#"{"topic":{"0":1}}"#)]),
        "startingOffsets: JSON must name exactly the partitions read, and lacks topic-1; add it, -2 being the \
         earliest, -1 the latest"
    );
    assert_eq!(
        sentence(&bench, &[("endingOffsetsByTimestamp", r#"{"other":{"0":1}}"#)]),
        "endingOffsetsByTimestamp: JSON must name exactly the partitions read, and lacks topic-0; add it"
    );
    assert_eq!(
        sentence(
            &bench,
            &[("endingOffsetsByTimestamp", r#"{"topic":{"0":1,"1":1,"3":1}}"#)]
        ),
        "endingOffsetsByTimestamp: JSON must name exactly the partitions read, and has topic-3; it is not read; leave \
         it out"
    );
}

#[test]
fn times_become_the_first_offsets_that_are_as_late() {
    let bench = two_partitions();
    let (start, end) = ((START_MS + 4).to_string(), (START_MS + 9).to_string());
    let given = [("startingTimestamp", start.as_str()), ("endingTimestamp", end.as_str())];
    assert_eq!(read(&bench, &given), [(0, 4, 9), (1, 4, 9)]);
    let late = format!(r#"{{"topic":{{"0":{},"1":{}}}}}"#, START_MS + 4, START_MS + 29);
    let given = [("startingOffsetsByTimestamp", late.as_str())];
    assert_eq!(read(&bench, &given), [(0, 4, 30), (1, 29, 30)]);
}

#[test]
fn a_start_by_time_that_no_record_reaches_is_a_mistake_or_the_latest() {
    let bench = two_partitions();
    let late = (START_MS + 99).to_string();
    assert_eq!(
        sentence(&bench, &[("startingTimestamp", &late)]),
        format!(
            "startingTimestamp: topic-0 has no record at {late} or later; choose an earlier time or set \
             startingOffsetsByTimestampStrategy to \"latest\""
        )
    );
    let latest = ("startingOffsetsByTimestampStrategy", "latest");
    assert_eq!(read(&bench, &[("startingTimestamp", &late), latest]), []);
}

#[test]
fn filters_narrow_the_ranges() {
    let bench = two_partitions();
    let micros = |ms: i64| (START_MS + ms) * 1000;
    let late = json!([{"column": "timestamp", "op": "GreaterThanOrEqual", "values": [micros(7)]}]);
    assert_eq!(filtered(&bench, late), [(0, 7, 30), (1, 7, 30)]);
    let cut = json!([
        {"column": "offset", "op": "LessThan", "values": [12]},
        {"column": "offset", "op": "GreaterThan", "values": [2]},
        {"column": "partition", "op": "EqualTo", "values": [1]},
    ]);
    assert_eq!(filtered(&bench, cut), [(1, 3, 12)]);
    let too_late = json!([{"column": "timestamp", "op": "GreaterThan", "values": [micros(999)]}]);
    assert_eq!(filtered(&bench, too_late), []);
    let nothing = json!([{"column": "key", "op": "In", "values": [null]}]);
    assert_eq!(filtered(&bench, nothing), []);
    let other = json!([{"column": "topic", "op": "EqualTo", "values": ["other"]}]);
    assert_eq!(filtered(&bench, other), []);
}

#[test]
fn offsets_that_are_gone_fail_the_read_or_are_a_warning() {
    let bench = two_partitions();
    write_checkpoint(&bench, LOG_START_OFFSET_CHECKPOINT, 10);
    let start = ("startingOffsets", r#"{"topic":{"0":4,"1":4}}"#);
    let error = planned(&bench, &[start], &Wanted::default()).err().unwrap();
    assert!(matches!(error, PlanError::Scan(ScanError::Lost { .. })), "{error:?}");

    let lenient = [start, ("failOnDataLoss", "false")];
    let planned = planned(&bench, &lenient, &Wanted::default()).unwrap();
    assert_eq!(ranges(&planned), [(0, 10, 30), (1, 4, 30)]);
    assert_eq!(planned.warnings, [loss_sentence("topic", 0, Offset(4), Offset(10))]);
    assert_eq!(
        planned.warnings[0],
        "topic-0: offsets 4 to 10 are gone, by retention or with their topic; some data may have been lost (set the \
         option \"failOnDataLoss\" to \"true\" to fail instead)"
    );
}

/// Brokers of the cluster "c": partitions of `topic`, of 1,000 bytes and led by broker 1 in epoch 3.
#[derive(Default)]
struct Answers {
    /// Log start and end of each partition.
    ends: BTreeMap<i32, (i64, i64)>,
    in_sync: Vec<i32>,
    /// By how much the ends are higher at each further question, and how many there were.
    growth: i64,
    questions: Cell<i64>,
    /// The answer to every question for an offset by time.
    at_time: Option<i64>,
    /// Whether no leader tells how large its logs are.
    is_without_sizes: bool,
}

impl Answers {
    fn of(ends: &[(i32, (i64, i64))]) -> Self {
        Self {
            ends: ends.iter().copied().collect(),
            in_sync: vec![1, 2],
            ..Self::default()
        }
    }
}

impl Ask for Answers {
    fn cluster(&self) -> Result<Cluster> {
        Ok(Cluster {
            id: "c".to_owned(),
            nodes: vec![1, 2],
        })
    }

    fn topics(&self) -> Result<Vec<String>> {
        Ok(vec!["topic".to_owned()])
    }

    fn partitions(&self, topic: &str, partitions: Option<&[i32]>) -> Result<BTreeMap<i32, Live>> {
        if topic != "topic" {
            return Err(PlanError::NotFound(format!("topic {topic} is not known to the broker")));
        }
        let growth = self.growth * self.questions.replace(self.questions.get() + 1);
        let is_wanted = |partition: &i32| partitions.is_none_or(|all| all.contains(partition));
        let of = |(start, end): (i64, i64)| Live {
            watermarks: Watermarks {
                log_start_offset: Offset(start),
                high_watermark: Offset(end + growth),
                last_stable_offset: Offset(end + growth),
            },
            leader: 1,
            leader_epoch: LeaderEpoch(3),
            in_sync: self.in_sync.clone(),
            hosts: vec!["one".to_owned(), "two".to_owned()],
        };
        let wanted = self.ends.iter().filter(|(partition, _)| is_wanted(partition));
        Ok(wanted.map(|(partition, ends)| (*partition, of(*ends))).collect())
    }

    fn first_at(&self, _: &str, times: &BTreeMap<i32, i64>) -> Result<BTreeMap<i32, Offset>> {
        let found = self.at_time.into_iter();
        Ok(found
            .flat_map(|at| times.keys().map(move |partition| (*partition, Offset(at))))
            .collect())
    }

    fn sizes(&self, _: &str, partitions: &[i32]) -> Result<BTreeMap<i32, u64>> {
        let told = partitions.iter().filter(|_| !self.is_without_sizes);
        Ok(told.map(|partition| (*partition, 1000)).collect())
    }
}

const SERVERS: (&str, &str) = ("kafka.bootstrap.servers", "one:1");

fn asked(bench: &Bench, answers: &Answers, given: &[(&str, &str)]) -> Result<Planned> {
    let mut all = vec![SERVERS];
    all.extend(given);
    plan(&os(), &options(bench, &all), &Wanted::default(), Some(answers), None)
}

fn ways(planned: &Planned) -> Vec<(i32, bool)> {
    let of = |plan: &PlannedPartition| (plan.partition.partition, matches!(plan.way, Way::Files(_)));
    planned.plans.iter().map(of).collect()
}

fn written_by(bench: &Bench, cluster: &str, node: i32) {
    let text = format!("version=1\ncluster.id={cluster}\nnode.id={node}\n");
    fs::write(bench.dir.path().join("meta.properties"), text).unwrap();
}

#[test]
fn the_broker_says_how_far_may_be_read() {
    let bench = two_partitions();
    let planned = asked(&bench, &Answers::of(&[(0, (2, 20)), (1, (0, 30))]), &[]).unwrap();
    assert_eq!(ranges(&planned), [(0, 2, 20), (1, 0, 30)]);
    assert_eq!(ways(&planned), [(0, true), (1, true)]);
}

#[test]
fn a_partition_that_a_cleaner_may_have_passed_is_planned_anew_until_its_end_stands_still() {
    let bench = two_partitions(); // sealed up to 20
    for (growth, end, questions) in [(4, 22, 4), (0, 10, 2)] {
        let mut answers = Answers::of(&[(0, (0, 10)), (1, (0, 20))]);
        answers.growth = growth;
        let planned = asked(&bench, &answers, &[]).unwrap();
        assert_eq!(ranges(&planned), [(0, 0, end), (1, 0, 20)]);
        assert_eq!((answers.questions.get(), planned.warnings.len()), (questions, 0));
    }
}

#[test]
fn partitions_without_files_here_or_with_files_that_are_behind_are_read_over_the_network() {
    let bench = two_partitions();
    let answers = Answers::of(&[(0, (0, 30)), (1, (0, 40)), (2, (10, 60))]);
    let all = asked(&bench, &answers, &[]).unwrap();
    assert_eq!(ranges(&all), [(0, 0, 30), (1, 0, 40), (2, 10, 60)]);
    assert_eq!(ways(&all), [(0, true), (1, false), (2, false)]);
    let remote = all.plans[2].remote.clone().unwrap();
    assert_eq!((remote.size_bytes, remote.leader_epoch), (1000, LeaderEpoch(3)));

    let some = r#"{"topic":{"0":-2,"1":-2,"2":20}}"#;
    let ends = r#"{"topic":{"0":-1,"1":-1,"2":30}}"#;
    let some = asked(&bench, &answers, &[("startingOffsets", some), ("endingOffsets", ends)]).unwrap();
    assert_eq!(ranges(&some)[2], (2, 20, 30));
    assert_eq!(some.plans[2].size_bytes(), 200);
}

#[test]
fn partitions_whose_size_no_leader_tells_are_cut_by_their_offsets() {
    let bench = two_partitions();
    let mut answers = Answers::of(&[(1, (0, 4000)), (2, (0, 6000))]);
    answers.is_without_sizes = true;
    let planned = asked(&bench, &answers, &[]).unwrap();
    assert_eq!(
        planned
            .plans
            .iter()
            .map(PlannedPartition::size_bytes)
            .collect::<Vec<_>>(),
        [2_000_000, 3_000_000]
    );
    let shares = cut(&planned.plans, Isolation::ReadCommitted, 5).unwrap();
    assert_eq!(shares.len(), 5, "without a size one task would read all");
}

#[test]
fn a_directory_is_read_if_its_broker_has_every_committed_record() {
    let bench = two_partitions();
    let mut answers = Answers::of(&[(0, (0, 30))]);
    for (node, is_read) in [(1, true), (2, true), (3, false)] {
        written_by(&bench, "c", node);
        assert_eq!(ways(&asked(&bench, &answers, &[]).unwrap()), [(0, is_read)], "{node}");
    }
    answers.in_sync = vec![1];
    written_by(&bench, "c", 2);
    assert_eq!(ways(&asked(&bench, &answers, &[]).unwrap()), [(0, false)]);

    written_by(&bench, "d", 1);
    assert_eq!(
        asked(&bench, &answers, &[]).err().unwrap().to_string(),
        format!(
            "path: {} belongs to cluster d, kafka.bootstrap.servers to c; name directories and brokers of one cluster",
            bench.dir.path().display()
        )
    );
}

#[test]
fn a_directory_that_is_not_here_is_a_warning_and_its_partitions_come_over_the_network() {
    let bench = two_partitions();
    let answers = Answers::of(&[(0, (0, 30))]);
    let planned = asked(&bench, &answers, &[("path", "/nowhere/{broker.id}")]).unwrap();
    assert_eq!(ways(&planned), [(0, false)]);
    assert_eq!(
        planned.warnings[1],
        "path: there is no directory /nowhere/2 here; partitions that no other directory has are read over the network"
    );
    let log_dirs = planned.plans[0].remote.clone().unwrap().log_dirs;
    assert_eq!(log_dirs, ["/nowhere/1", "/nowhere/2"].map(std::path::PathBuf::from));
}

#[test]
fn times_and_losses_over_the_network_mean_what_they_mean_in_files() {
    let bench = two_partitions();
    let mut answers = Answers::of(&[(7, (10, 60))]);
    answers.at_time = Some(25);
    let timed = asked(&bench, &answers, &[("startingTimestamp", "5")]).unwrap();
    assert_eq!(ranges(&timed), [(7, 25, 60)]);
    answers.at_time = None;
    let late = asked(&bench, &answers, &[("startingTimestamp", "5")]).err().unwrap();
    assert!(
        late.to_string().contains("topic-7 has no record at 5 or later"),
        "{late}"
    );

    let early = ("startingOffsets", r#"{"topic":{"7":4}}"#);
    let lost = asked(&bench, &answers, &[early]).err().unwrap();
    assert!(matches!(lost, PlanError::Scan(ScanError::Lost { .. })), "{lost:?}");
    let lenient = asked(&bench, &answers, &[early, ("failOnDataLoss", "false")]).unwrap();
    assert_eq!(ranges(&lenient), [(7, 10, 60)]);
    assert_eq!(lenient.warnings, [loss_sentence("topic", 7, Offset(4), Offset(10))]);
}

#[test]
fn shares_of_a_range_without_files_are_the_range_once() {
    let bench = two_partitions();
    let planned = asked(&bench, &Answers::of(&[(7, (10, 61))]), &[]).unwrap();
    let shares = cut(&planned.plans, Isolation::ReadCommitted, 4).unwrap();
    assert_eq!(shares.len(), 4);
    assert_eq!(shares[0].hosts(&planned.plans), ["one", "two"]);
    let mut at = Offset(10);
    for split in shares.iter().flat_map(|share| &share.splits) {
        assert_eq!((split.start_offset, split.aborted.clone()), (at, Some(Vec::new())));
        at = split.end_offset;
    }
    assert_eq!(at, Offset(61));
}

#[test]
fn brokers_that_cannot_be_asked_fail_the_plan() {
    let bench = two_partitions();
    let failed = asked(&bench, &Answers::default(), &[("subscribe", "nobody")]);
    assert_eq!(
        failed.err().unwrap().to_string(),
        "topic nobody is not known to the broker"
    );
}
