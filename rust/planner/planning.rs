//! Fixes what a read reads: the topics and partitions, a closed range of offsets for each, and the way to its records.
//!
//! Planning reads indexes and checkpoints, and asks the brokers where `kafka.bootstrap.servers` is given; it never
//! reads a record's key or value. Without brokers a read has the partitions that are in the log directories. With them
//! it has those of the cluster: each is read in a log directory of a replica that has every committed record, or, where
//! this machine sees none, over the network. The steps, in letters:
//!
//! - (a) topics: named, matched or assigned
//! - (b) bounds: times become offsets; a start that no record reaches is a mistake, or becomes the latest
//! - (c) filters: pushed filters narrow the ranges of offsets
//! - (d) the ranges are planned, and links made to their segments where they are wanted

mod local_log_dirs;
mod network;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use self::local_log_dirs::{LocalLogDirs, dir_name};
use self::network::OverNetwork;
use super::bounds::{BoundKind, RangeBound};
use super::brokers::{Brokers, DEFAULT_TIMEOUT, LivePartition, OffsetLookup};
use super::options::{ReadOptions, TopicSelection};
use super::{PlanError, Range, RecordFilter, Result};
use ::io::FileSystem;
use base::place::Offset;
use scan::{self, Bound, PartitionPlan, Remote, ScanError, ScanRequest, plan_scan};
use storage::TopicPartition;

/// Topics of Kafka's own: a pattern never matches them, their records are not for applications.
const INTERNAL: [&str; 4] = [
    "__cluster_metadata",
    "__consumer_offsets",
    "__share_group_state",
    "__transaction_state",
];
/// How often partitions are planned anew that a cleaner may have passed meanwhile.
const OVERTAKEN_TRIES: usize = 10;
/// The key of a bound for every partition that is not named.
const EVERY: i32 = -1;

/// The ranges of a read, and what the user should know about them.
pub struct ReadPlan {
    /// Ranges that are not empty, by topic and partition.
    pub plans: Vec<PlannedPartition>,
    /// Ranges that are empty; those that are already known to be so before the files are looked at are left out.
    pub empty: Vec<PlannedPartition>,
    /// Sentences for the log.
    pub warnings: Vec<String>,
}

/// The closed range of one partition; it does not move with the log.
pub struct PlannedPartition {
    /// The partition.
    pub partition: TopicPartition,
    /// First offset to read.
    pub start_offset: Offset,
    /// One past the last.
    pub end_offset: Offset,
    /// First offset of the log when it was planned.
    pub log_start_offset: Offset,
    /// One past the last offset that may be read.
    pub end_limit: Offset,
    /// Requested ranges that are lost; only without `failOnDataLoss`.
    pub lost: Vec<(Offset, Offset)>,
    /// How its records are read.
    pub way: ReadMethod,
    /// What brokers tell of it, where they were asked.
    pub live: Option<LivePartition>,
    /// Where else a task finds its records; nowhere when no brokers were asked.
    pub remote: Option<Remote>,
}

/// The bytes for each offset where the leader does not tell how large its logs are, as to a user who may not describe
/// the cluster: without any, one task would read all.
const ASSUMED_RECORD_BYTES: u128 = 500;

/// How the records of a partition are read.
pub enum ReadMethod {
    /// From files that the planning machine sees.
    Files(Box<PartitionPlan>),
    /// From its brokers, or from files that only a task's machine sees.
    Network {
        /// About so many bytes of segments, as the leader tells.
        size_bytes: u64,
    },
}

impl PlannedPartition {
    pub(super) fn of_files(plan: PartitionPlan, live: Option<&LivePartition>) -> Self {
        Self {
            partition: plan.partition.clone(),
            start_offset: plan.start_offset,
            end_offset: plan.end_offset,
            log_start_offset: plan.log_start_offset,
            end_limit: plan.end_limit,
            lost: plan.lost.clone(),
            way: ReadMethod::Files(Box::new(plan)),
            live: live.cloned(),
            remote: None,
        }
    }

    fn is_overtaken(&self) -> bool {
        matches!(&self.way, ReadMethod::Files(plan) if plan.is_overtaken)
    }

    /// Bytes that are read at most.
    pub fn size_bytes(&self) -> u64 {
        match &self.way {
            ReadMethod::Files(plan) => plan.size_bytes(),
            ReadMethod::Network { size_bytes } => *size_bytes,
        }
    }
}

/// The brokers of `kafka.bootstrap.servers`, if there are any.
pub fn brokers_of(options: &ReadOptions) -> Result<Option<Brokers>> {
    let servers = options.bootstrap_servers.as_deref();
    servers
        .map(|servers| Ok(Brokers::parse(servers, options.security.clone(), DEFAULT_TIMEOUT)?.pooled()))
        .transpose()
}

/// Plans a read. Links to the segments go below `link_dir`, which the caller removes when this fails.
pub fn plan(
    fs: &Arc<dyn FileSystem>,
    options: &ReadOptions,
    wanted: &RecordFilter,
    ask: Option<&dyn OffsetLookup>,
    link_dir: Option<&Path>,
) -> Result<ReadPlan> {
    let mut planned = ReadPlan {
        plans: Vec::new(),
        empty: Vec::new(),
        warnings: Vec::new(),
    };
    let whole = ReadPlanner::begin(fs, options, wanted, ask, link_dir)?;
    if ask.is_some() {
        let missing = whole.seen.missing.iter();
        planned.warnings.extend(missing.map(|dir| not_seen(dir)));
    }
    for (topic, partitions) in whole.topics(&mut planned.warnings)? {
        let mut of_topic = TopicPlanner {
            live: whole.live(&topic, partitions.as_deref())?,
            read: &whole,
            topic,
        };
        of_topic.plan(partitions.as_deref(), &mut planned)?;
    }
    Ok(planned)
}

fn not_seen(dir: &Path) -> String {
    format!(
        "path: there is no directory {} here; partitions that no other directory has are read over the network",
        dir.display()
    )
}

/// The warning about offsets that are gone when `failOnDataLoss` is false.
pub fn loss_sentence(topic: &str, partition: i32, start: Offset, end: Offset) -> String {
    format!(
        "{topic}-{partition}: offsets {start} to {end} are gone, by retention or with their topic; some data may have \
         been lost (set the option \"failOnDataLoss\" to \"true\" to fail instead)"
    )
}

/// A read that is being planned.
struct ReadPlanner<'a> {
    fs: &'a Arc<dyn FileSystem>,
    options: &'a ReadOptions,
    wanted: &'a RecordFilter,
    ask: Option<&'a dyn OffsetLookup>,
    link_dir: Option<&'a Path>,
    log_dirs: Vec<PathBuf>,
    /// The directories of those that this machine sees; without brokers nobody looks before the files are planned.
    seen: LocalLogDirs,
    /// Of the brokers; nothing without any.
    cluster_id: String,
}

impl<'a> ReadPlanner<'a> {
    fn begin(
        fs: &'a Arc<dyn FileSystem>,
        options: &'a ReadOptions,
        wanted: &'a RecordFilter,
        ask: Option<&'a dyn OffsetLookup>,
        link_dir: Option<&'a Path>,
    ) -> Result<Self> {
        let cluster = ask.map(OffsetLookup::cluster).transpose()?;
        let nodes = cluster.as_ref().map(|cluster| cluster.nodes.as_slice());
        let log_dirs = options.log_dirs.of_brokers(nodes.unwrap_or_default());
        let seen = match &cluster {
            Some(cluster) => LocalLogDirs::of(&**fs, &log_dirs, &cluster.id)?,
            None => LocalLogDirs::default(),
        };
        Ok(Self {
            fs,
            options,
            wanted,
            ask,
            link_dir,
            log_dirs,
            seen,
            cluster_id: cluster.map(|cluster| cluster.id).unwrap_or_default(),
        })
    }

    /// (a) Each topic with the partitions to read of it, `None` for all.
    fn topics(&self, warnings: &mut Vec<String>) -> Result<Vec<(String, Option<Vec<i32>>)>> {
        let pattern = match &self.options.topics {
            TopicSelection::Named(names) => return Ok(names.iter().map(|name| (name.clone(), None)).collect()),
            TopicSelection::Assigned(all) => {
                let each = all.iter().cloned();
                return Ok(each.map(|(topic, partitions)| (topic, Some(partitions))).collect());
            }
            TopicSelection::Matching(pattern) => pattern,
        };
        let mut names = match self.ask {
            Some(ask) => ask.topics()?,
            None => scan::find_partitions(&**self.fs, &self.log_dirs, None)?
                .into_iter()
                .map(|found| found.topic.to_string())
                .collect(),
        };
        names.retain(|name| !INTERNAL.contains(&name.as_str()) && pattern.compiled.matches(name));
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            let (place, text) = (self.options.where_it_reads(), &pattern.text);
            warnings.push(format!("subscribePattern: no topic in {place} matches {text}"));
        }
        Ok(names.into_iter().map(|name| (name, None)).collect())
    }

    /// Where else a task finds the records of a partition.
    fn remote_of(&self, plan: &PlannedPartition) -> Option<Remote> {
        let live = plan.live.as_ref()?;
        let dir = match &plan.way {
            ReadMethod::Files(files) => files.path.parent(),
            ReadMethod::Network { .. } => None,
        };
        Some(Remote {
            bootstrap_servers: self.options.bootstrap_servers.clone()?,
            client_rack: self.options.client_rack.clone(),
            leader_epoch: live.leader_epoch,
            size_bytes: plan.size_bytes(),
            cluster_id: self.cluster_id.clone(),
            planned_dir: dir.and_then(|dir| self.seen.name_of(dir)),
            log_dirs: self.log_dirs.clone(),
            in_sync: live.in_sync.clone(),
        })
    }

    /// What brokers tell of the partitions of a topic; nothing when none are asked.
    fn live(&self, topic: &str, partitions: Option<&[i32]>) -> Result<BTreeMap<i32, LivePartition>> {
        self.ask
            .map_or(Ok(BTreeMap::new()), |ask| ask.partitions(topic, partitions))
    }
}

/// Bounds by partition.
type PartitionBounds = BTreeMap<i32, Bound>;

struct TopicPlanner<'a> {
    read: &'a ReadPlanner<'a>,
    topic: String,
    live: BTreeMap<i32, LivePartition>,
}

impl TopicPlanner<'_> {
    fn plan(&mut self, partitions: Option<&[i32]>, planned: &mut ReadPlan) -> Result<()> {
        let (options, wanted, topic) = (self.read.options, self.read.wanted, self.topic.clone());
        let found = self.partitions_to_read(partitions)?;
        let is_wanted = |partition: &i32| wanted.has(&topic, *partition);
        let mut chosen: Vec<i32> = found.iter().copied().filter(is_wanted).collect();
        options.start.check_places(&topic, &found)?;
        options.end.check_places(&topic, &found)?;
        if chosen.is_empty() {
            return Ok(());
        }
        // (b)
        let mut start = self.bounds(&options.start, &chosen)?;
        let mut end = self.bounds(&options.end, &chosen)?;
        if options.start.kind == BoundKind::Timestamp {
            let reached = self.plan_ranges(&chosen, &start, &every(Bound::Latest), None)?;
            self.check_reached(&reached)?;
            start = offsets(&reached, |plan| plan.start_offset);
        }
        if options.end.kind == BoundKind::Timestamp {
            let reached = self.plan_ranges(&chosen, &every(Bound::Earliest), &end, None)?;
            end = offsets(&reached, |plan| plan.end_offset);
        }
        // (c)
        if wanted.offsets != Range::ALL || wanted.timestamps_ms != Range::ALL {
            (start, end) = self.narrowed(&chosen, &start, &end)?;
        }
        chosen.retain(|partition| !is_empty(start.get(partition), end.get(partition)));
        if chosen.is_empty() || wanted.is_nothing() {
            return Ok(());
        }
        // (d)
        start.retain(|partition, _| chosen.contains(partition));
        end.retain(|partition, _| chosen.contains(partition));
        let mut plans = self.plan_ranges(&chosen, &start, &end, self.read.link_dir)?;
        self.catch_up(&mut plans, &start, &end, planned)?;
        self.estimate(&mut plans)?;
        for mut plan in plans {
            plan.remote = self.read.remote_of(&plan);
            let partition = plan.partition.partition;
            let lost = plan.lost.iter();
            planned
                .warnings
                .extend(lost.map(|(from, to)| loss_sentence(&topic, partition, *from, *to)));
            if plan.start_offset < plan.end_offset {
                planned.plans.push(plan);
            } else {
                planned.empty.push(plan);
            }
        }
        Ok(())
    }

    /// Plans those anew that a cleaner may have passed between the leader's answer and the opening of the files.
    fn catch_up(
        &mut self,
        plans: &mut Vec<PlannedPartition>,
        start: &PartitionBounds,
        end: &PartitionBounds,
        planned: &mut ReadPlan,
    ) -> Result<()> {
        let Some(ask) = self.read.ask else { return Ok(()) };
        for _ in 0..OVERTAKEN_TRIES {
            let overtaken = plans.iter().filter(|plan| plan.is_overtaken());
            let mut overtaken: Vec<i32> = overtaken.map(|plan| plan.partition.partition).collect();
            if overtaken.is_empty() {
                return Ok(());
            }
            let told = ask.partitions(&self.topic, Some(&overtaken))?;
            let offsets =
                |known: &BTreeMap<i32, LivePartition>, number: &i32| known.get(number).map(|live| live.watermarks);
            overtaken.retain(|number| offsets(&told, number) != offsets(&self.live, number));
            self.live.extend(told);
            if overtaken.is_empty() {
                return Ok(()); // no cleaner passes an offset that has not moved
            }
            plans.retain(|plan| !overtaken.contains(&plan.partition.partition));
            plans.extend(self.plan_ranges(&overtaken, start, end, self.read.link_dir)?);
            plans.sort_by_key(|plan| plan.partition.partition);
        }
        planned.warnings.push(format!(
            "{}: the broker cleans faster than its files are opened; the newest value of a key may be missing",
            self.topic
        ));
        Ok(())
    }

    /// The partitions that are to be read, in order.
    fn partitions_to_read(&self, partitions: Option<&[i32]>) -> Result<Vec<i32>> {
        if self.read.ask.is_some() {
            return Ok(self.live.keys().copied().collect());
        }
        let (topic, dirs) = (&self.topic, self.read.options.where_it_reads());
        let listed = scan::find_partitions(&**self.read.fs, &self.read.log_dirs, Some(topic))?;
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

    fn bounds(&self, bound: &RangeBound, partitions: &[i32]) -> Result<PartitionBounds> {
        let of = |partition: &i32| Ok((*partition, bound.of(&self.topic, *partition)?));
        partitions.iter().map(of).collect()
    }

    /// Plans partitions between bounds, in order: those with files that are seen in the files, the others from what
    /// their leaders tell.
    fn plan_ranges(
        &self,
        partitions: &[i32],
        start: &PartitionBounds,
        end: &PartitionBounds,
        link_dir: Option<&Path>,
    ) -> Result<Vec<PlannedPartition>> {
        let Some(ask) = self.read.ask else {
            let plans = self.in_files(&self.read.log_dirs, partitions, start, end, link_dir)?;
            return Ok(plans
                .into_iter()
                .map(|plan| PlannedPartition::of_files(plan, None))
                .collect());
        };
        let network = OverNetwork {
            ask,
            topic: &self.topic,
            live: &self.live,
            isolation: self.read.options.isolation,
            fail_on_data_loss: self.read.options.fail_on_data_loss,
        };
        let (mut planned, mut unseen) = (Vec::new(), Vec::new());
        for (dir, its) in self.by_dir(partitions) {
            let Some(dir) = dir else {
                unseen.extend(its);
                continue;
            };
            match self.in_files(&[dir.to_path_buf()], &its, start, end, link_dir) {
                Ok(plans) => {
                    for plan in plans {
                        let partition = plan.partition.partition;
                        match self.live.get(&partition) {
                            // a replica that is behind, or was cut, since its leader was asked
                            Some(live) if plan.end_limit < network.limits(live).end => unseen.push(partition),
                            live => planned.push(PlannedPartition::of_files(plan, live)),
                        }
                    }
                }
                // it has moved since it was seen
                Err(PlanError::Scan(ScanError::NotFound(_))) => unseen.extend(its),
                Err(error) => return Err(error),
            }
        }
        unseen.sort_unstable();
        planned.extend(network.plan(&unseen, start, end)?);
        planned.sort_by_key(|plan| plan.partition.partition);
        Ok(planned)
    }

    /// The partitions by the directory in which each one is read, `None` where this machine sees none.
    fn by_dir(&self, partitions: &[i32]) -> BTreeMap<Option<&Path>, Vec<i32>> {
        let mut found: BTreeMap<Option<&Path>, Vec<i32>> = BTreeMap::new();
        for partition in partitions {
            let topic_partition = TopicPartition {
                topic: self.topic.as_str().into(),
                partition: *partition,
            };
            let live = self.live.get(partition);
            let dir = live.and_then(|live| self.read.seen.dir_of_live(&topic_partition, live));
            found.entry(dir).or_default().push(*partition);
        }
        found
    }

    fn in_files(
        &self,
        log_dirs: &[PathBuf],
        partitions: &[i32],
        start: &PartitionBounds,
        end: &PartitionBounds,
        link_dir: Option<&Path>,
    ) -> Result<Vec<PartitionPlan>> {
        let is_one = |partition: &i32| *partition == EVERY || partitions.contains(partition);
        let of = |bounds: &PartitionBounds| -> HashMap<i32, Bound> {
            let its = bounds.iter().filter(|(partition, _)| is_one(partition));
            its.map(|(partition, bound)| (*partition, *bound)).collect()
        };
        let watermarks = self.live.iter().filter(|(partition, _)| is_one(partition));
        let request = ScanRequest {
            log_dirs: log_dirs.to_vec(),
            topic: self.topic.clone(),
            partitions: Some(partitions.to_vec()),
            start: of(start),
            end: of(end),
            isolation: self.read.options.isolation,
            watermarks: watermarks
                .map(|(partition, live)| (*partition, live.watermarks))
                .collect(),
            fail_on_data_loss: self.read.options.fail_on_data_loss,
            ignore_corrupt_batches: self.read.options.ignore_corrupt_batches,
            allow_short_logs: self.read.ask.is_some(), // what the files have not is read from the leader
            keep_open: false,
            link_dir: link_dir.map(Path::to_path_buf),
        };
        Ok(plan_scan(self.read.fs, &request)?)
    }

    /// Asks the leaders how large the ranges are that are read over the network.
    fn estimate(&self, plans: &mut [PlannedPartition]) -> Result<()> {
        let is_unseen = |plan: &&mut PlannedPartition| matches!(plan.way, ReadMethod::Network { .. });
        let mut unseen: Vec<&mut PlannedPartition> = plans.iter_mut().filter(is_unseen).collect();
        let (Some(ask), false) = (self.read.ask, unseen.is_empty()) else {
            return Ok(());
        };
        let numbers: Vec<i32> = unseen.iter().map(|plan| plan.partition.partition).collect();
        let sizes = ask.sizes(&self.topic, &numbers)?;
        for plan in &mut unseen {
            let all = u128::from((plan.end_limit - plan.log_start_offset).max(1) as u64);
            let wanted = u128::from((plan.end_offset - plan.start_offset) as u64);
            let size_bytes = match sizes.get(&plan.partition.partition) {
                Some(whole) => u128::from(*whole) * wanted / all,
                None => wanted * ASSUMED_RECORD_BYTES,
            };
            plan.way = ReadMethod::Network {
                size_bytes: u64::try_from(size_bytes).unwrap_or(u64::MAX),
            };
        }
        Ok(())
    }

    /// Refuses a start by time that no record reaches, unless the strategy is "latest", as Spark does.
    fn check_reached(&self, plans: &[PlannedPartition]) -> Result<()> {
        if self.read.options.starts_at_latest_when_no_time_matches {
            return Ok(());
        }
        let Some(plan) = plans.iter().find(|plan| plan.start_offset >= plan.end_limit) else {
            return Ok(());
        };
        let start = &self.read.options.start;
        let time_ms = start.number(&self.topic, plan.partition.partition).unwrap_or_default();
        Err(PlanError::Invalid(format!(
            "{}: {} has no record at {time_ms} or later; choose an earlier time or set \
             startingOffsetsByTimestampStrategy to \"latest\"",
            start.option, plan.partition
        )))
    }

    /// The bounds within what the pushed filters keep. The first offset with a time is a start only: later records may
    /// have earlier times.
    fn narrowed(
        &self,
        chosen: &[i32],
        start: &PartitionBounds,
        end: &PartitionBounds,
    ) -> Result<(PartitionBounds, PartitionBounds)> {
        let (kept, times) = (self.read.wanted.offsets, self.read.wanted.timestamps_ms);
        let base = self.plan_ranges(chosen, start, end, None)?;
        let by_time: BTreeMap<i32, Offset> = if times.low == i64::MIN {
            BTreeMap::new()
        } else {
            let first = every(Bound::Timestamp(times.low.max(0)));
            let plans = self.plan_ranges(chosen, &first, &every(Bound::Latest), None)?;
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

fn every(bound: Bound) -> PartitionBounds {
    [(EVERY, bound)].into()
}

fn offsets(plans: &[PlannedPartition], of: impl Fn(&PlannedPartition) -> Offset) -> PartitionBounds {
    let bound = |plan: &PlannedPartition| (plan.partition.partition, Bound::Offset(of(plan)));
    plans.iter().map(bound).collect()
}

/// Whether the range is known to be empty.
fn is_empty(start: Option<&Bound>, end: Option<&Bound>) -> bool {
    matches!((start, end), (Some(Bound::Offset(start)), Some(Bound::Offset(end))) if start >= end)
}

#[cfg(test)]
mod tests;
