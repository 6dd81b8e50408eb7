//! The producer id of a writer, and the transaction that it is in.
//!
//! A writer without a transactional id gets a producer id of any broker, for its sequences alone. One with such an id
//! gets it from the coordinator, which aborts what an earlier producer of that transactional id has left open, and lets
//! that producer write no more (KIP-98).

use super::cluster::Cluster;
use super::coordinator::Asked;
use super::error::{ProducerError, Result, advice, failed};
use super::transactions::{
    CoordinatorKind, Identity, add_partitions, end, init_producer_id, read_added_partitions, read_ended,
    read_producer_id,
};
use base::error::ErrorCode;
use client::Request;

/// A question to the coordinator of a transactional id.
fn asked<'a>(cluster: &Cluster, transactional_id: &'a str, what: &'a str) -> Asked<'a> {
    Asked {
        kind: CoordinatorKind::Transaction,
        key: transactional_id,
        what,
        limit: cluster.options.max_block.max(cluster.options.request_timeout),
    }
}

/// A producer id; its transactions, when it has an id for them, are those of the timeout of the options.
pub(super) fn acquire(cluster: &mut Cluster, transactional_id: Option<&str>) -> Result<Identity> {
    let timeout_ms = cluster.options.transaction_timeout.as_millis() as i32;
    let request = init_producer_id(transactional_id, timeout_ms);
    let (error, identity) = match transactional_id {
        Some(id) => {
            let asked = asked(cluster, id, "a producer id");
            cluster.ask_coordinator(asked, &request, read_producer_id)?
        }
        None => acquire_anywhere(cluster, &request)?,
    };
    match error {
        ErrorCode::NONE => Ok(identity),
        error => Err(failed(format!(
            "a producer id is refused for {}: {} ({})",
            transactional_id.unwrap_or("idempotent writes"),
            advice(error, cluster.options.keys),
            error.name()
        ))),
    }
}

fn acquire_anywhere(cluster: &mut Cluster, request: &Request) -> Result<(ErrorCode, Identity)> {
    let deadline = std::time::Instant::now() + cluster.options.max_block;
    loop {
        let reason = match cluster.ask_any(request, read_producer_id) {
            Ok((
                error @ (ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
                | ErrorCode::COORDINATOR_NOT_AVAILABLE
                | ErrorCode::NOT_COORDINATOR
                | ErrorCode::REQUEST_TIMED_OUT),
                _,
            )) => error.name().to_owned(),
            Ok(answer) => return Ok(answer),
            Err(vain) => vain.passing(cluster.options.keys)?,
        };
        if std::time::Instant::now() > deadline {
            return Err(failed(format!(
                "{}: no broker gave a producer id within {} = {} ms ({reason}); name a running broker",
                cluster.options.keys.named("bootstrap.servers"),
                cluster.options.keys.named("max.block.ms"),
                cluster.options.max_block.as_millis()
            )));
        }
        cluster.wait();
    }
}

/// Makes partitions part of the transaction, before records are sent to them.
pub(super) fn add(
    cluster: &mut Cluster,
    transactional_id: &str,
    identity: &Identity,
    topics: &[(&str, Vec<i32>)],
) -> Result<()> {
    let request = add_partitions(transactional_id, identity, topics);
    let asked = asked(cluster, transactional_id, "partitions of a transaction");
    let (error, partition) = cluster
        .ask_coordinator(asked, &request, |answer| {
            read_added_partitions(answer).map(|(error, partition)| (error, (error, partition)))
        })?
        .1;
    match error {
        ErrorCode::NONE => Ok(()),
        error => Err(refused(cluster, transactional_id, &partition, error)),
    }
}

/// Ends the transaction; the error is the coordinator's.
pub(super) fn end_transaction(
    cluster: &mut Cluster,
    transactional_id: &str,
    identity: &Identity,
    is_commit: bool,
) -> Result<ErrorCode> {
    let request = end(transactional_id, identity, is_commit);
    let mut asked = asked(cluster, transactional_id, "the end of a transaction");
    asked.limit = asked.limit.max(cluster.options.delivery_timeout);
    cluster
        .ask_coordinator(asked, &request, read_ended)
        .map(|(error, ())| error)
}

/// The sentence for an error of a partition, or of the transaction that it is in.
pub(super) fn refused(cluster: &Cluster, transactional_id: &str, partition: &str, error: ErrorCode) -> ProducerError {
    let name = error.name();
    let keys = cluster.options.keys;
    let timeout = format!(
        "{} = {}",
        keys.named("transaction.timeout.ms"),
        cluster.options.transaction_timeout.as_millis()
    );
    match error {
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED => failed(format!(
            "transaction {transactional_id} was ended from outside ({name}): by another writer with the same {}, or \
             since it was open for longer than {timeout}; give each writer one of its own, or raise the timeout",
            keys.transactional_id
        )),
        ErrorCode::INVALID_TXN_STATE | ErrorCode::TRANSACTION_ABORTABLE | ErrorCode::INVALID_PRODUCER_ID_MAPPING => {
            failed(format!(
                "transaction {transactional_id} is open no more ({name}); raise {timeout}"
            ))
        }
        error => failed(format!("{partition}: {} ({name})", advice(error, cluster.options.keys))),
    }
}
