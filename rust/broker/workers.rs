//! A few threads for what may wait on the disk: cold pages, lookups by timestamp. Network loops never do.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

use super::events::EventQueue;
use super::guard::guarded;

/// Threads; a disk gains little from more requests at once than this.
const THREADS: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// The pool. Its queue is bounded by its callers: a connection has at most one job here.
pub struct Workers {
    jobs: Mutex<Option<Sender<Job>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    /// Starts the threads; `events` hears of one that fails.
    pub fn start(events: &Arc<EventQueue>) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let threads = (0..THREADS).map(|i| {
            let (queue, events) = (Arc::clone(&queue), Arc::clone(events));
            thread::Builder::new()
                .name(format!("disk-{i}"))
                .spawn(move || guarded(&events, || work(&queue)))
        });
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
            threads: Mutex::new(threads.collect::<io::Result<_>>()?),
        })
    }

    /// No threads: each job runs at once on its caller's.
    #[cfg(feature = "simulator")]
    pub fn none() -> Self {
        Self {
            jobs: Mutex::new(None),
            threads: Mutex::default(),
        }
    }

    /// Queues a job; after [`Workers::stop`] it runs at once on the caller's thread.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let refused = match &*self.jobs.lock() {
            Some(jobs) => jobs.send(Box::new(job)).err().map(|e| e.0),
            None => Some(Box::new(job) as Job),
        };
        if let Some(job) = refused {
            job();
        }
    }

    /// Finishes the queue and ends the threads.
    pub fn stop(&self) {
        *self.jobs.lock() = None;
        for thread in self.threads.lock().drain(..) {
            // Its guard has told of a panic.
            let _ = thread.join();
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>) -> io::Result<()> {
    loop {
        let Ok(job) = queue.lock().recv() else { return Ok(()) };
        job();
    }
}
