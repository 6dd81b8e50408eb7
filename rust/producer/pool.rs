//! Idle producers of this process, each for the options that it was made with, so that small tasks need no new
//! connections and no new producer ids: a broker remembers each id for a day.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::error::Result;
use super::options::ProducerOptions;
use super::producer::Producer;

/// Longer unused ones are closed, before brokers close their connections (`connections.max.idle.ms`, 10 minutes).
const MAX_IDLE: Duration = Duration::from_mins(9);
/// More are closed: a task runs on each core, hardly more.
const MAX_PRODUCERS: usize = 256;

type Key = BTreeMap<String, String>;

struct Idle {
    key: Key,
    since: Instant,
    producer: Producer,
}

static POOL: LazyLock<Mutex<Vec<Idle>>> = LazyLock::new(Mutex::default);

/// A producer with its options' text, under which it is given back.
pub(super) struct Pooled {
    key: Key,
    pub(super) producer: Producer,
}

/// An idle producer, or a new one.
pub(super) fn take(options: &BTreeMap<String, String>) -> Result<Pooled> {
    let kafkas = options
        .iter()
        .filter(|(name, _)| name.to_lowercase().starts_with("kafka."));
    let key: Key = kafkas
        .map(|(name, value)| (name.to_lowercase(), value.clone()))
        .collect();
    let idle = {
        let mut pool = POOL.lock();
        let place = pool
            .iter()
            .rposition(|idle| idle.key == key && idle.since.elapsed() < MAX_IDLE);
        place.map(|at| pool.swap_remove(at))
    };
    let producer = match idle {
        Some(idle) => idle.producer,
        None => Producer::new(Arc::new(ProducerOptions::parse(&key)?.0)),
    };
    Ok(Pooled { key, producer })
}

/// Keeps a producer whose task has ended well; closes others, and those that were idle for too long.
pub(super) fn give_back(Pooled { key, producer }: Pooled) {
    let mut closed = Vec::new();
    let mut pool = POOL.lock();
    let is_old = |idle: &mut Idle| idle.since.elapsed() >= MAX_IDLE;
    closed.extend(pool.extract_if(.., is_old));
    let idle = Idle {
        key,
        since: Instant::now(),
        producer,
    };
    if idle.producer.is_reusable() && pool.len() < MAX_PRODUCERS {
        pool.push(idle);
    } else {
        closed.push(idle);
    }
    drop(pool);
    drop(closed); // sockets are closed outside of the lock
}
