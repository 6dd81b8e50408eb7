//! The calls of a sink as JSON, for callers of another language.
//!
//! ```text
//! check   {"options": {name: value}, "isExactlyOnce"} -> {"warnings": [text]}
//! open    {"options", "topic": text or null, "transactionalId": text or null}
//! flushed {"records", "bytes", "transaction": prepared or null}
//! begin   {"options", "prefix", "queryId": text or null} -> {"taskPrefix", "decided": n or null}
//! commit  {"prefix", "batch": n or null, "transactions": [prepared], "hasLostTasks"}
//! abort   {"prefix", "transactions": [prepared]}
//! prepared := {"transactionalId", "producerId", "epoch"}
//! ```
//!
//! `begin` keeps a committer for the prefix until the job has ended, or until a batch of a query is aborted or fails,
//! and gives that one to the next batch of the same query. Rows are no JSON: [`Writer::append`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::committer::{Committer, Prepared};
use super::error::{ProducerError, Result, failed};
use super::options::{ProducerOptions, ignored_by_sink};
use super::pool::{self, Pooled};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    options: BTreeMap<String, String>,
    is_exactly_once: bool,
}

#[derive(Serialize)]
struct Warnings {
    warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Open {
    options: BTreeMap<String, String>,
    topic: Option<String>,
    transactional_id: Option<String>,
}

#[derive(Serialize)]
struct Flushed {
    records: u64,
    bytes: u64,
    transaction: Option<Prepared>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Begin {
    options: BTreeMap<String, String>,
    prefix: String,
    query_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Begun {
    task_prefix: String,
    decided: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    prefix: String,
    batch: Option<i64>,
    transactions: Vec<Prepared>,
    has_lost_tasks: bool,
}

#[derive(Deserialize)]
struct Abort {
    prefix: String,
    transactions: Vec<Prepared>,
}

/// The committers between two calls, by prefix and query; a running call has its own out of the table.
type Committers = HashMap<String, (Option<String>, Committer)>;

static COMMITTERS: LazyLock<Mutex<Committers>> = LazyLock::new(Mutex::default);

/// Reads the options; the warnings about them.
pub fn check(request: &str) -> Result<String> {
    let request: Check = decoded("check", request)?;
    let (options, mut warnings) = ProducerOptions::parse(&request.options)?;
    warnings.extend(ignored_by_sink(&request.options));
    if request.is_exactly_once {
        options.check_transactional()?;
    }
    encoded(&Warnings { warnings })
}

/// The writer of one task.
pub struct Writer {
    pooled: Option<Pooled>,
}

impl Writer {
    /// Of a request `open`. Connects to nothing before the first row.
    pub fn open(request: &str) -> Result<Self> {
        let request: Open = decoded("open", request)?;
        let mut pooled = pool::take(&request.options)?;
        pooled
            .producer
            .begin(request.topic.as_deref(), request.transactional_id);
        Ok(Self { pooled: Some(pooled) })
    }

    /// Appends the rows of a block; `rows.rs` has its layout. Whether there is room for more; `drain` waits for it.
    pub fn append(&mut self, block: &[u8]) -> Result<bool> {
        let producer = &mut self.pooled.as_mut().ok_or_else(ended)?.producer;
        producer.append(block)?;
        producer.drain(Duration::ZERO)
    }

    /// Waits at most for `limit`; whether there is room for more rows.
    pub fn drain(&mut self, limit: Duration) -> Result<bool> {
        self.pooled.as_mut().ok_or_else(ended)?.producer.drain(limit)
    }

    /// Waits at most for `limit` until every row is acknowledged: then an answer `flushed`, and the writer has ended.
    /// The transaction stays open.
    pub fn flush(&mut self, limit: Duration) -> Result<Option<String>> {
        let pooled = self.pooled.as_mut().ok_or_else(ended)?;
        let Some(written) = pooled.producer.flush(limit)? else {
            return Ok(None);
        };
        if let Some(pooled) = self.pooled.take() {
            pool::give_back(pooled);
        }
        let answer = encoded(&Flushed {
            records: written.records,
            bytes: written.bytes,
            transaction: written.transaction,
        });
        answer.map(Some)
    }

    /// Aborts the transaction. A writer that has flushed, or was aborted, is left alone.
    pub fn abort(&mut self) -> Result<()> {
        self.pooled.take().map_or(Ok(()), |mut pooled| pooled.producer.abort())
    }
}

pub(super) fn ended() -> ProducerError {
    failed("this is a bug of kafkastore: the writer has ended")
}

/// Begins a job, or the next batch of a query.
pub fn begin(request: &str) -> Result<String> {
    let request: Begin = decoded("begin", request)?;
    let known = COMMITTERS.lock().remove(&request.prefix);
    let committer = match known {
        Some((query_id, committer)) if query_id.is_some() && query_id == request.query_id => committer,
        _ => {
            let options = Arc::new(ProducerOptions::parse(&request.options)?.0);
            Committer::begin(options, &request.prefix, request.query_id.as_deref())?
        }
    };
    let begun = Begun {
        task_prefix: committer.task_prefix(),
        decided: committer.decided(),
    };
    COMMITTERS.lock().insert(request.prefix, (request.query_id, committer));
    encoded(&begun)
}

/// Commits the transactions of a job, or of a batch of a query.
pub fn commit(request: &str) -> Result<()> {
    let request: Commit = decoded("commit", request)?;
    let (query_id, mut committer) = taken(&request.prefix)?;
    committer.commit(request.batch, &request.transactions)?;
    if request.has_lost_tasks {
        let of_tasks = committer.task_prefix();
        committer.abort_ongoing(Some(&of_tasks))?;
    }
    if query_id.is_some() {
        COMMITTERS.lock().insert(request.prefix, (query_id, committer));
    }
    Ok(())
}

/// Aborts the transactions of a job or a batch, and those of tasks that were lost. The next batch begins anew.
pub fn abort(request: &str) -> Result<()> {
    let request: Abort = decoded("abort", request)?;
    let (_, mut committer) = taken(&request.prefix)?;
    committer.abort(&request.transactions);
    let of_tasks = committer.task_prefix();
    committer.abort_ongoing(Some(&of_tasks))
}

fn taken(prefix: &str) -> Result<(Option<String>, Committer)> {
    let taken = COMMITTERS.lock().remove(prefix);
    taken.ok_or_else(|| {
        failed(format!(
            "transactionalIdPrefix: {prefix} is not begun, or another query of this driver has it; give each query a \
             prefix of its own"
        ))
    })
}

pub(super) fn decoded<T: DeserializeOwned>(which: &str, request: &str) -> Result<T> {
    serde_json::from_str(request).map_err(|error| failed(format!("{which}: the request is wrong: {error}")))
}

pub(super) fn encoded<T: Serialize>(answer: &T) -> Result<String> {
    serde_json::to_string(answer).map_err(|error| failed(format!("the answer cannot be written: {error}")))
}
