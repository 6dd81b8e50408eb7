//! A check from beginning to end: the plan, threads over segments, and the report of their findings.
//!
//! One [`Check`] runs once; its progress may be read from other threads meanwhile.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::finding::{Report, Totals};
use super::partition;
use super::plan::{Plan, plan};
use super::segment::{self, Look, Outcome};
use super::transactions::Claim;
use crate::Result;
use ::io::FileSystem;
use base::place::Offset;

/// What to check, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// Log directories, partition directories, `.log` files.
    pub paths: Vec<PathBuf>,
    /// Only this topic.
    pub topic: Option<String>,
    /// Segments at a time, at least 1.
    pub threads: usize,
    /// Records are inflated and decoded too.
    pub is_deep: bool,
}

/// How far a check has come. Relaxed: for a progress bar.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    total_bytes: AtomicU64,
    segments: AtomicU64,
    total_segments: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Progress {
    /// (bytes of segments walked, in all, segments done, in all); all 0 until the plan is made.
    pub fn read(&self) -> (u64, u64, u64, u64) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (
            load(&self.bytes),
            load(&self.total_bytes),
            load(&self.segments),
            load(&self.total_segments),
        )
    }

    /// Ends the check soon; its report is then incomplete.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the check is to end.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub(super) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// See the module.
pub struct Check {
    fs: Arc<dyn FileSystem>,
    options: Options,
    progress: Progress,
}

/// A segment's place in the plan.
#[derive(Clone, Copy)]
struct Job {
    partition: usize,
    segment: usize,
    size: u64,
}

impl Check {
    /// A check of files in `fs`.
    pub fn new(fs: Arc<dyn FileSystem>, options: Options) -> Self {
        Self {
            fs,
            options,
            progress: Progress::default(),
        }
    }

    /// How far the check is.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Checks everything. An error is a path that cannot be checked, not a fault.
    pub fn run(&self) -> Result<Report> {
        let plan = plan(&*self.fs, &self.options.paths, self.options.topic.as_deref())?;
        let outcomes = self.walk(&plan);
        let mut totals = Totals {
            partitions: plan.partitions.len() as u64,
            bytes: plan.bytes,
            ..Totals::default()
        };
        let mut found = plan.found;
        for (partition, outcomes) in plan.partitions.iter().zip(outcomes) {
            for outcome in &outcomes {
                totals.segments += u64::from(!outcome.is_gone);
                totals.batches += outcome.batches;
                totals.records += outcome.records;
                totals.bytes += outcome.bytes;
            }
            let (more, bytes) = partition::finish(&*self.fs, partition, outcomes);
            found.extend(more);
            totals.bytes += bytes;
        }
        Ok(Report::new(found, totals))
    }

    /// The outcome of every segment, by partition.
    fn walk(&self, plan: &Plan) -> Vec<Vec<Outcome>> {
        let mut jobs = Vec::new();
        for (at, partition) in plan.partitions.iter().enumerate() {
            jobs.extend(partition.segments.iter().enumerate().map(|(segment, it)| Job {
                partition: at,
                segment,
                size: it.size,
            }));
        }
        jobs.sort_by_key(|job| std::cmp::Reverse(job.size)); // small segments last, so that the threads end together
        let total: u64 = jobs.iter().map(|job| job.size).sum();
        self.progress.total_bytes.store(total, Ordering::Relaxed);
        self.progress.total_segments.store(jobs.len() as u64, Ordering::Relaxed);
        let slots: Vec<Mutex<Option<Outcome>>> = jobs.iter().map(|_| Mutex::default()).collect();
        let next = AtomicUsize::new(0);
        let threads = self.options.threads.clamp(1, jobs.len().max(1));
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.work(plan, &jobs, &slots, &next));
            }
            self.work(plan, &jobs, &slots, &next);
        });
        let mut outcomes: Vec<Vec<(usize, Outcome)>> = plan.partitions.iter().map(|_| Vec::new()).collect();
        for (job, slot) in jobs.iter().zip(slots) {
            if let Some(of_partition) = outcomes.get_mut(job.partition) {
                of_partition.push((job.segment, slot.into_inner().unwrap_or_default()));
            }
        }
        let sorted = |mut of_partition: Vec<(usize, Outcome)>| {
            of_partition.sort_by_key(|(segment, _)| *segment);
            of_partition.into_iter().map(|(_, outcome)| outcome).collect()
        };
        outcomes.into_iter().map(sorted).collect()
    }

    fn work(&self, plan: &Plan, jobs: &[Job], slots: &[Mutex<Option<Outcome>>], next: &AtomicUsize) {
        let mut buffer = Vec::new();
        let look = Look {
            fs: &*self.fs,
            is_deep: self.options.is_deep,
            progress: &self.progress,
        };
        while !self.progress.is_cancelled() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(job), Some(slot)) = (jobs.get(at), slots.get(at)) else {
                return;
            };
            let Some((partition, segment)) = plan
                .partitions
                .get(job.partition)
                .and_then(|it| it.segments.get(job.segment).map(|segment| (it, segment)))
            else {
                return;
            };
            let claims = claims_on(&partition.claims, segment.base_offset, segment.next_base);
            *slot.lock() = Some(segment::check(look, &partition.dir, segment, claims, &mut buffer));
            self.progress.segments.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The claims whose first offset is in the segment.
fn claims_on(claims: &[Claim], base_offset: Offset, next_base: Option<Offset>) -> &[Claim] {
    let from = claims.partition_point(|claim| claim.first_offset < base_offset);
    let to = next_base.map_or(claims.len(), |next| {
        claims.partition_point(|claim| claim.first_offset < next)
    });
    claims.get(from..to).unwrap_or_default()
}
