//! Shares: about equal, in order, and together exactly the ranges.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{PlannedPartition, ReadOptions, Share, share_count};
use scan::Isolation;
use scan::testing::{Bench, START_MS, fill, offsets_of, plan, request};

const MIB: u64 = 1 << 20;

fn planned(bench: &Bench) -> PlannedPartition {
    PlannedPartition::of_files(plan(&request(bench)).unwrap(), None)
}

fn cut(plans: &[PlannedPartition], count: usize) -> Vec<Share> {
    super::cut(plans, Isolation::ReadUncommitted, count).unwrap()
}

fn count(given: &[(&str, &str)], total: u64, cores: usize) -> usize {
    let mut all: BTreeMap<String, String> = [("path", "/data"), ("subscribe", "t")]
        .into_iter()
        .chain(given.iter().copied())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    all.entry("splitBytes".to_owned()).or_insert((128 * MIB).to_string());
    share_count(&ReadOptions::parse(&all, 1).unwrap().0, total, cores)
}

#[test]
fn shares_are_few_and_large_but_leave_no_core_idle() {
    assert_eq!(count(&[], 0, 4), 1);
    assert_eq!(count(&[], 8 * MIB, 4), 1);
    assert_eq!(count(&[], 20 * MIB, 4), 3);
    assert_eq!(count(&[], 500 * MIB, 4), 4);
    assert_eq!(count(&[], 513 * MIB, 4), 8);
    assert_eq!(count(&[], 500 * MIB, 0), 4);
}

#[test]
fn min_partitions_and_split_bytes_are_followed() {
    assert_eq!(count(&[("minPartitions", "7")], MIB, 4), 7);
    assert_eq!(count(&[("splitBytes", "1048576")], 6 * MIB, 4), 8);
    assert_eq!(count(&[("splitBytes", "1")], u64::MAX, 3), usize::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn shares_are_the_range_once_and_in_order(records in 1_usize..60, per_batch in 1_usize..5, wanted in 1_usize..40) {
        let bench = Bench::new(&[]);
        let times: Vec<i64> = (0..records).map(|n| START_MS + n as i64).collect();
        fill(&bench, &times, per_batch, 4);
        let plans = [planned(&bench)];
        let shares = cut(&plans, wanted);
        prop_assert!(shares.len() <= wanted);
        prop_assert!(shares.iter().all(|share| !share.splits.is_empty() && share.size_bytes() > 0));
        let read: Vec<i64> = shares.iter().flat_map(|share| &share.splits).flat_map(offsets_of).collect();
        prop_assert_eq!(read, (0..records as i64).collect::<Vec<_>>());
    }
}

#[test]
fn sizes_of_shares_differ_by_little() {
    let bench = Bench::new(&[]);
    let times: Vec<i64> = (0..2000).map(|n| START_MS + n).collect();
    fill(&bench, &times, 1, 300);
    let plans = [planned(&bench)];
    let sizes: Vec<u64> = cut(&plans, 4).iter().map(Share::size_bytes).collect();
    assert_eq!(sizes.len(), 4);
    let (least, greatest) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(greatest - least < plans[0].size_bytes() / 8, "{sizes:?}");
}

#[test]
fn nothing_to_read_is_no_share() {
    assert!(cut(&[], 8).is_empty());
}

#[test]
fn more_shares_than_memory_could_list_are_as_many_as_there_are_batches() {
    let bench = Bench::new(&[]);
    fill(&bench, &[START_MS; 6], 2, 9);
    assert_eq!(cut(&[planned(&bench)], usize::MAX).len(), 3);
}
