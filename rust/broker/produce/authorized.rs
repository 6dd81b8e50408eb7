//! Which rows of a Produce its client may not write, decided once, before any row is looked at: with another
//! authorization the answer would depend on which thread appends.

use crate::broker::Broker;
use crate::broker::acls::{Operation, ResourceType};
use crate::broker::authorization::Authorization;
use crate::error::ErrorCode;
use crate::record::{BatchHeader, has_transactional_bit};
use crate::wire::{ProducePartition, ProduceRequest, ProduceResult, TopicKey};

/// See the module; by default every row may be written.
#[derive(Debug, Default)]
pub(super) struct Unauthorized {
    /// The error of every row.
    whole: Option<ErrorCode>,
    /// Whether each row may be written; `None` when all may.
    allowed: Option<Vec<bool>>,
}

impl Unauthorized {
    /// Of a request. Write is needed on the transactional id of transactional batches, and on each topic.
    pub(super) fn of(asks: &Authorization<'_>, broker: &Broker, request: &ProduceRequest, body: &[u8]) -> Self {
        if !asks.decides() {
            return Self::default();
        }
        if request.partitions.iter().any(|row| is_transactional(row, body)) {
            let id = request.transactional_id.clone().and_then(|range| body.get(range));
            let id = id.and_then(|id| std::str::from_utf8(id).ok());
            let is_allowed = id.is_some_and(|id| asks.allows(Operation::Write, ResourceType::TransactionalId, id));
            if !is_allowed {
                return Self {
                    whole: Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
                    allowed: None,
                };
            }
        }
        let has_ids = request
            .partitions
            .iter()
            .any(|row| matches!(row.topic, TopicKey::Id(_)));
        let image = has_ids.then(|| broker.image.load());
        let names = request.partitions.iter().map(|row| match &row.topic {
            TopicKey::Name(_) => row.topic.name(body),
            TopicKey::Id(id) => image.as_ref()?.topic_by_id(id).map(|topic| &*topic.name),
        });
        Self {
            whole: None,
            allowed: asks.each(Operation::Write, ResourceType::Topic, names),
        }
    }

    /// Whether this row may not be written.
    pub(super) fn has(&self, at: usize) -> bool {
        self.whole.is_some()
            || self
                .allowed
                .as_ref()
                .is_some_and(|allowed| allowed.get(at) != Some(&true))
    }

    /// The result of a row that may not be written.
    pub(super) fn refusal(&self, at: usize) -> Option<ProduceResult> {
        let code = self.whole.unwrap_or(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        self.has(at).then(|| ProduceResult::refused(code, None))
    }
}

/// Whether a row has a transactional batch. Message sets of the old formats have none, whatever bytes are there.
fn is_transactional(row: &ProducePartition, body: &[u8]) -> bool {
    let Some(records) = row.records.clone().and_then(|range| body.get(range)) else {
        return false;
    };
    has_transactional_bit(records) && BatchHeader::parse(records).is_ok_and(|header| header.is_transactional())
}
