//! Splits read by several threads, rows in the order of the splits.
//!
//! Each thread takes the next split and reads it to its end. Its batches wait in the split's queue, of about
//! [`QUEUE_BYTES`]: a thread whose queue is full waits until the consumer reaches its split, so a queue should hold a
//! whole split. No thread starts a split that is further ahead of the consumer than there are threads. So memory is
//! bounded by threads × queue × batch, and the consumer meets batches and errors in order. With one thread, or one
//! split, the consumer's own thread reads and there is no queue. Dropping a [`ScanReader`] stops the threads after
//! their current batch and waits for them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parking_lot::{Condvar, Mutex};

use super::reader::Workspace;
use super::{LostRanges, Result, ScanError, ScanOptions, Split, SplitReader};

/// Bytes of one split that wait for the consumer, about.
const QUEUE_BYTES: usize = 16 << 20;
/// Limits of the number of waiting batches, whatever their size.
const QUEUE_BATCHES: std::ops::RangeInclusive<usize> = 4..=16;

fn queue_batches(options: &ScanOptions) -> usize {
    (QUEUE_BYTES / options.batch_bytes.max(1)).clamp(*QUEUE_BATCHES.start(), *QUEUE_BATCHES.end())
}

/// The record batches of splits, in the order of the splits; ends after the first error.
pub struct ScanReader {
    schema: SchemaRef,
    way: Way,
}

enum Way {
    /// Splits are read on the caller's thread.
    Inline(Box<Inline>),
    Threads(Threads),
    /// No more batches come.
    Ended,
}

struct Inline {
    splits: Arc<[Arc<Split>]>,
    options: Arc<ScanOptions>,
    lost: LostRanges,
    next_split: usize,
    reader: Option<SplitReader>,
    workspace: Option<Workspace>,
}

impl ScanReader {
    /// Starts the threads, at most as many as there are splits. Ranges of lost records are added to `lost` when the
    /// options allow loss.
    pub fn new(splits: Arc<[Arc<Split>]>, options: Arc<ScanOptions>, lost: LostRanges) -> Result<Self> {
        let schema = Arc::clone(options.schema());
        let threads = options.threads.min(splits.len());
        let way = if threads > 1 {
            Way::Threads(Threads::start(threads, splits, options, lost)?)
        } else {
            Way::Inline(Box::new(Inline {
                splits,
                options,
                lost,
                next_split: 0,
                reader: None,
                workspace: None,
            }))
        };
        Ok(Self { schema, way })
    }

    /// The columns of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch or the error that ends the scan; `None` at the end.
    pub fn next_batch(&mut self) -> Option<Result<RecordBatch>> {
        let next = match &mut self.way {
            Way::Inline(inline) => inline.next(),
            Way::Threads(threads) => threads.next(),
            Way::Ended => None,
        };
        if !matches!(next, Some(Ok(_))) {
            self.way = Way::Ended;
        }
        next
    }
}

impl Inline {
    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(next) = reader.next() {
                    return Some(next);
                }
                self.workspace = self.reader.take().map(SplitReader::into_workspace);
            }
            let split = self.splits.get(self.next_split)?;
            self.next_split += 1;
            let workspace = self
                .workspace
                .take()
                .unwrap_or_else(|| Workspace::new(&self.options, 0));
            self.reader = Some(SplitReader::with(
                workspace,
                Arc::clone(split),
                Arc::clone(&self.options),
                Arc::clone(&self.lost),
            ));
        }
    }
}

/// The state that the threads and the consumer share.
struct Shared {
    splits: Arc<[Arc<Split>]>,
    options: Arc<ScanOptions>,
    lost: LostRanges,
    threads: usize,
    state: Mutex<State>,
    /// Notified when `state` has changed: for the consumer and the threads.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The split the consumer is at.
    consumed: usize,
    /// The split to be taken next.
    next_split: usize,
    /// The waiting batches of the splits from `consumed` to `next_split`.
    queues: VecDeque<Queue>,
    /// The consumer is gone, or received an error.
    is_stopped: bool,
    /// A thread ended otherwise than by finishing its splits.
    has_panicked: bool,
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Result<RecordBatch>>,
    is_complete: bool,
}

struct Threads {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    fn start(threads: usize, splits: Arc<[Arc<Split>]>, options: Arc<ScanOptions>, lost: LostRanges) -> Result<Self> {
        let shared = Arc::new(Shared {
            splits,
            options,
            lost,
            threads,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let mut started = Self {
            shared,
            handles: Vec::with_capacity(threads),
        };
        for _ in 0..threads {
            let shared = Arc::clone(&started.shared);
            let handle = Builder::new()
                .name("kafkastore-scan".to_owned())
                .spawn(move || run(&shared));
            match handle {
                Ok(handle) => started.handles.push(handle),
                // The scan works with fewer threads, but not without any.
                Err(_) if !started.handles.is_empty() => break,
                Err(error) => {
                    return Err(ScanError::Invalid(format!(
                        "threads: no thread could be started ({error}); scan with threads=1"
                    )));
                }
            }
        }
        Ok(started)
    }

    fn next(&self) -> Option<Result<RecordBatch>> {
        let shared = &self.shared;
        let mut state = shared.state.lock();
        loop {
            if state.has_panicked {
                let reason = "a thread of the scan ended early, which is a mistake of kafkastore; scan with threads=1";
                return Some(Err(ScanError::Invalid(reason.to_owned())));
            }
            if state.consumed == shared.splits.len() {
                return None;
            }
            if let Some(queue) = state.queues.front_mut() {
                if let Some(batch) = queue.batches.pop_front() {
                    shared.changed.notify_all();
                    return Some(batch);
                }
                if queue.is_complete {
                    state.queues.pop_front();
                    state.consumed += 1;
                    shared.changed.notify_all();
                    continue;
                }
            }
            shared.changed.wait(&mut state);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.state.lock().is_stopped = true;
        self.shared.changed.notify_all();
        for handle in self.handles.drain(..) {
            // A panic was already reported to the consumer.
            let _ = handle.join();
        }
    }
}

/// Reports a thread that unwinds.
struct PanicFlag<'a>(&'a Shared);

impl Drop for PanicFlag<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state.lock().has_panicked = true;
            self.0.changed.notify_all();
        }
    }
}

/// A thread's life: split after split.
fn run(shared: &Shared) {
    let _flag = PanicFlag(shared);
    let mut workspace = Workspace::new(&shared.options, queue_batches(&shared.options));
    while let Some(index) = take_split(shared) {
        let split = Arc::clone(&shared.splits[index]);
        let mut reader = SplitReader::with(workspace, split, Arc::clone(&shared.options), Arc::clone(&shared.lost));
        for batch in reader.by_ref() {
            if !put(shared, index, batch) {
                return;
            }
        }
        complete(shared, index);
        workspace = reader.into_workspace();
    }
}

/// Takes the next split, once the consumer is near enough; `None` when there is none or the scan was stopped.
fn take_split(shared: &Shared) -> Option<usize> {
    let mut state = shared.state.lock();
    loop {
        if state.is_stopped || state.next_split == shared.splits.len() {
            return None;
        }
        if state.next_split <= state.consumed + shared.threads {
            let index = state.next_split;
            state.next_split += 1;
            state.queues.push_back(Queue::default());
            return Some(index);
        }
        shared.changed.wait(&mut state);
    }
}

/// Queues a batch of split `index`, once there is room; false when the scan was stopped.
fn put(shared: &Shared, index: usize, batch: Result<RecordBatch>) -> bool {
    let mut state = shared.state.lock();
    loop {
        if state.is_stopped {
            return false;
        }
        let at = index - state.consumed;
        if state.queues[at].batches.len() < queue_batches(&shared.options) {
            state.queues[at].batches.push_back(batch);
            shared.changed.notify_all();
            return true;
        }
        shared.changed.wait(&mut state);
    }
}

fn complete(shared: &Shared, index: usize) {
    let mut state = shared.state.lock();
    let at = index - state.consumed;
    state.queues[at].is_complete = true;
    shared.changed.notify_all();
}

#[cfg(test)]
#[path = "parallel_tests.rs"]
mod tests;
