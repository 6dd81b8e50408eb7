//! The counters of the data plane. Every thread adds to them; they are read when the metrics are requested.
//!
//! Counts by topic are kept with the topic's partitions; the total over all topics is summed when it is read, so that
//! an append or a fetch adds to one place only. A [`Meter`] is one partition's handle on its topic's counts. When the
//! last meter of a topic is dropped, the topic's counts are added to the sum of the removed topics, so that no total
//! ever falls.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The counts by topic, with the names of Kafka's `BrokerTopicMetrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Records appended as the leader.
    MessagesIn,
    /// Bytes of batches appended as the leader.
    BytesIn,
    /// Bytes of batches sent to consumers.
    BytesOut,
    /// Bytes of batches appended as a follower.
    ReplicationBytesIn,
    /// Bytes of batches sent to followers.
    ReplicationBytesOut,
    /// Partitions of Produce requests.
    TotalProduceRequests,
    /// Partitions of Produce requests that were refused.
    FailedProduceRequests,
    /// Partitions of fetches that were answered.
    TotalFetchRequests,
    /// Partitions of answered fetches with an error.
    FailedFetchRequests,
    /// Records of magic 0 or 1 that were produced and became a batch.
    ProduceMessageConversions,
    /// Records that became messages of magic 0 or 1 for a fetch.
    FetchMessageConversions,
}

/// The number of counts.
pub const COUNTS: usize = 11;

/// Kafka's names, in the order of [`Count`].
pub const COUNT_NAMES: [&str; COUNTS] = [
    "MessagesIn",
    "BytesIn",
    "BytesOut",
    "ReplicationBytesIn",
    "ReplicationBytesOut",
    "TotalProduceRequests",
    "FailedProduceRequests",
    "TotalFetchRequests",
    "FailedFetchRequests",
    "ProduceMessageConversions",
    "FetchMessageConversions",
];

/// The number of shares. A thread adds to the counters of one share, so that processors seldom pass a cache line to and
/// fro; with more threads than shares, several threads have the same share.
const SHARES: usize = 4;

thread_local! {
    /// The share of this thread, [`SHARES`] before its first use.
    static SHARE: Cell<usize> = const { Cell::new(SHARES) };
}

/// Threads get their shares in turn.
#[cold]
fn first_share() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let share = NEXT.fetch_add(1, Ordering::Relaxed) % SHARES;
    SHARE.set(share);
    share
}

#[inline]
fn share_of_thread() -> usize {
    match SHARE.get() {
        SHARES => first_share(),
        share => share,
    }
}

/// Counters of some threads, on cache lines of their own.
#[derive(Debug)]
#[repr(align(128))]
struct Share<const N: usize>([AtomicU64; N]);

/// Counters that every thread adds to.
#[derive(Debug)]
struct Shared<const N: usize>([Share<N>; SHARES]);

impl<const N: usize> Default for Shared<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| {
            Share(std::array::from_fn(|_| AtomicU64::new(0)))
        }))
    }
}

impl<const N: usize> Shared<N> {
    #[inline]
    fn add(&self, at: usize, amount: u64) {
        if let Some(counter) = self.0.get(share_of_thread()).and_then(|share| share.0.get(at)) {
            counter.fetch_add(amount, Ordering::Relaxed);
        }
    }

    fn value(&self, at: usize) -> u64 {
        let counters = self.0.iter().filter_map(|share| share.0.get(at));
        counters.map(|counter| counter.load(Ordering::Relaxed)).sum()
    }
}

/// The counts of one topic, or of requests for no hosted topic.
#[derive(Debug, Default)]
pub struct Counts(Shared<COUNTS>);

impl Counts {
    #[inline]
    fn add(&self, count: Count, amount: u64) {
        self.0.add(count as usize, amount);
    }

    fn values(&self) -> [u64; COUNTS] {
        std::array::from_fn(|at| self.0.value(at))
    }
}

#[derive(Default)]
struct Book {
    living: HashMap<Arc<str>, Arc<Counts>>,
    gone: [u64; COUNTS],
}

/// A topic's counts; see the module.
pub struct Meter {
    topic: Arc<str>,
    counts: Arc<Counts>,
    book: Arc<Mutex<Book>>,
}

impl Default for Meter {
    /// The meter of a partition that no broker counts.
    fn default() -> Self {
        Self {
            topic: Arc::from(""),
            counts: Arc::default(),
            book: Arc::default(),
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meter").field(&self.topic).finish()
    }
}

impl Meter {
    /// Adds.
    #[inline]
    pub fn add(&self, count: Count, amount: u64) {
        self.counts.add(count, amount);
    }

    /// Whether both count for the same topic.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.counts, &other.counts)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let mut book = self.book.lock();
        // Only the references of this meter and of the book are left. No other meter can be made meanwhile, since that
        // takes the lock, too.
        if Arc::strong_count(&self.counts) == 2 && book.living.remove(&self.topic).is_some() {
            for (sum, value) in book.gone.iter_mut().zip(self.counts.values()) {
                *sum += value;
            }
        }
    }
}

/// Requests are counted for each API key below this number, as all of Kafka's API keys are.
const API_KEYS: usize = 128;

/// See the module.
pub struct Metrics {
    book: Arc<Mutex<Book>>,
    /// Counts of partitions that this broker does not host.
    nowhere: Counts,
    requests: Shared<API_KEYS>,
    follower_fetches: AtomicU64,
    /// Connections open now.
    pub connections: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            book: Arc::default(),
            nowhere: Counts::default(),
            requests: Shared::default(),
            follower_fetches: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        }
    }
}

impl Metrics {
    /// Another handle on the topic's counts.
    pub fn meter(&self, topic: &Arc<str>) -> Meter {
        let mut book = self.book.lock();
        let counts = book.living.entry(Arc::clone(topic)).or_default();
        Meter {
            topic: Arc::clone(topic),
            counts: Arc::clone(counts),
            book: Arc::clone(&self.book),
        }
    }

    /// Counts for no topic.
    pub fn add(&self, count: Count, amount: u64) {
        self.nowhere.add(count, amount);
    }

    /// Counts a request that is served.
    #[inline]
    pub fn count_request(&self, api_key: i16) {
        if let Ok(key) = usize::try_from(api_key) {
            self.requests.add(key, 1);
        }
    }

    /// Counts a Fetch of a follower, which [`Self::count_request`] has counted too.
    pub fn count_follower_fetch(&self) {
        self.follower_fetches.fetch_add(1, Ordering::Relaxed);
    }

    /// Fetches of followers.
    pub fn follower_fetches(&self) -> u64 {
        self.follower_fetches.load(Ordering::Relaxed)
    }

    /// (API key, requests), for each API key that was requested.
    pub fn requests(&self) -> Vec<(i16, u64)> {
        let counts = (0..API_KEYS).map(|key| self.requests.value(key));
        (0..).zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// The counts of all topics together, in the order of [`COUNT_NAMES`], and the number of hosted topics.
    pub fn totals(&self) -> ([u64; COUNTS], usize) {
        let book = self.book.lock();
        let mut sums = book.gone;
        let all = book.living.values().map(|counts| counts.values());
        for values in all.chain([self.nowhere.values()]) {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
        (sums, book.living.len())
    }

    /// The counts of each topic that has partitions on this broker.
    pub fn by_topic(&self) -> Vec<(Arc<str>, [u64; COUNTS])> {
        let book = self.book.lock();
        let row = |(topic, counts): (&Arc<str>, &Arc<Counts>)| (Arc::clone(topic), counts.values());
        book.living.iter().map(row).collect()
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
