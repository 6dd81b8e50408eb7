//! Which rows of a Produce its client may not write, decided once, before any row is looked at: with another
//! authorization the answer would depend on which thread appends.

use crate::Broker;
use crate::published::acls::{Operation, ResourceType};
use crate::requests::authorization::{Authorization, known_name};
use base::error::ErrorCode;
use protocol::{ProducePartition, ProduceRequest, ProduceResult, TopicKey};
use record::{BatchHeader, has_transactional_bit};

/// See the module; by default every row may be written.
#[derive(Debug, Default)]
pub(super) struct Unauthorized {
    /// The error of every row.
    whole: Option<ErrorCode>,
    /// Whether each row may be written; `None` when all may.
    allowed: Option<Vec<bool>>,
    /// The rows, in order, of topic ids that nobody here knew when the others were decided. A replica that comes
    /// between the decision and the append does not let them in.
    nameless: Vec<usize>,
}

impl Unauthorized {
    /// Of a request. Write is needed on the transactional id of transactional batches, and on each topic.
    pub(super) fn of(
        authorization: &Authorization<'_>,
        broker: &Broker,
        request: &ProduceRequest,
        body: &[u8],
    ) -> Self {
        if !authorization.decides() {
            return Self::default();
        }
        if request.partitions.iter().any(|row| is_transactional(row, body)) {
            let id = request.transactional_id.clone().and_then(|range| body.get(range));
            let id = id.and_then(|id| std::str::from_utf8(id).ok());
            let is_allowed =
                id.is_some_and(|id| authorization.allows(Operation::Write, ResourceType::TransactionalId, id));
            if !is_allowed {
                return Self {
                    whole: Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
                    ..Self::default()
                };
            }
        }
        let has_ids = request
            .partitions
            .iter()
            .any(|row| matches!(row.topic, TopicKey::Id(_)));
        let known = has_ids.then(|| (broker.image().load(), broker.registry().snapshot()));
        let mut nameless = Vec::new();
        let names = request.partitions.iter().enumerate().map(|(at, row)| match &row.topic {
            TopicKey::Name(_) => row.topic.name(body),
            TopicKey::Id(id) => {
                let name = known.as_ref().and_then(|(image, topics)| known_name(image, topics, id));
                if name.is_none() {
                    nameless.push(at);
                }
                name
            }
        });
        let allowed = authorization.each(Operation::Write, ResourceType::Topic, names);
        Self {
            whole: None,
            allowed,
            nameless,
        }
    }

    /// Whether this row may not be written.
    pub(super) fn has(&self, at: usize) -> bool {
        self.code(at).is_some()
    }

    /// The result of a row that may not be written.
    pub(super) fn refusal(&self, at: usize) -> Option<ProduceResult> {
        self.code(at).map(|code| ProduceResult::refused(code, None))
    }

    fn code(&self, at: usize) -> Option<ErrorCode> {
        let is_refused = || {
            self.allowed
                .as_ref()
                .is_some_and(|allowed| allowed.get(at) != Some(&true))
        };
        match self.whole {
            Some(code) => Some(code),
            None if self.nameless.binary_search(&at).is_ok() => Some(ErrorCode::UNKNOWN_TOPIC_ID),
            None => is_refused().then_some(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        }
    }
}

/// Whether a row has a transactional batch. Message sets of the old formats have none, whatever bytes are there.
fn is_transactional(row: &ProducePartition, body: &[u8]) -> bool {
    let Some(records) = row.records.clone().and_then(|range| body.get(range)) else {
        return false;
    };
    has_transactional_bit(records) && BatchHeader::parse(records).is_ok_and(|header| header.is_transactional())
}
