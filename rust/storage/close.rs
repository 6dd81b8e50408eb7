//! Closing logs: the state in memory goes to the files, then the files go to disk, for one log or for many at once.
//!
//! [`Log::begin_close`] writes the state that the files lack and says whether anything must be synced; a log without
//! unflushed records costs no sync. [`sync_together`] syncs many logs of one directory with two calls to their volume
//! instead of several for each log. [`Log::complete_close`] records the outcome.
//!
//! Durability: after `complete_close` has returned `Ok` every record of the log survives a power loss. A failed sync
//! poisons every log that it covered: none of them counts as closed cleanly, and the next start recovers them.

use std::io;
use std::path::Path;
use std::thread;

use parking_lot::Mutex;

use super::flush::{FlushJob, Flushed};
use super::log::Log;
use super::state_file::Durability;
use ::io::Volume;
use base::error::{Error, Result};

/// From this many logs on the whole volume is synced. Fewer logs are synced one by one: a volume may hold other
/// programs' unwritten bytes, for which a sync of the volume would wait.
const TOGETHER: usize = 16;
/// Threads for logs that are synced one by one.
const SIDE_BY_SIDE: usize = 4;

impl Log {
    /// Refuses writes from now on, completes the index files and takes a snapshot of the producer state. Returns the
    /// job that must run, if any; [`complete_close`](Self::complete_close) must follow it. May be repeated after an
    /// error.
    pub fn begin_close(&mut self) -> Result<Option<FlushJob>> {
        if self.standing.is_closed() && !self.standing.is_poisoned() {
            return Ok(None);
        }
        self.settle()?;
        if let Err(error) = self.materialise() {
            if !matches!(error, Error::Taken { .. }) {
                return Err(error);
            }
            self.standing.close(); // it has no record and no file
            return Ok(None);
        }
        let fs = self.fs();
        let has_batches = self.segments.active().size() > 0;
        if has_batches {
            self.segments.active_mut().write_indexes(&*fs)?;
        } else {
            // The index files of an empty segment hold nothing: the next start does without them.
            self.segments.active_mut().write_pending(&*fs)?;
        }
        self.producers
            .take_snapshot(&*fs, &self.dir, self.offsets.end(), Durability::Lazy)?;
        // The epochs of an empty log are not worth two syncs for each of thousands of idle partitions.
        let has_epochs = self.epochs.is_dirty() && self.offsets.start() < self.offsets.end();
        self.standing.close();
        if self.offsets.recovery_point() >= self.offsets.end() && !has_epochs {
            return Ok(None);
        }
        let job = self.begin_flush();
        Ok(Some(if has_batches {
            job.with_active_indexes(self)
        } else {
            job
        }))
    }

    /// Records the outcome of the sync. Returns its error, which poisons the log, unless it is a shortage: then the log
    /// is open again, and the close may be repeated.
    pub fn complete_close(&mut self, flushed: Result<Flushed>) -> Result<()> {
        let closed = self.complete_flush(flushed);
        if closed.as_ref().is_err_and(Error::is_shortage) {
            self.standing.reopen();
        }
        closed
    }

    /// Closes the log without touching its files: their disk has failed.
    pub fn abandon(&mut self) {
        self.standing.close();
    }

    /// Closes the log and syncs everything. No call may follow.
    pub fn close(&mut self) -> Result<()> {
        match self.begin_close()? {
            Some(job) => self.complete_close(job.run()),
            None => Ok(()),
        }
    }
}

/// Runs the jobs of many logs below `dir`; the outcomes have the order of the jobs. With a volume and enough jobs:
///
/// - (a) the new epoch files are written beside the old ones;
/// - (b) the volume is synced: batches, indexes, names, the files of (a);
/// - (c) the files of (a) get their names, and the volume is synced again.
///
/// A crash before (c) leaves the old epochs, a crash after (c) the new epochs. Jobs whose files are on another volume
/// (a mount below `dir`) run one by one, and so do the jobs of a small group.
pub fn sync_together(jobs: Vec<FlushJob>, dir: &Path, volume: Option<&dyn Volume>) -> Vec<Result<Flushed>> {
    let Some(volume) = volume.filter(|_| jobs.len() >= TOGETHER) else {
        return run_each(jobs);
    };
    let is_within: Vec<bool> = jobs
        .iter()
        .map(|job| job.logs.iter().all(|log| volume.holds(&*log.file)))
        .collect();
    let each = |step: &dyn Fn(&FlushJob) -> Result<()>, outcomes: &mut Vec<Result<()>>| {
        for ((job, outcome), _) in jobs.iter().zip(outcomes).zip(&is_within).filter(|(_, within)| **within) {
            if outcome.is_ok() {
                *outcome = step(job);
            }
        }
    };
    let mut outcomes: Vec<Result<()>> = jobs.iter().map(|_| Ok(())).collect();
    each(&FlushJob::write_epochs_aside, &mut outcomes); // (a)
    let mut synced = volume.sync(); // (b)
    if synced.is_ok() && jobs.iter().any(|job| job.epochs.is_some()) {
        each(&FlushJob::put_epochs_in_place, &mut outcomes); // (c)
        synced = volume.sync();
    }
    let finish = |((job, outcome), is_within): ((FlushJob, Result<()>), bool)| {
        if !is_within {
            return job.run();
        }
        outcome?;
        match &synced {
            Ok(()) => Ok(job.done()),
            Err(error) => Err(Error::io("syncfs", dir, again(error))),
        }
    };
    jobs.into_iter().zip(outcomes).zip(is_within).map(finish).collect()
}

/// Runs several jobs at a time: a disk can sync different files side by side.
fn run_each(jobs: Vec<FlushJob>) -> Vec<Result<Flushed>> {
    let threads = SIDE_BY_SIDE.min(jobs.len());
    let outcomes = Mutex::new(jobs.iter().map(|_| None).collect::<Vec<_>>());
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let run = || {
        loop {
            let next = queue.lock().next();
            let Some((at, job)) = next else { return };
            let outcome = job.run();
            if let Some(slot) = outcomes.lock().get_mut(at) {
                *slot = Some(outcome);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break; // there are no more threads to be had
            }
        }
        run();
    });
    outcomes.into_inner().into_iter().flatten().collect()
}

impl FlushJob {
    fn write_epochs_aside(&self) -> Result<()> {
        let epochs = self.epochs.as_ref();
        epochs.map_or(Ok(()), |epochs| epochs.write_aside(&*self.fs, &self.dir))
    }

    fn put_epochs_in_place(&self) -> Result<()> {
        let epochs = self.epochs.as_ref();
        epochs.map_or(Ok(()), |epochs| epochs.put_in_place(&*self.fs, &self.dir))
    }
}

/// A copy of the error, for one more log.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(
        || io::Error::new(error.kind(), error.to_string()),
        io::Error::from_raw_os_error,
    )
}

#[cfg(test)]
#[path = "close_tests.rs"]
mod tests;
