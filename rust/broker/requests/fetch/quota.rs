//! A consumer's quota: an answer above it is sent without records, at once, and its bytes do not count (KIP-219).
//!
//! The session stays as it was: an incremental fetch that is held back gets no news of any partition, a full fetch no
//! session, so the consumer asks for the same again when it is not held back any more. Fetches of followers have no
//! quota here; their throttle is another one (KIP-73).

use std::time::Instant;

use super::Plan;
use super::outcome::Outcome;
use crate::Broker;
use crate::requests::api::Splice;
use crate::requests::caller::Caller;
use crate::requests::fetch_session::SessionContext;
use base::error::ErrorCode;
use protocol::FetchResponseWriter;

impl Plan {
    /// Writes the answer, with or without the records; returns the records that stay in their files.
    pub(super) fn answer(
        &self,
        broker: &Broker,
        caller: Caller<'_>,
        outcomes: &[Outcome],
        now: Instant,
        out: &mut Vec<u8>,
    ) -> Vec<Splice> {
        let quotas = caller.quotas.filter(|_| !self.is_by_follower());
        let Some(quotas) = quotas else {
            return self.encode(broker, caller.listener, outcomes, now, out);
        };
        let records = outcomes.iter().map(Outcome::sent_bytes).sum();
        let throttle_time_ms = quotas.count_fetch(records, now);
        if throttle_time_ms > 0 {
            let id = match self.session {
                SessionContext::Incremental { id } => id,
                SessionContext::Full { .. } | SessionContext::Sessionless => 0,
            };
            FetchResponseWriter::begin(out, self.version, throttle_time_ms, ErrorCode::NONE, id, 0).end(&[]);
            return Vec::new();
        }
        let begin = out.len();
        let splices = self.encode(broker, caller.listener, outcomes, now, out);
        let in_files: usize = splices.iter().map(|splice| splice.slice.len).sum();
        quotas.note_fetched((out.len() - begin + in_files).saturating_sub(records), now);
        splices
    }

    /// Whether the fetch is that of a follower that may act as a broker.
    fn is_by_follower(&self) -> bool {
        self.replica_id >= 0 && self.is_from_broker
    }
}
