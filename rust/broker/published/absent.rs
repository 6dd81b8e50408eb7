//! Batches of idempotent producers that were refused since their partition was not on this broker. A client may know of
//! a new leader before the leader knows of its partition. The partition takes the notes over when it comes, so that it
//! does not take a later batch as the producer's first: see `partition::refusals`.

use std::collections::HashMap;

use crate::partition::refusals::Refusals;
use crate::published::topic_id::TopicId;
use record::BatchHeader;

/// The most batches that are noted; further ones are handled as Kafka does.
const MAX_NOTES: usize = 10_000;
/// Old notes are looked for as often as this; more often when there is no room.
const FORGET_EVERY_MS: u64 = 10_000;
const FORGET_WHEN_FULL_EVERY_MS: u64 = 1000;

/// A topic as a request has it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) enum AbsentTopic {
    /// By name.
    Name(Box<str>),
    /// By id.
    Id(TopicId),
}

/// See the module.
#[derive(Default)]
pub(super) struct Absent {
    refusals: HashMap<(AbsentTopic, i32), Refusals>,
    /// As many notes as there are, or more: one that is renewed counts twice until old ones are looked for.
    count: usize,
    forgot_ms: i64,
}

impl Absent {
    /// Notes a batch.
    pub(super) fn note(&mut self, topic: AbsentTopic, index: i32, header: &BatchHeader, now_ms: i64) {
        let every_ms = if self.count < MAX_NOTES {
            FORGET_EVERY_MS
        } else {
            FORGET_WHEN_FULL_EVERY_MS
        };
        if now_ms.abs_diff(self.forgot_ms) >= every_ms {
            (self.count, self.forgot_ms) = (0, now_ms);
            self.refusals.retain(|_, refusals| {
                let left = refusals.forget_old(now_ms);
                self.count += left;
                left > 0
            });
        }
        if self.count < MAX_NOTES {
            self.count += 1;
            let refusals = self.refusals.entry((topic, index)).or_default();
            refusals.note_absent(header, now_ms);
        }
    }

    /// Whether nothing is noted.
    pub(super) fn is_empty(&self) -> bool {
        self.refusals.is_empty()
    }

    /// Hands over what is noted for a partition of a topic that is here now.
    pub(super) fn hand_over(&mut self, name: &str, id: TopicId, index: i32, to: &Refusals) {
        for topic in [AbsentTopic::Name(name.into()), AbsentTopic::Id(id)] {
            if let Some(refusals) = self.refusals.remove(&(topic, index)) {
                to.take_over(refusals);
            }
        }
    }
}

#[cfg(test)]
#[path = "absent_tests.rs"]
mod tests;
