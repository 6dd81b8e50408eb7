//! Closing many logs at once.
//!
//! `Log::begin_close` writes the state that the files of a log lack, and makes a job when anything must be synced.
//! [`sync_together`] syncs the logs of one directory with two calls to their volume instead of several for each log.
//! `Log::complete_close` records the outcome.
//!
//! Durability: after `complete_close` has returned `Ok` every record of the log survives a power loss. A failed sync
//! poisons every log that it covered: none of them counts as closed cleanly, and the next start recovers them.

use std::io;
use std::path::Path;
use std::thread;

use parking_lot::Mutex;

use super::flush::{FlushJob, Flushed};
use ::io::Volume;
use base::error::{Error, Result};

/// From this many logs on the whole volume is synced. Fewer logs are synced one by one: a volume may hold other
/// programs' unwritten bytes, for which a sync of the volume would wait.
const TOGETHER: usize = 16;
/// Threads for logs that are synced one by one.
const SIDE_BY_SIDE: usize = 4;

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
    let is_within: Vec<bool> = jobs.iter().map(|job| job.is_within(volume)).collect();
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
    if synced.is_ok() && jobs.iter().any(FlushJob::has_epochs) {
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
