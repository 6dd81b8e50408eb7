//! Opens every log of every log directory when the broker starts, several at a time.
//!
//! Order for each directory: the loader lists its names, reads the clean-shutdown marker and durably removes it, reads
//! the checkpoints, then lets `num.recovery.threads.per.data.dir` threads open the logs with the caller's function. A
//! disk failure in one log takes the log's directory offline. A log that finds no descriptor or memory is tried again;
//! when the shortage lasts, the start fails. The start also fails when two directories hold the same partition. The
//! caller gets every log that lacks durable records, and every partition that the last run had and that is missing
//! now. An unreadable checkpoint only costs time: without recovery points every log is checked whole, without log start
//! offsets each log begins at its first segment.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::clean_shutdown::Shutdown;
use super::closed_logs::ClosedLog;
use super::log_dir::{Checkpoint, Listing, LogDir};
use super::partition_metadata::PartitionMetadata;
use super::patience::patiently;
use super::recovery::RecoveryProgress;
use super::state_file::bad_format;
use super::topic_partition::TopicPartition;
use super::uuid::Uuid;
use ::io::FileSystem;
use base::error::{Error, Result};
use base::place::Offset;

/// How far the start has come; read by other threads while it runs.
#[derive(Debug, Default)]
pub struct LoadProgress {
    /// Logs found.
    pub logs: AtomicU64,
    /// Logs opened.
    pub logs_loaded: AtomicU64,
    /// What recovery does meanwhile.
    pub recovery: RecoveryProgress,
}

/// The facts about a log that are known before it is opened.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// Position of its directory in the list of directories.
    pub dir_index: usize,
    /// The partition's directory.
    pub path: PathBuf,
    /// Its name.
    pub partition: TopicPartition,
    /// The topic's id, when the file `partition.metadata` exists.
    pub topic_id: Option<Uuid>,
    /// All records below this offset are on disk; 0 when unknown.
    pub recovery_point: Offset,
    /// The lowest log start offset that the log may have; 0 when unknown.
    pub log_start_offset: Offset,
    /// The high watermark of the last run, when it was written.
    pub high_watermark: Option<Offset>,
    /// From `cleaner-offset-checkpoint`; `None` when it has no entry.
    pub first_dirty_offset: Option<Offset>,
    /// The last run closed it.
    pub is_clean: bool,
    /// The log as the last run closed it, when that is known.
    pub closed: Option<ClosedLog>,
    /// The recovery points are unknown, though the last run wrote checkpoints.
    pub is_recovery_point_lost: bool,
    /// The log has a recovery point.
    pub is_listed: bool,
    /// When the recovery points were written, in ms.
    pub checkpoint_ms: Option<i64>,
}

/// An opened log.
#[derive(Debug)]
pub struct LoadedLog<L> {
    /// What it was opened from.
    pub request: LoadRequest,
    /// The log.
    pub log: L,
}

/// The findings of a start in one directory, besides its logs.
#[derive(Debug, Default)]
pub struct DirReport {
    /// How the last run ended.
    pub shutdown: Shutdown,
    /// One sentence each: which file was unreadable or unknown, and what the loader does about it.
    pub warnings: Vec<String>,
    /// Partitions being moved here; not opened.
    pub future: Vec<LoadRequest>,
    /// Directories set aside; not opened.
    pub stray: Vec<PathBuf>,
    /// Directories to remove; see [`remove_deleted`].
    pub deleted: Vec<PathBuf>,
    /// Logs that lack durable records; not opened, and their files are not changed. Each error is [`Error::Lost`].
    pub lost: Vec<(LoadRequest, Error)>,
    /// Partitions that the last run had in this directory, up to this offset, and that no directory has now.
    pub missing: Vec<(TopicPartition, Offset)>,
    /// Partitions of which a checkpoint file may have a row, but this directory no log.
    pub stale: Vec<TopicPartition>,
    /// Whether the last run noted deleted logs here.
    pub has_deleted_logs: bool,
    /// Why the directory is offline; its logs are not among the loaded logs.
    pub failure: Option<Error>,
}

/// All that a start found.
#[derive(Debug)]
pub struct Loaded<L> {
    /// Opened logs, by directory and name.
    pub logs: Vec<LoadedLog<L>>,
    /// One for each directory, in the order given.
    pub dirs: Vec<DirReport>,
}

/// Opens one log; called from several threads.
pub type OpenLog<'a, L> = dyn Fn(&LoadRequest) -> Result<L> + Sync + 'a;

/// Opens all logs with `open`; see the module.
pub fn load_all<L: Send>(
    dirs: &[LogDir],
    threads_per_dir: usize,
    open: &OpenLog<'_, L>,
    progress: &LoadProgress,
) -> Result<Loaded<L>> {
    let mut reports: Vec<DirReport> = dirs.iter().map(|_| DirReport::default()).collect();
    let mut listings = Vec::with_capacity(dirs.len());
    for (dir, report) in dirs.iter().zip(&mut reports) {
        listings.push(or_offline(dir.list(), report)?);
    }
    refuse_duplicates(&listings)?;
    let present: HashSet<TopicPartition> = listings
        .iter()
        .flatten()
        .flat_map(|listing| listing.partitions.iter().chain(&listing.future))
        .map(|(partition, _)| partition.clone())
        .collect();
    let mut work = Vec::with_capacity(dirs.len());
    for (dir_index, ((dir, report), listing)) in dirs.iter().zip(&mut reports).zip(listings).enumerate() {
        let prepared = listing.map_or_else(|| Ok(Vec::new()), |listing| prepare(dir, dir_index, listing, report));
        work.push(DirWork::new(or_offline(prepared, report)?.unwrap_or_default()));
    }
    let total: usize = work.iter().map(|work| work.requests.len()).sum();
    progress.logs.store(total as u64, Ordering::Relaxed);
    for report in &mut reports {
        report.missing.retain(|(partition, _)| !present.contains(partition));
        report.missing.sort_unstable();
    }
    run(&work, dirs, threads_per_dir.max(1), open, progress);
    collect(work, reports)
}

/// A failing disk takes only its directory offline; every other error refuses the start.
fn or_offline<T>(result: Result<T>, report: &mut DirReport) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_disk_failure() => {
            report.failure.get_or_insert(error);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The logs of one directory that are to be opened, and the outcome of each.
struct DirWork<L> {
    requests: Vec<LoadRequest>,
    next: AtomicUsize,
    has_failed: AtomicBool,
    done: Mutex<Vec<(usize, LoadedLog<L>)>>,
    failed: Mutex<Vec<(usize, Error)>>,
}

impl<L> DirWork<L> {
    fn new(requests: Vec<LoadRequest>) -> Self {
        Self {
            requests,
            next: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            done: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// Opens logs until none is left or one has failed.
    fn work(&self, fs: &dyn FileSystem, open: &OpenLog<'_, L>, progress: &LoadProgress) {
        while !self.has_failed.load(Ordering::Relaxed) {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = self.requests.get(at) else { return };
            let mut request = request.clone();
            let opened = patiently(fs, || {
                let metadata = PartitionMetadata::read(fs, &request.path).map_err(with_way_out)?;
                request.topic_id = metadata.map(|metadata| metadata.topic_id);
                open(&request)
            });
            match opened {
                Ok(log) => {
                    self.done.lock().push((at, LoadedLog { request, log }));
                    progress.logs_loaded.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    // A lost log does not stop the others: the start reports all logs that lack records at once.
                    self.has_failed
                        .fetch_or(!matches!(error, Error::Lost { .. }), Ordering::Relaxed);
                    self.failed.lock().push((at, error));
                }
            }
        }
    }
}

/// Adds a remedy to the error of an unreadable `partition.metadata`: the metadata store has the topic id too.
fn with_way_out(error: Error) -> Error {
    match error {
        Error::BadFormat { path, reason } => Error::BadFormat {
            path,
            reason: format!(
                "{reason}; remove the file if the partition is of the topic that has its name now: it is written anew"
            ),
        },
        other => other,
    }
}

fn run<L: Send>(
    work: &[DirWork<L>],
    dirs: &[LogDir],
    threads_per_dir: usize,
    open: &OpenLog<'_, L>,
    progress: &LoadProgress,
) {
    thread::scope(|scope| {
        for (work, dir) in work.iter().zip(dirs) {
            let open_logs = || work.work(&**dir.file_system(), open, progress);
            let threads = 0..threads_per_dir.min(work.requests.len());
            let start = |_| thread::Builder::new().spawn_scoped(scope, open_logs).ok();
            if threads.filter_map(start).count() == 0 {
                open_logs(); // there are no more threads to be had
            }
        }
    });
}

fn collect<L>(work: Vec<DirWork<L>>, mut reports: Vec<DirReport>) -> Result<Loaded<L>> {
    let mut logs = Vec::new();
    for (work, report) in work.into_iter().zip(&mut reports) {
        let mut failed = work.failed.into_inner();
        failed.sort_unstable_by_key(|(at, _)| *at);
        for (at, error) in failed {
            match (error, work.requests.get(at)) {
                (lost @ Error::Lost { .. }, Some(request)) => report.lost.push((request.clone(), lost)),
                (error, _) => drop(or_offline(Err::<(), _>(error), report)?),
            }
        }
        if report.failure.is_some() {
            continue;
        }
        let mut done = work.done.into_inner();
        done.sort_unstable_by_key(|(at, _)| *at);
        logs.extend(done.into_iter().map(|(_, loaded)| loaded));
    }
    Ok(Loaded { logs, dirs: reports })
}

fn prepare(dir: &LogDir, dir_index: usize, listing: Listing, report: &mut DirReport) -> Result<Vec<LoadRequest>> {
    report.shutdown = dir.take_clean_shutdown()?;
    let is_clean = report.shutdown.is_clean;
    let recovery_points = dir.read_checkpoint(Checkpoint::RecoveryPoint);
    let recovery_points = readable(recovery_points, report, "every log is checked whole")?;
    let log_starts = dir.read_checkpoint(Checkpoint::LogStart);
    let log_starts = readable(log_starts, report, "each log starts at its first segment")?;
    let high_watermarks = dir.read_checkpoint(Checkpoint::Replication);
    let high_watermarks = readable(high_watermarks, report, "high watermarks start anew")?;
    let first_dirty = dir.read_checkpoint(Checkpoint::Cleaner);
    let first_dirty = readable(first_dirty, report, "compacted logs are cleaned from their start")?;
    let deleted_logs = dir.read_deleted_logs();
    let deleted_logs = readable(
        deleted_logs,
        report,
        "logs that were deleted last may be reported as missing",
    )?;
    let deleted_logs = deleted_logs.unwrap_or_default();
    report.has_deleted_logs = !deleted_logs.is_empty();
    let closed = dir.read_closed_logs(&report.shutdown)?;
    let checkpoint_ms = dir.checkpoint_written_ms(Checkpoint::RecoveryPoint);
    // A new directory gets the file with its first start.
    let is_recovery_point_lost =
        recovery_points.is_none() || checkpoint_ms.is_none() && has_any(high_watermarks.as_ref());
    let mut recovery_points = recovery_points.unwrap_or_default();
    let mut log_starts = log_starts.unwrap_or_default();
    let mut high_watermarks = high_watermarks.unwrap_or_default();
    let mut first_dirty = first_dirty.unwrap_or_default();
    let listed = listing.partitions.iter().chain(&listing.future);
    let logs: HashSet<&TopicPartition> = listed.map(|(partition, _)| partition).collect();
    let without_log = |partition: &&TopicPartition| !logs.contains(partition);
    for deleted in deleted_logs.iter().filter(without_log) {
        for rows in [
            &mut recovery_points,
            &mut log_starts,
            &mut high_watermarks,
            &mut first_dirty,
        ] {
            rows.remove(deleted);
        }
    }
    let named = recovery_points
        .keys()
        .chain(log_starts.keys())
        .chain(first_dirty.keys());
    let named = named.chain(&deleted_logs);
    report.stale = named.filter(without_log).cloned().collect();
    report.missing = match &closed {
        Some(closed) => closed
            .iter()
            .map(|(partition, log)| (partition.clone(), log.log_end))
            .collect(),
        None => recovery_points
            .iter()
            .map(|(partition, point)| (partition.clone(), *point))
            .collect(),
    };
    report.missing.retain(|(_, end)| *end > Offset(0));
    let Listing {
        partitions,
        deleted,
        future,
        stray,
        unknown,
    } = listing;
    (report.deleted, report.stray) = (deleted, stray);
    let ignored = unknown
        .iter()
        .map(|path| format!("{} is not a partition's directory; left alone", path.display()));
    report.warnings.extend(ignored);
    let request = |(partition, path)| LoadRequest {
        dir_index,
        path,
        topic_id: None,
        recovery_point: recovery_points.get(&partition).copied().unwrap_or_default(),
        log_start_offset: log_starts.get(&partition).copied().unwrap_or_default(),
        high_watermark: high_watermarks.get(&partition).copied(),
        first_dirty_offset: first_dirty.get(&partition).copied(),
        is_clean,
        closed: closed.as_ref().and_then(|closed| closed.get(&partition).copied()),
        is_recovery_point_lost,
        is_listed: recovery_points.contains_key(&partition),
        checkpoint_ms,
        partition,
    };
    report.future = future.into_iter().map(request).collect();
    Ok(partitions.into_iter().map(request).collect())
}

fn has_any(offsets: Option<&HashMap<TopicPartition, Offset>>) -> bool {
    offsets.is_some_and(|offsets| offsets.values().any(|offset| *offset > Offset(0)))
}

/// The content of a file; `None`, with a warning, when it cannot be understood.
fn readable<T>(read: Result<T>, report: &mut DirReport, consequence: &str) -> Result<Option<T>> {
    match read {
        Err(error @ Error::BadFormat { .. }) => {
            report.warnings.push(format!("{error}; {consequence}"));
            Ok(None)
        }
        other => other.map(Some),
    }
}

fn refuse_duplicates(listings: &[Option<Listing>]) -> Result<()> {
    let mut seen = HashMap::new();
    for (partition, path) in listings.iter().flatten().flat_map(|listing| &listing.partitions) {
        if let Some(other) = seen.insert(partition, path) {
            let reason = format!("{partition} is in {} too; remove the older of the two", other.display());
            return Err(bad_format(path, reason));
        }
    }
    Ok(())
}

/// Removes the directories that a start found marked for deletion, and returns the directories that could not be
/// removed. Slow: for a background thread.
pub fn remove_deleted(fs: &dyn FileSystem, paths: &[PathBuf]) -> Vec<(PathBuf, Error)> {
    let remove = |path: &PathBuf| {
        let removed = patiently(fs, || match fs.remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
            _ => Ok(()),
        });
        removed.err().map(|error| (path.clone(), error))
    };
    paths.iter().filter_map(remove).collect()
}

#[cfg(test)]
#[path = "log_loader_tests.rs"]
mod tests;
