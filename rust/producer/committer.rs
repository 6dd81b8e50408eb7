//! Ends the transactions of the tasks of a job, all the same way: Kafka's transactions as the first phase of a commit,
//! and a decision in Kafka as the second.
//!
//! A task writes in a transaction of its own and leaves it open ([`Prepared`]). The committer, one for a query, then
//! commits a batch in these steps:
//!
//! - (a) every transaction is still open, or the batch is aborted: nothing is seen of it
//! - (b) the decision, with the number of the batch and all transactions, is made durable: in a transaction of the
//!   committer itself, whose transactional id is the prefix, it commits offsets of the group of that name
//! - (c) every transaction is committed, which may be said again and again (`EndTxn` below v5)
//! - (d) the decision is marked as carried out
//!
//! After a crash before (b) the transactions are aborted and the batch is written again; after (b) they are committed
//! and the batch is not written again. A committer that begins fences earlier ones of its prefix (their step (b) fails)
//! and then looks at the last decision; its tasks have transactional ids that no earlier tasks had, so that no task
//! that is left over can end them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::cluster::Cluster;
use super::coordinator::Asked;
use super::decision::{Decision, group_of};
use super::error::{ProducerError, Result, advice, failed};
use super::identity::{acquire, end_transaction};
use super::options::{Keys, ProducerOptions};
use super::transactions::{
    CoordinatorKind, Identity, ONGOING, OffsetToCommit, add_offsets, commit_offset, describe, fetch_offset,
    list_ongoing, read_added_offsets, read_committed, read_described, read_listed, read_offset,
};
use base::error::ErrorCode;
use client::{Request, Server};
use protocol::WireError;

/// Of `decisionTopic`: offsets are committed for a partition that exists.
const PARTITION: i32 = 0;
/// Transactions are ended by so many threads at most, and by one below this number for each.
const MAX_THREADS: usize = 8;
const PER_THREAD: usize = 8;

/// A transaction with all of its records, which is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prepared {
    /// Its transactional id.
    pub transactional_id: String,
    /// Its producer id.
    pub producer_id: i64,
    /// Its producer epoch.
    pub epoch: i16,
}

impl Prepared {
    fn identity(&self) -> Identity {
        Identity {
            producer_id: self.producer_id,
            epoch: self.epoch,
        }
    }
}

/// See the module.
pub struct Committer {
    cluster: Cluster,
    prefix: String,
    /// The streaming query that it commits batches of; none for one batch job.
    query_id: Option<String>,
    identity: Identity,
    decided: Option<i64>,
}

impl Committer {
    /// Begins: fences the committers and aborts the open transactions of the prefix, and carries out the last decision.
    pub fn begin(options: Arc<ProducerOptions>, prefix: &str, query_id: Option<&str>) -> Result<Self> {
        let mut cluster = Cluster::new(options);
        let identity = acquire(&mut cluster, Some(prefix))?;
        let mut committer = Self {
            cluster,
            prefix: prefix.to_owned(),
            query_id: query_id.map(str::to_owned),
            identity,
            decided: None,
        };
        committer.carry_out_last_decision()?;
        committer.abort_ongoing(None)?;
        Ok(committer)
    }

    /// What the transactional ids of its tasks begin with.
    pub fn task_prefix(&self) -> String {
        let Identity { producer_id, epoch } = self.identity;
        format!("{}-{producer_id}-{epoch}-", self.prefix)
    }

    /// The last batch of the query that was decided; its rows are written.
    pub const fn decided(&self) -> Option<i64> {
        self.decided
    }

    /// Commits the transactions of a batch: those of the batch of a query exactly once, whatever happens meanwhile.
    /// Without a batch's number nothing is decided, and a crash in between leaves some of them aborted.
    pub fn commit(&mut self, batch: Option<i64>, transactions: &[Prepared]) -> Result<()> {
        if transactions.is_empty() {
            return Ok(());
        }
        // (a)
        if let Err(error) = self.check_open(transactions) {
            self.abort(transactions);
            return Err(error);
        }
        // (b)
        if let (Some(batch), Some(query_id)) = (batch, self.query_id.clone()) {
            let decision = Decision {
                query_id,
                transactions: transactions.to_vec(),
            };
            self.decide(batch, &decision)?;
            self.decided = Some(batch);
        }
        // (c)
        self.commit_all(batch, transactions)?;
        // (d)
        self.mark_committed(batch)
    }

    /// Aborts transactions, as far as they are open.
    pub fn abort(&mut self, transactions: &[Prepared]) {
        let _ended_already = self.end_all(transactions, false);
    }

    /// Aborts what tasks that were lost have left open; `None` for what tasks of earlier committers have.
    pub fn abort_ongoing(&mut self, of_tasks: Option<&str>) -> Result<()> {
        let own = self.task_prefix();
        let all = format!("{}-", self.prefix);
        self.cluster.refresh(&[])?;
        for server in self.cluster.servers() {
            // a broker that is down coordinates nothing
            let Ok((ErrorCode::NONE, ids)) = self.cluster.ask(&server, &list_ongoing(), read_listed) else {
                continue;
            };
            let is_left = |id: &&String| match of_tasks {
                Some(prefix) => id.starts_with(prefix),
                None => id.strip_prefix(&all).is_some_and(is_of_task) && !id.starts_with(&own),
            };
            for id in ids.iter().filter(is_left) {
                acquire(&mut self.cluster, Some(id))?; // which aborts it, and whoever has it can write no more
            }
        }
        Ok(())
    }

    fn asked<'a>(&self, kind: CoordinatorKind, key: &'a str, what: &'a str) -> Asked<'a> {
        let options = &self.cluster.options;
        let limit = options.max_block.max(options.delivery_timeout);
        Asked { kind, key, what, limit }
    }

    /// (a)
    fn check_open(&mut self, transactions: &[Prepared]) -> Result<()> {
        let deadline = Instant::now() + self.cluster.options.max_block;
        let mut left: Vec<&Prepared> = transactions.iter().collect();
        loop {
            let Some(reason) = self.describe_once(&mut left)? else {
                return Ok(());
            };
            if Instant::now() > deadline {
                return Err(failed(format!(
                    "the coordinators of {} transactions gave no answer within kafka.max.block.ms = {} ms ({reason}); \
                     check that the brokers of kafka.bootstrap.servers run",
                    left.len(),
                    self.cluster.options.max_block.as_millis()
                )));
            }
            thread::sleep(self.cluster.options.retry_backoff);
        }
    }

    /// Looks at the transactions that are left, and leaves those of which nothing was told, with the reason.
    fn describe_once(&mut self, left: &mut Vec<&Prepared>) -> Result<Option<String>> {
        let keys: Vec<&str> = left.iter().map(|one| one.transactional_id.as_str()).collect();
        let found = match self.cluster.find(CoordinatorKind::Transaction, &keys) {
            Ok(found) => found,
            Err(vain) => return Ok(Some(vain.reason)),
        };
        let mut reason = "no coordinator is available".to_owned();
        let mut by_server: BTreeMap<Server, Vec<String>> = BTreeMap::new();
        for (key, server) in found {
            match server {
                Ok(server) => by_server.entry(server).or_default().push(key),
                Err(error) => error.name().clone_into(&mut reason),
            }
        }
        for (server, keys) in by_server {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let told = match self.cluster.ask(&server, &describe(&keys), read_described) {
                Ok(told) => told,
                Err(vain) => {
                    reason = vain.reason;
                    continue;
                }
            };
            for one in told {
                let Some(at) = left
                    .iter()
                    .position(|open| open.transactional_id == one.transactional_id)
                else {
                    continue;
                };
                let is_open = one.state == ONGOING && one.identity == left[at].identity();
                match one.error {
                    ErrorCode::NONE if is_open => drop(left.swap_remove(at)),
                    ErrorCode::NONE | ErrorCode::TRANSACTIONAL_ID_NOT_FOUND => {
                        return Err(self.is_open_no_more(&one.transactional_id, &one.state));
                    }
                    ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => {
                        return Err(failed(format!(
                            "{}: {}",
                            one.transactional_id,
                            advice(one.error, self.cluster.options.keys)
                        )));
                    }
                    error => error.name().clone_into(&mut reason),
                }
            }
        }
        Ok((!left.is_empty()).then_some(reason))
    }

    fn is_open_no_more(&self, transactional_id: &str, state: &str) -> ProducerError {
        failed(format!(
            "transaction {transactional_id} is open no more (state {state}), so the batch is aborted: the job took \
             longer than kafka.transaction.timeout.ms = {}, or another writer has the same transactionalIdPrefix; \
             raise the timeout, or give each query a prefix of its own",
            self.cluster.options.transaction_timeout.as_millis()
        ))
    }

    // ---- (b), (d)

    /// All parts or none, and only as long as no later committer has begun.
    fn decide(&mut self, batch: i64, decision: &Decision) -> Result<()> {
        let parts = decision
            .encode(&self.prefix)
            .ok_or_else(|| failed("this is a bug of kafkastore: a transaction is not one of this writer"))?;
        for (number, part) in parts.iter().enumerate() {
            let group = group_of(&self.prefix, number);
            let request = add_offsets(&self.prefix, &self.identity, &group);
            let prefix = self.prefix.clone();
            self.ask_to_decide(CoordinatorKind::Transaction, &prefix, &request, read_added_offsets)?;
            let request = commit_offset(&OffsetToCommit {
                transactional_id: &self.prefix,
                identity: &self.identity,
                group: &group,
                topic: &self.cluster.options.decision_topic,
                partition: PARTITION,
                offset: batch,
                metadata: part,
            });
            self.ask_to_decide(CoordinatorKind::Group, &group, &request, read_committed)?;
        }
        let (prefix, identity) = (self.prefix.clone(), self.identity.clone());
        let error = end_transaction(&mut self.cluster, &prefix, &identity, true)?;
        self.must_be_decided(error)
    }

    fn ask_to_decide(
        &mut self,
        kind: CoordinatorKind,
        key: &str,
        request: &Request,
        read: impl Fn(&[u8]) -> Result<(ErrorCode, ()), WireError>,
    ) -> Result<()> {
        let asked = self.asked(kind, key, "the decision to commit");
        let (error, ()) = self.cluster.ask_coordinator(asked, request, read)?;
        self.must_be_decided(error)
    }

    fn must_be_decided(&self, error: ErrorCode) -> Result<()> {
        match error {
            ErrorCode::NONE => Ok(()),
            ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED => Err(failed(format!(
                "another writer has begun with transactionalIdPrefix {}; this one stops (give each query a prefix of \
                 its own)",
                self.prefix
            ))),
            ErrorCode::OFFSET_METADATA_TOO_LARGE => Err(failed(
                "the decision to commit does not fit into the metadata of an offset; leave offset.metadata.max.bytes \
                 of the brokers at 4096 or more",
            )),
            error => Err(failed(format!(
                "the decision to commit was refused for {}: {} ({})",
                self.prefix,
                advice_on_group(error, self.cluster.options.keys),
                error.name()
            ))),
        }
    }

    fn mark_committed(&mut self, batch: Option<i64>) -> Result<()> {
        let (Some(batch), Some(query_id)) = (batch, self.query_id.clone()) else {
            return Ok(());
        };
        let decision = Decision {
            query_id,
            transactions: Vec::new(),
        };
        self.decide(batch, &decision)
    }

    fn carry_out_last_decision(&mut self) -> Result<()> {
        let Some((batch, decision)) = self.last_decision()? else {
            return Ok(());
        };
        if !decision.transactions.is_empty() {
            self.commit_all(Some(batch), &decision.transactions)?;
            let committed = Decision {
                query_id: decision.query_id.clone(),
                transactions: Vec::new(),
            };
            self.decide(batch, &committed)?;
        }
        let is_own = self.query_id.as_ref() == Some(&decision.query_id);
        self.decided = is_own.then_some(batch);
        Ok(())
    }

    fn last_decision(&mut self) -> Result<Option<(i64, Decision)>> {
        let Some((batch, first)) = self.part(0)? else {
            return Ok(None);
        };
        let count = Decision::count(&first).unwrap_or_default();
        let mut parts = vec![first];
        for number in 1..count {
            match self.part(number)? {
                Some((of_batch, part)) if of_batch == batch => parts.push(part),
                _ => break,
            }
        }
        match Decision::decode(&self.prefix, &parts) {
            Some(decision) => Ok(Some((batch, decision))),
            None => Err(failed(format!(
                "group {} has offsets that are no decision of this writer; choose another transactionalIdPrefix",
                self.prefix
            ))),
        }
    }

    fn part(&mut self, number: usize) -> Result<Option<(i64, String)>> {
        let group = group_of(&self.prefix, number);
        let asked = self.asked(CoordinatorKind::Group, &group, "the last decision to commit");
        let request = fetch_offset(&group, &self.cluster.options.decision_topic, PARTITION);
        let (error, found) = self.cluster.ask_coordinator(asked, &request, read_offset)?;
        match error {
            ErrorCode::NONE => Ok(found),
            error => Err(failed(format!(
                "group {group}: {} ({})",
                advice_on_group(error, self.cluster.options.keys),
                error.name()
            ))),
        }
    }

    // ---- (c)

    fn commit_all(&mut self, batch: Option<i64>, transactions: &[Prepared]) -> Result<()> {
        let ended = self.end_all(transactions, true)?;
        let refused: Vec<_> = ended.iter().filter(|(_, error)| *error != ErrorCode::NONE).collect();
        let Some((first, error)) = refused.first() else {
            return Ok(());
        };
        let what = batch.map_or("the job".to_owned(), |batch| format!("batch {batch}"));
        Err(ProducerError::Lost(format!(
            "{what}: {} of {} transactions were aborted after it was decided to commit them, and their records are \
             lost to consumers of committed records ({}: {}); write {what} again, and raise \
             kafka.transaction.timeout.ms = {}",
            refused.len(),
            transactions.len(),
            first.transactional_id,
            error.name(),
            self.cluster.options.transaction_timeout.as_millis()
        )))
    }

    /// Ends each, and tells what its coordinator says; fails when one gives no answer.
    fn end_all<'a>(&mut self, transactions: &'a [Prepared], is_commit: bool) -> Result<Vec<(&'a Prepared, ErrorCode)>> {
        let threads = (transactions.len() / PER_THREAD).clamp(1, MAX_THREADS);
        if threads == 1 {
            return end_each(&mut self.cluster, transactions, is_commit);
        }
        let keys: Vec<&str> = transactions.iter().map(|one| one.transactional_id.as_str()).collect();
        let _looked_up_again_later = self.cluster.find(CoordinatorKind::Transaction, &keys);
        let parts = transactions.chunks(transactions.len().div_ceil(threads));
        let ended: Vec<Result<_>> = thread::scope(|scope| {
            let begun: Vec<_> = parts
                .map(|part| {
                    let mut cluster = Cluster::new(Arc::clone(&self.cluster.options));
                    cluster.coordinators.clone_from(&self.cluster.coordinators);
                    scope.spawn(move || end_each(&mut cluster, part, is_commit))
                })
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                let ended = thread.join();
                ended.unwrap_or_else(|_| Err(failed("this is a bug of kafkastore: a thread panicked")))
            };
            begun.into_iter().map(join).collect()
        });
        let mut all = Vec::new();
        for part in ended {
            all.extend(part?);
        }
        Ok(all)
    }
}

fn end_each<'a>(
    cluster: &mut Cluster,
    transactions: &'a [Prepared],
    is_commit: bool,
) -> Result<Vec<(&'a Prepared, ErrorCode)>> {
    let end = |one: &'a Prepared| {
        let error = end_transaction(cluster, &one.transactional_id, &one.identity(), is_commit)?;
        Ok((one, error))
    };
    transactions.iter().map(end).collect()
}

/// As [`advice`], of the offsets of a group, which are those of `decisionTopic`.
fn advice_on_group(error: ErrorCode, keys: Keys) -> String {
    match error {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
            "the broker's ACLs do not let this client read the topic beside which its decisions are kept; allow READ \
             on __transaction_state, or name as decisionTopic another topic that it may read"
                .to_owned()
        }
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
            "the topic of decisionTopic does not exist; name one that does".to_owned()
        }
        error => advice(error, keys),
    }
}

/// Whether a transactional id without the prefix is one of a task: producer id, epoch, partition, and attempt.
fn is_of_task(rest: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let parts: Vec<&str> = rest.split('-').collect();
    parts.len() == 5 && parts.into_iter().all(is_number)
}
