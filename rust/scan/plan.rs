//! Fixes what a scan reads: a closed range of offsets for each partition and the segments that hold it.
//!
//! Beside a live broker files change while the plan is made. So the steps are: read the checkpoints, list the segments,
//! find the bounds, open or link the segments of the range, list again. If a segment vanished meanwhile, or a new one
//! appeared between two known segments, the plan is begun again, at most [`ATTEMPTS`] times. The result is consistent:
//! every committed record below the end, or an error.
//!
//! The high watermark says how far the log must reach. It is read before the segments are listed, so their files have
//! the records below it; where they have not, the plan is begun anew, with the checkpoint of then, before that counts
//! as loss.
//!
//! What is loss, `closed_range` says. Gaps within a log are compaction; a segment that was removed from the middle by
//! hand looks the same as compaction.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use super::bounds::{Bound, Checkpoints, Limits, TimeSearch, Watermarks, end_position, first_at_least};
use super::chain::{Damage, at_offset};
use super::closed_range::{AllowedLoss, ClosedRange, closed_range, refuse_reversed};
use super::links::Links;
use super::segments::{Listing, OpenSegment, PAUSE, Segment};
use super::topics::{Found, find, unknown_topic};
use super::transactions::Transactions;
use super::{AbortedRange, Result, ScanError};
use ::io::FileSystem;
use base::place::{LeaderEpoch, Offset, Position};
use storage::format::{PARTITION_METADATA, REPLICATION_OFFSET_CHECKPOINT, SWAP_SUFFIX, parse_file_name};
use storage::{EpochCache, TopicPartition};

/// Open files that one plan keeps at most: a process may open 1,024 by default. Further segments are kept by their
/// links, or not at all.
pub const MAX_OPEN_FILES: usize = 512;
/// How often a plan is begun at most when files change meanwhile.
const ATTEMPTS: usize = 10;
/// How often a plan is begun anew when the log ends below the checkpoint's high watermark.
const SHORT_ATTEMPTS: usize = 3;
/// A partition that was made within this time may not be the one that the checkpoint names: a broker writes checkpoints
/// every five seconds.
const YOUNG_MS: i64 = 10_000;
/// The key of all partitions that are not named.
const EVERY_OTHER: i32 = -1;

/// Which records a reader may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Everything below the high watermark.
    #[default]
    ReadUncommitted,
    /// Below the last stable offset, without aborted transactions.
    ReadCommitted,
}

impl Isolation {
    /// Kafka's names.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "read_uncommitted" => Ok(Self::ReadUncommitted),
            "read_committed" => Ok(Self::ReadCommitted),
            other => Err(ScanError::Invalid(format!(
                "isolation_level: {other} is neither read_uncommitted nor read_committed"
            ))),
        }
    }
}

/// The request for a plan.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "options that do not depend on each other")]
pub struct ScanRequest {
    /// The log directories to search.
    pub log_dirs: Vec<PathBuf>,
    /// The topic to scan.
    pub topic: String,
    /// Only these; `None` for all.
    pub partitions: Option<Vec<i32>>,
    /// Start by partition, -1 for every other; the earliest where none is given.
    pub start: HashMap<i32, Bound>,
    /// End by partition, -1 for every other; the latest where none is given.
    pub end: HashMap<i32, Bound>,
    /// Which records are read.
    pub isolation: Isolation,
    /// Watermarks of a broker by partition; read from the files where none are given.
    pub watermarks: HashMap<i32, Watermarks>,
    /// Loss is an error; otherwise it is reported in [`PartitionPlan::lost`].
    pub fail_on_data_loss: bool,
    /// Damaged batches do not fail the plan: what they hide is reported in [`PartitionPlan::lost`], or by the reader.
    pub ignore_corrupt_batches: bool,
    /// A log that ends below the watermarks does not fail the plan: the caller compares [`PartitionPlan::end_limit`].
    pub allow_short_logs: bool,
    /// The plan holds its segments open, up to [`MAX_OPEN_FILES`].
    pub keep_open: bool,
    /// The directory for hard links to the segments, if any.
    pub link_dir: Option<PathBuf>,
}

/// The closed range of one partition; it does not move with the log.
pub struct PartitionPlan {
    /// The partition.
    pub partition: TopicPartition,
    /// The partition's directory.
    pub path: PathBuf,
    /// First offset to read.
    pub start_offset: Offset,
    /// One past the last.
    pub end_offset: Offset,
    /// First offset of the log when it was planned.
    pub log_start_offset: Offset,
    /// One past the last offset that may be read: the high watermark, or the last stable offset.
    pub end_limit: Offset,
    /// The range ends at the given watermarks, and segments were sealed above them before all were opened: unless the
    /// watermarks are still the same, a cleaner may already have dropped records below for later ones above.
    pub is_overtaken: bool,
    /// The latest leader epoch, -1 when unknown.
    pub leader_epoch: LeaderEpoch,
    /// Requested ranges that are lost; only without `fail_on_data_loss`.
    pub lost: Vec<(Offset, Offset)>,
    pub(super) segments: Vec<Planned>,
    pub(super) aborted: Option<Vec<AbortedRange>>,
    /// No batch below it is being written any more.
    pub(super) limit: Offset,
    pub(super) fs: Arc<dyn FileSystem>,
}

/// A segment and its bytes to read.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub segment: Segment,
    /// Of the file that was opened for the positions.
    pub identity: Option<(u64, u64)>,
    pub start: Position,
    pub end: Position,
}

impl PartitionPlan {
    /// Bytes of the segments that are read at most.
    pub fn size_bytes(&self) -> u64 {
        self.segments.iter().map(|it| it.end - it.start).sum()
    }

    /// Opens a segment of the plan; a segment that is gone, or shorter than planned, is loss.
    pub(super) fn open<'a>(&self, planned: &'a Planned) -> Result<OpenSegment<'a>> {
        let segment = &planned.segment;
        let lost = |reason: String| ScanError::Lost {
            topic: self.partition.topic.to_string(),
            partition: self.partition.partition,
            from: self.start_offset.max(segment.base_offset),
            to: self.end_offset.min(segment.next_base_offset),
            reason,
        };
        match segment.open(&*self.fs) {
            Ok(opened) if opened.end() < planned.end => Err(lost(format!(
                "{} was cut to {} bytes since it was planned",
                segment.path.display(),
                opened.len
            ))),
            Err(error) if is_moved(&error) => Err(lost(format!("{} is gone", segment.path.display()))),
            opened => opened,
        }
    }

    /// The number of segments that hold the range.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }
}

/// Plans every wanted partition, in order. On an error no link is left.
pub fn plan_scan(fs: &Arc<dyn FileSystem>, request: &ScanRequest) -> Result<Vec<PartitionPlan>> {
    let found = wanted(&**fs, request)?;
    let links = request
        .link_dir
        .as_ref()
        .map(|dir| Links::create(fs, dir, &request.log_dirs));
    let links = links.transpose()?;
    let mut planner = Planner {
        fs,
        request,
        links: links.as_ref(),
        open_left: if request.keep_open { MAX_OPEN_FILES } else { 0 },
        checkpoints: HashMap::new(),
    };
    let plans: Result<Vec<_>> = found.iter().map(|found| planner.plan(found)).collect();
    let plans = plans?;
    if let Some(links) = links {
        links.keep();
    }
    Ok(plans)
}

/// The partitions to plan; an error when a partition that the request names is missing.
fn wanted(fs: &dyn FileSystem, request: &ScanRequest) -> Result<Vec<Found>> {
    let mut found = find(fs, &request.log_dirs, Some(&request.topic))?;
    if found.is_empty() {
        return Err(unknown_topic(fs, &request.log_dirs, &request.topic)?);
    }
    let numbers: Vec<i32> = found.iter().map(|it| it.partition.partition).collect();
    let named = |which: &'static str, keys: Vec<i32>| keys.into_iter().map(move |key| (which, key));
    let asked = named("partitions", request.partitions.clone().unwrap_or_default())
        .chain(named("start", bound_keys(&request.start)))
        .chain(named("end", bound_keys(&request.end)));
    for (which, number) in asked {
        if !numbers.contains(&number) {
            return Err(ScanError::Invalid(format!(
                "{which}: topic {} has no partition {number} here; there are {numbers:?}",
                request.topic
            )));
        }
    }
    if let Some(partitions) = &request.partitions {
        found.retain(|it| partitions.contains(&it.partition.partition));
    }
    Ok(found)
}

fn bound_keys(bounds: &HashMap<i32, Bound>) -> Vec<i32> {
    let mut keys: Vec<i32> = bounds.keys().copied().filter(|key| *key != EVERY_OTHER).collect();
    keys.sort_unstable();
    keys
}

/// Runs `attempt` until no file vanishes during it; `attempt` gets its number.
pub(super) fn while_moving<T>(partition: &TopicPartition, mut attempt: impl FnMut(usize) -> Result<T>) -> Result<T> {
    for number in 1..ATTEMPTS {
        match attempt(number) {
            Err(error) if is_moved(&error) => thread::sleep(PAUSE),
            done => return done,
        }
    }
    attempt(ATTEMPTS).map_err(|error| {
        if is_moved(&error) {
            ScanError::NotFound(format!(
                "{partition}: its files went away {ATTEMPTS} times while they were listed ({error}); was the topic \
                 deleted?"
            ))
        } else {
            error
        }
    })
}

/// Whether the error says that a file, or the end of it, has vanished.
fn is_moved(error: &ScanError) -> bool {
    matches!(error, ScanError::Io { source, .. }
        if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof))
}

struct Planner<'a> {
    fs: &'a Arc<dyn FileSystem>,
    request: &'a ScanRequest,
    links: Option<&'a Links>,
    open_left: usize,
    checkpoints: HashMap<PathBuf, Checkpoints>,
}

impl Planner<'_> {
    fn plan(&mut self, found: &Found) -> Result<PartitionPlan> {
        let mut last_range = None;
        let open_left = self.open_left;
        let planned = while_moving(&found.partition, |number| {
            self.open_left = open_left;
            if number > 1 {
                self.checkpoints.remove(&found.log_dir);
            }
            self.attempt(found, number, &mut last_range)
        });
        match (planned, last_range) {
            // The partition still exists, but its segments vanished in every attempt.
            (Err(ScanError::NotFound(reason)), Some((from, to))) if self.fs.exists(&found.path) => {
                Err(ScanError::Lost {
                    topic: found.partition.topic.to_string(),
                    partition: found.partition.partition,
                    from,
                    to,
                    reason,
                })
            }
            (planned, _) => planned.map_err(|error| named(error, &found.partition)),
        }
    }

    fn attempt(
        &mut self,
        found: &Found,
        number: usize,
        last_range: &mut Option<(Offset, Offset)>,
    ) -> Result<PartitionPlan> {
        let fs = &**self.fs;
        if !self.checkpoints.contains_key(&found.log_dir) {
            let read = Checkpoints::read(fs, &found.log_dir)?;
            self.checkpoints.insert(found.log_dir.clone(), read);
        }
        let Some(checkpoints) = self.checkpoints.get(&found.log_dir) else {
            return Err(ScanError::NotFound(found.log_dir.display().to_string()));
        };
        let given = self.request.watermarks.get(&found.partition.partition).copied();
        let listing = Listing::of(fs, &found.path)?;
        let (mut limits, damage) = Limits::of(fs, &listing, checkpoints, &found.partition, given)?;
        if limits.is_short() && given.is_none() {
            if number < SHORT_ATTEMPTS {
                return Err(moved(found)); // the partition may have been cut or made anew since the checkpoint was read
            }
            if is_young(fs, found) {
                limits.due = limits.end;
            }
        }
        let committed = checkpoints.high_watermark(&found.partition);
        let log_start_offset = limits.log_start_offset;
        let transactions = match self.request.isolation {
            Isolation::ReadUncommitted => None,
            Isolation::ReadCommitted => Some(Transactions::read(
                fs,
                &found.path,
                &listing,
                log_start_offset,
                limits.end,
                (&found.partition, self.request.ignore_corrupt_batches),
            )?),
        };
        let whole_end = limits.end;
        if let Some(transactions) = &transactions {
            let stable = given.map_or(Offset::MAX, |given| given.last_stable_offset);
            limits = transactions.limit(limits, stable);
        }
        let mut range = self
            .range(&found.partition, &listing, limits)
            .map_err(|error| because(error, found, limits, (given, damage)))?;
        *last_range = Some((range.start, range.end));
        if let Some(transactions) = &transactions {
            range.lost.extend(transactions.undecided_within(range.start, range.end));
        }
        let aborted = transactions.map(|it| it.aborted(fs, &listing, range.start, range.end));
        let aborted = aborted.transpose()?;
        let segments = self.hold(&found.partition, &listing, &range, whole_end)?;
        let is_passed = verify(fs, found, &listing, &segments)? > limits.end && range.end == limits.end;
        if is_passed && given.is_none() {
            // a broker writes the high watermark before a cleaner replaces the first segment below it
            let now = Checkpoints::read(fs, &found.log_dir)?.high_watermark(&found.partition);
            if now != committed {
                return Err(moved(found));
            }
        }
        Ok(PartitionPlan {
            partition: found.partition.clone(),
            path: found.path.clone(),
            start_offset: range.start,
            end_offset: range.end,
            log_start_offset,
            end_limit: limits.end,
            is_overtaken: is_passed && given.is_some(),
            leader_epoch: EpochCache::open(fs, &found.path)?
                .latest_epoch()
                .unwrap_or(LeaderEpoch::NONE),
            lost: range.lost,
            segments,
            aborted,
            limit: whole_end,
            fs: Arc::clone(self.fs),
        })
    }

    fn range(&self, partition: &TopicPartition, listing: &Listing, limits: Limits) -> Result<ClosedRange> {
        let bound = |bounds: &HashMap<i32, Bound>, default| {
            let own = bounds.get(&partition.partition).or_else(|| bounds.get(&EVERY_OTHER));
            own.copied().unwrap_or(default)
        };
        let from = bound(&self.request.start, Bound::Earliest);
        let to = bound(&self.request.end, Bound::Latest);
        refuse_reversed(partition, from, to)?;
        let resolve = |bound, is_start| {
            Ok::<_, ScanError>(match bound {
                Bound::Earliest => limits.log_start_offset,
                Bound::Latest => limits.end,
                Bound::Offset(offset) => offset,
                Bound::Timestamp(target) => {
                    let search = TimeSearch {
                        target,
                        is_start,
                        ignores_damage: self.request.ignore_corrupt_batches,
                    };
                    first_at_least(&**self.fs, listing, partition, limits, search)?.unwrap_or(limits.end)
                }
            })
        };
        let resolved = (resolve(from, true)?, resolve(to, false)?);
        let request = self.request;
        let allowed = AllowedLoss {
            of_requested: !request.fail_on_data_loss,
            of_due: !request.fail_on_data_loss || request.ignore_corrupt_batches || request.allow_short_logs,
        };
        closed_range(partition, (from, to), resolved, limits, allowed)
    }

    /// Links and opens the segments of a range, and finds the range's bytes in those files.
    fn hold(
        &mut self,
        partition: &TopicPartition,
        listing: &Listing,
        range: &ClosedRange,
        limit: Offset,
    ) -> Result<Vec<Planned>> {
        let fs = &**self.fs;
        let mut planned = Vec::new();
        if range.start >= range.end {
            return Ok(planned);
        }
        for listed in &listing.segments {
            if listed.next_base_offset <= range.start || listed.base_offset >= range.end {
                continue;
            }
            let mut segment = listed.clone();
            if let Some(links) = self.links {
                segment.link = Some(links.link(partition, segment.base_offset, &segment.path)?);
            }
            if self.open_left > 0 {
                segment.file = Some(segment.open_file(fs)?);
            }
            let opened = segment.open(fs)?;
            let start = opened.position_of(range.start, limit)?;
            let end = end_position(&opened, range.end, limit)?;
            if start < end {
                self.open_left -= usize::from(segment.file.is_some());
                let identity = opened.file.identity().ok();
                drop(opened);
                planned.push(Planned {
                    segment,
                    identity,
                    start,
                    end,
                });
            }
        }
        Ok(planned)
    }
}

/// Whether the partition was made, or made again, after the checkpoint was written and a short time ago: then the
/// checkpoint's high watermark may be that of a topic of the same name.
fn is_young(fs: &dyn FileSystem, found: &Found) -> bool {
    let modified_ms = |path: PathBuf| fs.metadata(&path).ok().map(|it| it.modified_ms);
    let made = modified_ms(found.path.join(PARTITION_METADATA));
    let written = modified_ms(found.log_dir.join(REPLICATION_OFFSET_CHECKPOINT));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    matches!((made, written), (Some(made), Some(written)) if made > written && now_ms - made < YOUNG_MS)
}

/// The error of a range, with its cause: damage that hides what is due, or files that a broker is ahead of.
fn because(
    error: ScanError,
    found: &Found,
    limits: Limits,
    (given, damage): (Option<Watermarks>, Option<Damage>),
) -> ScanError {
    match (error, damage) {
        (ScanError::Lost { from, .. }, Some(damage)) if from >= limits.end && limits.is_short() => {
            damage.error(&found.partition)
        }
        (
            ScanError::Lost {
                topic,
                partition,
                from,
                to,
                ..
            },
            None,
        ) if given.is_some() && from >= limits.end && to <= limits.due => ScanError::Lost {
            topic,
            partition,
            from,
            to,
            reason: format!(
                "the broker has them and {} ends before; name the log directory of the leader",
                found.path.display()
            ),
        },
        (error, _) => error,
    }
}

/// The error with topic, partition and offset, where it has only a file and a position: the offset is the segment's.
fn named(error: ScanError, partition: &TopicPartition) -> ScanError {
    let ScanError::Corrupt { path, .. } = &error else {
        return error;
    };
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let base_offset = parse_file_name(name.trim_end_matches(SWAP_SUFFIX)).map_or(Offset::NONE, |(offset, _)| offset);
    at_offset(error, base_offset, partition)
}

/// Lists again: no segment may have appeared among the listed segments, and no segment of the range may be gone that is
/// neither open nor linked. Returns the base offset of the active segment.
fn verify(fs: &dyn FileSystem, found: &Found, listing: &Listing, planned: &[Planned]) -> Result<Offset> {
    let now = Listing::of(fs, &found.path)?;
    let bases = |listing: &Listing| -> Vec<Offset> { listing.segments.iter().map(|it| it.base_offset).collect() };
    let (before, now) = (bases(listing), bases(&now));
    let last = before.last().copied().unwrap_or(Offset(i64::MIN));
    let has_new = now
        .iter()
        .any(|base| *base < last && before.binary_search(base).is_err());
    let is_gone = |it: &&Planned| {
        let is_held = it.segment.file.is_some() || it.segment.link.is_some();
        !is_held && now.binary_search(&it.segment.base_offset).is_err()
    };
    if has_new || planned.iter().any(|it| is_gone(&it)) {
        return Err(moved(found));
    }
    Ok(now.last().copied().unwrap_or_default())
}

/// The error of an attempt that met a change of the files, so that the next one begins anew.
fn moved(found: &Found) -> ScanError {
    ScanError::Io {
        op: "list",
        path: found.path.clone(),
        source: ErrorKind::NotFound.into(),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
