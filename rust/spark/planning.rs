//! Fixes what a read reads: the topics and partitions, and a closed range of offsets for each.
//!
//! Planning reads indexes and checkpoints, or asks the broker where `kafka.bootstrap.servers` is given, and never reads
//! a record's key or value. The steps, in letters:
//!
//! - (a) topics: named, matched or assigned
//! - (b) bounds: times become offsets; a start that no record reaches is a mistake, or becomes the latest
//! - (c) filters: pushed filters narrow the ranges of offsets
//! - (d) the ranges are planned, and links made to their segments where they are wanted

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use super::bounds::{Kind, RangeBound};
use super::options::{ReadOptions, Topics};
use super::watermarks::{DEFAULT_TIMEOUT, fetch_broker_offsets};
use super::{PlanError, Range, Result, Wanted};
use crate::io::FileSystem;
use crate::place::Offset;
use crate::scan::{self, Bound, PartitionPlan, ScanRequest, Watermarks, plan_scan};

/// Topics of Kafka's own: a pattern never matches them, their records are not for applications.
const INTERNAL: [&str; 4] = [
    "__cluster_metadata",
    "__consumer_offsets",
    "__share_group_state",
    "__transaction_state",
];
/// The key of a bound for every partition that is not named.
const EVERY: i32 = -1;

/// Asks how far partitions of a topic may be read, all of them for `None`; an empty answer leaves it to the files.
pub type Asker<'a> = &'a dyn Fn(&str, Option<&[i32]>) -> Result<HashMap<i32, Watermarks>>;

/// The ranges of a read, and what the user should know about them.
pub struct Planned {
    /// Ranges that are not empty, by topic and partition.
    pub plans: Vec<PartitionPlan>,
    /// Ranges that are empty; those that are already known to be so before the files are looked at are left out.
    pub empty: Vec<PartitionPlan>,
    /// Sentences for the log.
    pub warnings: Vec<String>,
}

/// Asks the broker of `kafka.bootstrap.servers`, if there is one.
pub fn ask_broker(options: &ReadOptions) -> impl Fn(&str, Option<&[i32]>) -> Result<HashMap<i32, Watermarks>> {
    let servers = options.bootstrap_servers.clone();
    move |topic, partitions| match &servers {
        Some(servers) => fetch_broker_offsets(servers, topic, partitions, DEFAULT_TIMEOUT),
        None => Ok(HashMap::new()),
    }
}

/// Plans a read. Links to the segments go below `link_dir`, which the caller removes when this fails.
pub fn plan(
    fs: &Arc<dyn FileSystem>,
    options: &ReadOptions,
    wanted: &Wanted,
    ask: Asker<'_>,
    link_dir: Option<&Path>,
) -> Result<Planned> {
    let mut planned = Planned {
        plans: Vec::new(),
        empty: Vec::new(),
        warnings: Vec::new(),
    };
    for (topic, partitions) in topics(fs, options, &mut planned.warnings)? {
        let watermarks = ask(&topic, partitions.as_deref())?;
        let of_topic = TopicPlanner {
            fs,
            options,
            wanted,
            topic,
            watermarks,
            link_dir,
        };
        of_topic.plan(partitions.as_deref(), &mut planned)?;
    }
    Ok(planned)
}

/// The warning about offsets that are gone when `failOnDataLoss` is false.
pub fn loss_sentence(topic: &str, partition: i32, start: Offset, end: Offset) -> String {
    format!(
        "{topic}-{partition}: offsets {start} to {end} are gone, by retention or with their topic; some data may have \
         been lost (set the option \"failOnDataLoss\" to \"true\" to fail instead)"
    )
}

/// (a) Each topic with the partitions to read of it, `None` for all.
fn topics(
    fs: &Arc<dyn FileSystem>,
    options: &ReadOptions,
    warnings: &mut Vec<String>,
) -> Result<Vec<(String, Option<Vec<i32>>)>> {
    let pattern = match &options.topics {
        Topics::Named(names) => return Ok(names.iter().map(|name| (name.clone(), None)).collect()),
        Topics::Assigned(all) => {
            let each = all.iter().cloned();
            return Ok(each.map(|(topic, partitions)| (topic, Some(partitions))).collect());
        }
        Topics::Matching(pattern) => pattern,
    };
    let mut names: Vec<String> = scan::find_partitions(&**fs, &options.log_dirs, None)?
        .into_iter()
        .map(|found| found.topic.to_string())
        .filter(|name| !INTERNAL.contains(&name.as_str()) && pattern.compiled.matches(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        let (dirs, text) = (options.where_it_reads(), &pattern.text);
        warnings.push(format!("subscribePattern: no topic in {dirs} matches {text}"));
    }
    Ok(names.into_iter().map(|name| (name, None)).collect())
}

/// Bounds by partition.
type Bounds = BTreeMap<i32, Bound>;

struct TopicPlanner<'a> {
    fs: &'a Arc<dyn FileSystem>,
    options: &'a ReadOptions,
    wanted: &'a Wanted,
    topic: String,
    watermarks: HashMap<i32, Watermarks>,
    link_dir: Option<&'a Path>,
}

impl TopicPlanner<'_> {
    fn plan(&self, partitions: Option<&[i32]>, planned: &mut Planned) -> Result<()> {
        let (options, topic) = (self.options, &self.topic);
        let found = self.found(partitions)?;
        let is_wanted = |partition: &i32| self.wanted.has(topic, *partition);
        let mut chosen: Vec<i32> = found.iter().copied().filter(is_wanted).collect();
        options.start.check_places(topic, &found)?;
        options.end.check_places(topic, &found)?;
        if chosen.is_empty() {
            return Ok(());
        }
        // (b)
        let mut start = self.bounds(&options.start, &chosen)?;
        let mut end = self.bounds(&options.end, &chosen)?;
        if options.start.kind == Kind::Timestamp {
            let reached = self.scan(&chosen, &start, &every(Bound::Latest), None)?;
            self.check_reached(&reached)?;
            start = offsets(&reached, |plan| plan.start_offset);
        }
        if options.end.kind == Kind::Timestamp {
            let reached = self.scan(&chosen, &every(Bound::Earliest), &end, None)?;
            end = offsets(&reached, |plan| plan.end_offset);
        }
        // (c)
        if self.wanted.offsets != Range::ALL || self.wanted.timestamps_ms != Range::ALL {
            (start, end) = self.narrowed(&chosen, &start, &end)?;
        }
        chosen.retain(|partition| !is_empty(start.get(partition), end.get(partition)));
        if chosen.is_empty() || self.wanted.is_nothing() {
            return Ok(());
        }
        // (d)
        start.retain(|partition, _| chosen.contains(partition));
        end.retain(|partition, _| chosen.contains(partition));
        for plan in self.scan(&chosen, &start, &end, self.link_dir)? {
            let partition = plan.partition.partition;
            let lost = plan.lost.iter();
            planned
                .warnings
                .extend(lost.map(|(from, to)| loss_sentence(topic, partition, *from, *to)));
            if plan.start_offset < plan.end_offset {
                planned.plans.push(plan);
            } else {
                planned.empty.push(plan);
            }
        }
        Ok(())
    }

    /// The partitions on disk that are to be read, in order.
    fn found(&self, partitions: Option<&[i32]>) -> Result<Vec<i32>> {
        let (topic, dirs) = (&self.topic, self.options.where_it_reads());
        let listed = scan::find_partitions(&**self.fs, &self.options.log_dirs, Some(topic))?;
        let found: Vec<i32> = listed.into_iter().map(|it| it.partition).collect();
        if found.is_empty() {
            return Err(PlanError::NotFound(format!(
                "path: there is no topic {topic} in {dirs}; name a topic or log directory that is there"
            )));
        }
        let Some(partitions) = partitions else {
            return Ok(found);
        };
        let missing: Vec<i32> = partitions.iter().copied().filter(|it| !found.contains(it)).collect();
        if missing.is_empty() {
            return Ok(partitions.to_vec());
        }
        Err(PlanError::NotFound(format!(
            "assign: {dirs} has partitions {found:?} of {topic}, not {missing:?}; assign those that are there"
        )))
    }

    fn bounds(&self, bound: &RangeBound, partitions: &[i32]) -> Result<Bounds> {
        let of = |partition: &i32| Ok((*partition, bound.of(&self.topic, *partition)?));
        partitions.iter().map(of).collect()
    }

    fn scan(
        &self,
        partitions: &[i32],
        start: &Bounds,
        end: &Bounds,
        link_dir: Option<&Path>,
    ) -> Result<Vec<PartitionPlan>> {
        let by_partition = |bounds: &Bounds| bounds.iter().map(|(partition, bound)| (*partition, *bound)).collect();
        let request = ScanRequest {
            log_dirs: self.options.log_dirs.clone(),
            topic: self.topic.clone(),
            partitions: Some(partitions.to_vec()),
            start: by_partition(start),
            end: by_partition(end),
            isolation: self.options.isolation,
            watermarks: self.watermarks.clone(),
            fail_on_data_loss: self.options.fail_on_data_loss,
            keep_open: false,
            link_dir: link_dir.map(Path::to_path_buf),
        };
        Ok(plan_scan(self.fs, &request)?)
    }

    /// Refuses a start by time that no record reaches, unless the strategy is "latest", as Spark does.
    fn check_reached(&self, plans: &[PartitionPlan]) -> Result<()> {
        if self.options.starts_at_latest_when_no_time_matches {
            return Ok(());
        }
        let Some(plan) = plans.iter().find(|plan| plan.start_offset >= plan.end_limit) else {
            return Ok(());
        };
        let start = &self.options.start;
        let time_ms = start.number(&self.topic, plan.partition.partition).unwrap_or_default();
        Err(PlanError::Invalid(format!(
            "{}: {} has no record at {time_ms} or later; choose an earlier time or set \
             startingOffsetsByTimestampStrategy to \"latest\"",
            start.option, plan.partition
        )))
    }

    /// The bounds within what the pushed filters keep. The first offset with a time is a start only: later records may
    /// have earlier times.
    fn narrowed(&self, chosen: &[i32], start: &Bounds, end: &Bounds) -> Result<(Bounds, Bounds)> {
        let (kept, times) = (self.wanted.offsets, self.wanted.timestamps_ms);
        let base = self.scan(chosen, start, end, None)?;
        let by_time: BTreeMap<i32, Offset> = if times.low == i64::MIN {
            BTreeMap::new()
        } else {
            let first = every(Bound::Timestamp(times.low.max(0)));
            let plans = self.scan(chosen, &first, &every(Bound::Latest), None)?;
            plans
                .iter()
                .map(|it| (it.partition.partition, it.start_offset))
                .collect()
        };
        let start = offsets(&base, |plan| {
            let timely = by_time.get(&plan.partition.partition).copied().unwrap_or_default();
            plan.start_offset.max(Offset(kept.low)).max(timely)
        });
        let end = offsets(&base, |plan| plan.end_offset.min(Offset(kept.high)));
        Ok((start, end))
    }
}

fn every(bound: Bound) -> Bounds {
    [(EVERY, bound)].into()
}

fn offsets(plans: &[PartitionPlan], of: impl Fn(&PartitionPlan) -> Offset) -> Bounds {
    let bound = |plan: &PartitionPlan| (plan.partition.partition, Bound::Offset(of(plan)));
    plans.iter().map(bound).collect()
}

/// Whether the range is known to be empty.
fn is_empty(start: Option<&Bound>, end: Option<&Bound>) -> bool {
    matches!((start, end), (Some(Bound::Offset(start)), Some(Bound::Offset(end))) if start >= end)
}

#[cfg(test)]
mod tests;
