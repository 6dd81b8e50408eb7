//! Appending a message set of magic 0 or 1, which a client of before 0.11 sends: it becomes one batch, which is then
//! appended as any other.
//!
//! Place: `produce` calls it on another thread than a network loop. It holds no lock while it converts.

use super::append::Done;
use super::{Awaited, Partition};
use crate::metrics::Count;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use record::legacy::convert_up;
use record::{BatchHeader, Room, Rules};
use storage::producer_state::VerificationGuard;
use storage::{AppendError, Appended};

impl Partition {
    /// As [`Self::append_elsewhere`], for a message set. A set without a whole message is no error, and nothing is
    /// appended: the answer has no offset then.
    pub fn append_message_set(
        &self,
        set: &[u8],
        acks: i16,
        now_ms: i64,
        room: &mut Room,
    ) -> Result<Option<Done>, AppendError> {
        self.leading(LeaderEpoch::NONE)?;
        let rules = *self.log().rules();
        let within = Rules {
            inflate_limit: rules.inflate_limit.min(room.bytes()),
            ..rules
        };
        let batch = match convert_up(set, &within) {
            Err(rejection) if rejection.code == ErrorCode::MESSAGE_TOO_LARGE && !room.is_final() => return Ok(None),
            converted => converted?,
        };
        let Some(mut batch) = batch else {
            return Ok(Some(self.nothing_appended()));
        };
        let records = BatchHeader::parse(&batch).map_or(0, |header| header.record_count);
        self.meter
            .add(Count::ProduceMessageConversions, u64::try_from(records).unwrap_or(0));
        room.take(batch.len());
        self.append_elsewhere(&mut batch, acks, VerificationGuard::SENTINEL, now_ms, room)
    }

    fn nothing_appended(&self) -> Done {
        let appended = Appended {
            first_offset: Offset::NONE,
            last_offset: Offset::NONE,
            log_append_time_ms: -1,
            log_start_offset: self.offsets().log_start,
            is_duplicate: false,
            needs_flush: false,
        };
        let awaited = Awaited {
            high_watermark: None,
            flushed: None,
            wants_flush: false,
            term: self.leadership.term(),
        };
        (appended, awaited)
    }
}
