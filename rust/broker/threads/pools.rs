//! [`Threads`]: all threads of a broker but those of the network: what wait on the disk, and what serve requests that
//! are too much for a network loop.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use super::events::EventQueue;
use super::flusher::Flusher;
use super::guard::guarded;
use super::materialiser::Materialiser;
use super::reaper::Reaper;
use super::workers::Workers;

/// One thread for this many cores serves the produces that a network loop leaves; the other cores are for the loops.
const CORES_OF_A_PRODUCE_THREAD: usize = 2;
/// Threads that adopt the segments of bulk loads: while one waits for the disk, another one reads.
const MIN_LOAD_THREADS: usize = 2;
/// Threads for the disk; a disk gains little from more requests at once than this.
const DISK_THREADS: usize = 2;
/// Threads for reading requests of many rows: each may take tens of megabytes, so they are served one after the other.
const READ_THREADS: usize = 1;

/// Threads for requests that are too much for a network loop. Requests that write do not wait for requests that read.
pub struct RequestThreads {
    /// Produces that have inflated few bytes.
    pub produce: Workers,
    /// The rest of produces that inflate many bytes. The operating system shares the cores between these threads and
    /// the others.
    pub inflate: Workers,
    /// Fetches, lookups of offsets, Metadata.
    pub read: Workers,
    /// Bulk loads, which are read whole before they are adopted.
    pub load: Workers,
}

/// See the module.
pub struct Threads {
    flusher: Flusher,
    reaper: Reaper,
    materialiser: Materialiser,
    disk: Workers,
    requests: RequestThreads,
    /// The threads that run a queue, such as the flusher's.
    runners: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Starts the pools. A thread that fails becomes an event in `events`.
    pub fn start(events: &Arc<EventQueue>) -> io::Result<Arc<Self>> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let produce_threads = (cores / CORES_OF_A_PRODUCE_THREAD).max(1);
        let requests = RequestThreads {
            produce: Workers::start(events, "produce", produce_threads)?,
            inflate: Workers::start(events, "inflate", produce_threads)?,
            read: Workers::start(events, "read", READ_THREADS)?,
            load: Workers::start(events, "load", produce_threads.max(MIN_LOAD_THREADS))?,
        };
        Ok(Self::of(Workers::start(events, "disk", DISK_THREADS)?, requests))
    }

    /// Pools without threads: each job runs on its caller's thread.
    pub fn none() -> Arc<Self> {
        let requests = RequestThreads {
            produce: Workers::none(),
            inflate: Workers::none(),
            read: Workers::none(),
            load: Workers::none(),
        };
        Self::of(Workers::none(), requests)
    }

    fn of(disk: Workers, requests: RequestThreads) -> Arc<Self> {
        Arc::new(Self {
            flusher: Flusher::default(),
            reaper: Reaper::default(),
            materialiser: Materialiser::default(),
            disk,
            requests,
            runners: Mutex::default(),
        })
    }

    /// Starts a thread that runs a queue, until its queue is stopped.
    pub fn run(&self, events: &Arc<EventQueue>, name: String, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let events = Arc::clone(events);
        let work = move || {
            guarded(&events, || {
                run();
                Ok(())
            });
        };
        let thread = thread::Builder::new().name(name).spawn(work)?;
        self.runners.lock().push(thread);
        Ok(())
    }

    /// Group commit.
    pub fn flusher(&self) -> &Flusher {
        &self.flusher
    }

    /// Deletion in the background.
    pub fn reaper(&self) -> &Reaper {
        &self.reaper
    }

    /// Writes new logs to disk in the background.
    pub fn materialiser(&self) -> &Materialiser {
        &self.materialiser
    }

    /// Threads for short work that waits for the disk.
    pub fn disk(&self) -> &Workers {
        &self.disk
    }

    /// Threads for requests that are too much for a network loop.
    pub fn requests(&self) -> &RequestThreads {
        &self.requests
    }

    /// Ends the pools and the queues here, after their work. Requests that still wait are dropped.
    pub fn stop(&self) {
        self.requests.produce.stop_at_once();
        self.requests.inflate.stop_at_once();
        self.requests.read.stop_at_once();
        self.requests.load.stop_at_once();
        self.disk.stop();
        self.flusher.stop();
        self.reaper.stop();
        self.materialiser.stop();
    }

    /// Waits for the threads that run queues, which were stopped.
    pub fn join(&self) {
        for thread in self.runners.lock().drain(..) {
            // The thread's guard has reported a panic already.
            let _ = thread.join();
        }
    }
}
