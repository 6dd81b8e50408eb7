//! A few threads for work that a network loop must not do: wait on the disk (cold pages, lookups by timestamp), or
//! serve a request for longer than other requests may wait. Jobs run in the order in which they came. A long job runs
//! in slices; each slice submits the next.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use crate::threads::events::EventQueue;
use crate::threads::guard::guarded;

type Job = Box<dyn FnOnce() + Send>;

/// The pool. Its queue is bounded by its callers: a connection has at most one job here.
pub struct Workers {
    jobs: Mutex<Option<Sender<Job>>>,
    is_discarding: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    /// Starts `count` threads of this name. A thread that fails becomes an event in `events`.
    pub fn start(events: &Arc<EventQueue>, name: &str, count: usize) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let is_discarding = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|i| {
            let (queue, events) = (Arc::clone(&queue), Arc::clone(events));
            let is_discarding = Arc::clone(&is_discarding);
            thread::Builder::new()
                .name(format!("{name}-{i}"))
                .spawn(move || guarded(&events, || work(&queue, &is_discarding)))
        });
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
            is_discarding: Arc::clone(&is_discarding),
            threads: Mutex::new(threads.collect::<io::Result<_>>()?),
        })
    }

    /// A pool without threads: each job runs at once on the caller's thread.
    pub fn none() -> Self {
        Self {
            jobs: Mutex::new(None),
            is_discarding: Arc::default(),
            threads: Mutex::default(),
        }
    }

    /// Queues a job; after [`Workers::stop`] it runs at once on the caller's thread, after [`Workers::stop_at_once`]
    /// never.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let refused = match &*self.jobs.lock() {
            Some(jobs) => jobs.send(Box::new(job)).err().map(|e| e.0),
            None => Some(Box::new(job) as Job),
        };
        if let Some(job) = refused.filter(|_| !self.is_discarding.load(Ordering::Acquire)) {
            job();
        }
    }

    /// Finishes the jobs that run, drops the others and ends the threads.
    pub fn stop_at_once(&self) {
        self.is_discarding.store(true, Ordering::Release);
        self.stop();
    }

    /// Finishes the queue and ends the threads.
    pub fn stop(&self) {
        *self.jobs.lock() = None;
        for thread in self.threads.lock().drain(..) {
            // The thread's guard has reported a panic already.
            let _ = thread.join();
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>, is_discarding: &AtomicBool) -> io::Result<()> {
    loop {
        let Ok(job) = queue.lock().recv() else { return Ok(()) };
        if !is_discarding.load(Ordering::Acquire) {
            job();
        }
    }
}
