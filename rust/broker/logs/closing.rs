//! Closes all logs: several threads close them, they are synced together, then the checkpoints and the clean-shutdown
//! markers are written.
//!
//! Logs that were never written come to disk here, so that a clean stop leaves a directory for each.
//!
//! Order: every log is closed and synced before its directory's checkpoints are written, and the checkpoints are
//! written before the marker. A directory where anything failed gets no marker, so that the next start recovers it; the
//! other directories get theirs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::Logs;
use crate::partition::Partition;
use ::io::{FileSystem, Volume};
use base::error::{Error, Result};
use storage::closed_logs::ClosedLog;
use storage::log_dir::Checkpoint;
use storage::patience::patiently;
use storage::{FlushJob, TopicPartition, sync_together};

impl Logs {
    /// Flushes and closes every log, then writes the checkpoints and, where all went well, the clean-shutdown markers.
    pub fn close(&self) -> Result<()> {
        self.threads().materialiser().stop();
        let fs = &*self.node().context().fs;
        let volumes: HashMap<PathBuf, Arc<dyn Volume>> = self
            .dirs()
            .open()
            .iter()
            .filter_map(|dir| Some((dir.path().to_path_buf(), Arc::clone(dir.volume()?))))
            .collect();
        let mut broken: HashMap<PathBuf, Error> = HashMap::new();
        for (path, partitions) in self.node().registry().online_by_log_dir() {
            let volume = volumes.get(&path).map(|volume| &**volume);
            let threads = self.node().options().recovery_threads_per_data_dir;
            if let Err(error) = close_dir(fs, &path, &partitions, volume, threads) {
                broken.insert(path, error);
            }
        }
        self.close_futures(&mut broken);
        patiently(fs, || self.dirs().write_checkpoints(&Checkpoint::ALL))?;
        let closed = self.closed_logs();
        for dir in self.dirs().open().drain(..) {
            if !broken.contains_key(dir.path()) && !self.dirs().is_failed(dir.path()) {
                let logs = closed.get(dir.path()).map_or(&[][..], Vec::as_slice);
                patiently(fs, || dir.write_clean_shutdown(-1, logs))?;
            }
        }
        broken.into_values().next().map_or(Ok(()), Err)
    }

    /// Closes the future logs of partitions that move, so that the next start resumes the moves.
    fn close_futures(&self, broken: &mut HashMap<PathBuf, Error>) {
        let mut futures = self.moves().take_loose();
        for topic in self.node().registry().snapshot().iter() {
            // The future logs of offline partitions too: such a future log is in a directory that works.
            futures.extend(topic.partitions().filter_map(|partition| partition.future().get()));
        }
        for future in futures {
            let closed = patiently(&*self.node().context().fs, || future.log().close());
            if let Err(error) = closed {
                broken.insert(future.log_dir().to_path_buf(), error);
            }
        }
    }

    /// The description of each log with which the next start compares the files. A log that cannot be read is left out,
    /// and the next start opens it as a log that Kafka wrote.
    fn closed_logs(&self) -> HashMap<PathBuf, Vec<(TopicPartition, ClosedLog)>> {
        let mut closed: HashMap<PathBuf, Vec<(TopicPartition, ClosedLog)>> = HashMap::new();
        for (path, partitions) in self.node().registry().online_by_log_dir() {
            let rows = partitions.iter().filter_map(|partition| {
                let log = partition.log();
                Some((log.topic_partition().clone(), ClosedLog::of(log.contents()).ok()?))
            });
            closed.entry(path).or_default().extend(rows);
        }
        closed
    }
}

/// Closes all logs of one directory and returns the first error.
fn close_dir(
    fs: &dyn FileSystem,
    dir: &Path,
    partitions: &[Arc<Partition>],
    volume: Option<&dyn Volume>,
    threads: usize,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let first_error: Mutex<Option<Error>> = Mutex::default();
    let dirty: Mutex<Vec<(Arc<Partition>, FlushJob)>> = Mutex::default();
    let keep = |error: Error| {
        first_error.lock().get_or_insert(error);
    };
    let close = || {
        while let Some(partition) = partitions.get(next.fetch_add(1, Ordering::Relaxed)) {
            match patiently(fs, || partition.begin_close()) {
                Ok(Some(job)) => dirty.lock().push((Arc::clone(partition), job)),
                Ok(None) => partition.refresh(),
                Err(error) => {
                    partition.refresh();
                    keep(error);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.clamp(1, partitions.len().max(1)) {
            if thread::Builder::new().spawn_scoped(scope, close).is_err() {
                break; // the system gives no more threads
            }
        }
        close();
    });
    let (partitions, jobs): (Vec<_>, Vec<_>) = dirty.into_inner().into_iter().unzip();
    for (partition, flushed) in partitions.iter().zip(sync_together(jobs, dir, volume)) {
        let closed = match partition.complete_close(flushed) {
            Err(error) if error.is_shortage() => patiently(fs, || partition.close()),
            other => other,
        };
        if let Err(error) = closed {
            keep(error);
        }
    }
    first_error.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
#[path = "closing_tests.rs"]
mod tests;
