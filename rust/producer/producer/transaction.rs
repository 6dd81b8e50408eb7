//! The transactions of a command: `init_transactions` once, then `begin`, records, and `commit` or `abort`, as often as
//! wanted. A transaction of which a record failed can only be aborted. Each call that asks the coordinator waits for
//! `max.block.ms` at most.

use std::time::Instant;

use super::super::coordinator::Asked;
use super::super::error::{ProducerError, Result, advice, failed};
use super::super::identity;
use super::super::transactions::{
    CoordinatorKind, Identity, OffsetToCommit, add_offsets, commit_offset, read_added_offsets, read_committed,
};
use super::Producer;
use base::error::ErrorCode;

/// Where the caller is.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    is_open: bool,
    /// Whether offsets of a group are part of it.
    has_offsets: bool,
    /// Why it can only be aborted.
    failure: Option<String>,
}

impl Transaction {
    /// A record of it was not written.
    pub(super) fn fail(&mut self, (code, sentence): &(ErrorCode, String)) {
        let why = || format!("{sentence} ({})", code.name());
        self.failure.get_or_insert_with(why);
    }
}

impl Producer {
    /// Whether records may be sent now.
    pub(super) fn check_open(&self) -> Result<()> {
        if self.options.transactional_id.is_some() && !self.transaction.is_open {
            return Err(misuse(
                "transactional.id is set, and no transaction is open; begin one first",
            ));
        }
        Ok(())
    }

    /// Becomes the producer of its transactional id: an earlier one writes no more, and its open transaction is
    /// aborted.
    pub fn init_transactions(&mut self) -> Result<()> {
        let Some(id) = self.options.transactional_id.clone() else {
            return Err(misuse("transactional.id is not set; set it to use transactions"));
        };
        self.guarded(|producer| {
            let identity = identity::acquire(&mut producer.cluster, Some(&id))?;
            producer.transactional_id = Some(id);
            producer.identity = Some(identity.clone());
            producer.accumulator.become_producer(Some(identity), true);
            producer.delivery.begin_anew();
            Ok(())
        })
    }

    /// Begins a transaction.
    pub fn begin_transaction(&mut self) -> Result<()> {
        if self.identity.is_none() || self.transactional_id.is_none() {
            return Err(misuse(
                "the transactional.id is not in use; call init_transactions first",
            ));
        }
        if self.transaction.is_open {
            return Err(misuse("a transaction is open; commit or abort it first"));
        }
        self.transaction = Transaction {
            is_open: true,
            ..Transaction::default()
        };
        Ok(())
    }

    /// Commits the transaction, of which every record has its report: the caller has flushed.
    pub fn commit_transaction(&mut self) -> Result<()> {
        self.open_transaction()?;
        if let Some(failure) = &self.transaction.failure {
            return Err(failed(format!("the transaction can only be aborted: {failure}")));
        }
        if self.pending().0 > 0 {
            return Err(misuse(
                "records of the transaction are on their way; flush before it is committed",
            ));
        }
        self.guarded(|producer| producer.end_open(true))?;
        self.transaction = Transaction::default();
        Ok(())
    }

    /// Aborts the transaction; its records that have no report yet fail.
    pub fn abort_transaction(&mut self) -> Result<()> {
        self.open_transaction()?;
        self.guarded(|producer| {
            let now = Instant::now();
            for at in producer.accumulator.open_since(None) {
                producer.close(at);
            }
            producer.fail_waiting(now);
            producer.settle_sent(producer.options.request_timeout)?;
            producer.fail_waiting(now);
            producer.links.clear();
            producer.end_open(false)
        })?;
        self.transaction = Transaction::default();
        self.init_transactions() // a new epoch: its sequences begin anew
    }

    fn fail_waiting(&mut self, now: Instant) {
        for at in 0..self.delivery.queues.len() {
            for batch in self.delivery.take_waiting(at) {
                let sentence = "its transaction was aborted before it was sent".to_owned();
                self.fail(at, batch, now, (ErrorCode::TRANSACTION_ABORTABLE, sentence));
            }
        }
    }

    /// Makes offsets of a group part of the transaction: they are committed with it.
    pub fn send_offsets(&mut self, group: &str, offsets: &[(String, i32, i64)]) -> Result<()> {
        let (id, identity) = self.open_transaction()?;
        self.transaction.has_offsets = true;
        let sent = self.add_offsets(group, (&id, &identity), offsets);
        if let Err(error) = &sent {
            self.transaction.failure.get_or_insert_with(|| error.to_string());
        }
        sent
    }

    fn add_offsets(
        &mut self,
        group: &str,
        (id, identity): (&str, &Identity),
        offsets: &[(String, i32, i64)],
    ) -> Result<()> {
        let limit = self.options.max_block.max(self.options.request_timeout);
        let what = "offsets of a transaction";
        let asked = |kind, key| Asked { kind, key, what, limit };
        let request = add_offsets(id, identity, group);
        let to_transaction = asked(CoordinatorKind::Transaction, id);
        let answer = self
            .cluster
            .ask_coordinator(to_transaction, &request, read_added_offsets)?;
        self.check_answer(group, answer.0)?;
        for (topic, partition, offset) in offsets {
            let request = commit_offset(&OffsetToCommit {
                transactional_id: id,
                identity,
                group,
                topic,
                partition: *partition,
                offset: *offset,
                metadata: "",
            });
            let to_group = asked(CoordinatorKind::Group, group);
            let answer = self.cluster.ask_coordinator(to_group, &request, read_committed)?;
            self.check_answer(group, answer.0)?;
        }
        Ok(())
    }

    fn check_answer(&self, group: &str, error: ErrorCode) -> Result<()> {
        if error == ErrorCode::NONE {
            return Ok(());
        }
        let advice = advice(error, self.options.keys);
        Err(failed(format!("group {group}: {advice} ({})", error.name())))
    }

    fn open_transaction(&self) -> Result<(String, Identity)> {
        match (&self.transactional_id, &self.identity) {
            (Some(id), Some(identity)) if self.transaction.is_open => Ok((id.clone(), identity.clone())),
            _ => Err(misuse("no transaction is open; begin one first")),
        }
    }

    /// Ends the transaction at its coordinator, if that knows of it.
    fn end_open(&mut self, is_commit: bool) -> Result<()> {
        let (id, identity) = self.open_transaction()?;
        let is_known = self.transaction.has_offsets || self.delivery.queues.iter().any(|queue| queue.is_added);
        if is_known {
            let error = identity::end_transaction(&mut self.cluster, &id, &identity, is_commit)?;
            let is_gone = !is_commit && error == ErrorCode::INVALID_TXN_STATE;
            if error != ErrorCode::NONE && !is_gone {
                return Err(identity::refused(&self.cluster, &id, "the transaction", error));
            }
        }
        for queue in &mut self.delivery.queues {
            queue.is_added = false;
        }
        Ok(())
    }
}

/// A call out of turn; the producer is as it was.
fn misuse(sentence: &str) -> ProducerError {
    ProducerError::Invalid(sentence.to_owned())
}
