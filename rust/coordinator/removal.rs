//! Tombstones of committed offsets: the control plane says which offsets to remove; this module finds the rows and
//! appends their tombstones, a batch at a time.
//!
//! The rows are found and their tombstones appended in one step under the shard's lock. So a commit is before the
//! tombstone in the log and this step has seen it, or it is after the tombstone and stays in force. The rows leave the
//! shard when the high watermark has passed their tombstones.

use std::collections::HashSet;
use std::sync::Arc;

use super::append::append;
use super::groups::Groups;
use super::offsets::{CommittedOffset, TopicOffsets};
use super::records::{NO_TIMESTAMP, write_offset_key};
use super::shard::{RemovedRow, Shard};
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::{Awaited, Broker, Partition};
use protocol::{TopicId, ZERO_TOPIC_ID};
use record::BatchBuilder;

/// Tombstones of one batch, as bytes of their keys: some 2,000, which one step appends and another folds.
const MAX_BATCH_BYTES: usize = 128 << 10;

/// The offsets to remove.
#[derive(Debug)]
pub enum Removal<'a> {
    /// Offsets of a group that a client asked to remove: of these partitions, or of all; pending commits too.
    Asked {
        /// The group.
        group_id: &'a str,
        /// The partitions by topic; `None` for all.
        topics: Option<&'a [(String, Vec<i32>)]>,
    },
    /// Offsets of a deleted topic, in every group. A topic that was created since under the same name keeps its
    /// offsets.
    Topic(&'a str),
    /// Offsets of a group that have expired (KIP-211).
    Expired {
        /// The group.
        group_id: &'a str,
        /// Topics that its members subscribe to; their offsets stay.
        subscribed: &'a HashSet<String>,
        /// The time, ms.
        now_ms: i64,
        /// How long an offset stays, ms.
        retention_ms: i64,
        /// The start of the retention time; the time of each commit when `None`.
        since_ms: Option<i64>,
    },
}

/// Rows whose tombstones fit one batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Doomed {
    rows: Vec<RemovedRow>,
    bytes: usize,
    /// Whether an offset stays for another reason than the size of the batch; for expired offsets, also when the batch
    /// is full.
    pub is_kept: bool,
}

/// A batch of tombstones that was appended.
pub struct Appended {
    /// The partition.
    pub partition: Arc<Partition>,
    /// What the removal must wait for.
    pub awaited: Awaited,
    /// Offset of the first tombstone.
    pub base_offset: Offset,
    /// Offset of the last tombstone.
    pub last_offset: Offset,
}

/// The outcome of one step of a removal.
pub struct Removed {
    /// `None` when nothing was left to remove.
    pub appended: Option<Appended>,
    /// Whether there is more to remove than one batch holds. Only then may the caller make another step: that step
    /// would also remove offsets that were committed since.
    pub has_more: bool,
    /// Whether an offset stays that must not be removed.
    pub is_kept: bool,
}

impl Doomed {
    fn is_full(&self) -> bool {
        self.bytes >= MAX_BATCH_BYTES
    }

    fn push(&mut self, group_id: &Arc<str>, topic: &Arc<str>, index: i32) {
        if !self.is_full() {
            self.bytes += group_id.len() + topic.len() + 16;
            self.rows.push((Arc::clone(group_id), Arc::clone(topic), index));
        }
    }
}

/// Finds the rows of the next batch. `current` is the id of the topic that has the deleted topic's name now.
fn find(shard: &mut Shard, removal: &Removal<'_>, current: Option<TopicId>) -> Doomed {
    let mut doomed = Doomed::default();
    match removal {
        Removal::Asked { group_id, topics } => find_asked(shard, group_id, *topics, &mut doomed),
        Removal::Topic(topic) => find_of_topic(shard, topic, current, &mut doomed),
        Removal::Expired {
            group_id,
            subscribed,
            now_ms,
            retention_ms,
            since_ms,
        } => {
            let is_expired = |offset: &CommittedOffset| match offset.expire_ms {
                NO_TIMESTAMP => now_ms.saturating_sub(since_ms.unwrap_or(offset.commit_ms)) >= *retention_ms,
                expire_ms => *now_ms >= expire_ms,
            };
            find_expired(shard, group_id, subscribed, is_expired, &mut doomed);
        }
    }
    doomed
}

fn find_asked(shard: &mut Shard, group_id: &str, topics: Option<&[(String, Vec<i32>)]>, doomed: &mut Doomed) {
    if !shard.has_offsets(group_id) {
        return;
    }
    let id = shard.group_id(group_id);
    let mut changing: HashSet<(Arc<str>, i32)> = shard.pending_of(group_id).map(|(key, _)| key).collect();
    let Some(offsets) = shard.offsets(group_id) else { return };
    changing.extend(offsets.unstable().map(|(topic, index)| (Arc::clone(topic), index)));
    match topics {
        None => {
            for (topic, rows) in offsets.topics() {
                for (index, _) in rows.iter() {
                    if !changing.is_empty() {
                        changing.remove(&(Arc::clone(topic), index));
                    }
                    doomed.push(&id, topic, index);
                    if doomed.is_full() {
                        return;
                    }
                }
            }
            for (topic, index) in &changing {
                doomed.push(&id, topic, *index);
            }
        }
        Some(topics) => {
            for (topic, indexes) in topics {
                let name: Arc<str> = topic.as_str().into();
                for index in indexes {
                    if offsets.row(topic, *index).is_some() || changing.contains(&(Arc::clone(&name), *index)) {
                        doomed.push(&id, &name, *index);
                    }
                }
            }
        }
    }
}

fn find_of_topic(shard: &Shard, topic: &str, current: Option<TopicId>, doomed: &mut Doomed) {
    let is_other = |offset: &CommittedOffset| offset.topic_id == ZERO_TOPIC_ID || Some(offset.topic_id) != current;
    for group_id in shard.groups_of_topic(topic) {
        let Some(offsets) = shard.offsets(group_id) else {
            continue;
        };
        let Some(name) = shard.topic(topic) else { continue };
        for (index, offset) in offsets.topic(topic).into_iter().flat_map(TopicOffsets::iter) {
            if is_other(offset) {
                doomed.push(group_id, &name, index);
            }
        }
        for (name, index) in offsets.unstable().filter(|(name, _)| ***name == *topic) {
            if current.is_none() && offsets.row(name, index).is_none() {
                doomed.push(group_id, name, index);
            }
        }
        if doomed.is_full() {
            return;
        }
    }
    for (group_id, name, index, offset) in shard.pending_rows().filter(|(_, name, ..)| ***name == *topic) {
        if is_other(offset) {
            doomed.push(group_id, name, index);
        }
    }
}

fn find_expired(
    shard: &mut Shard,
    group_id: &str,
    subscribed: &HashSet<String>,
    is_expired: impl Fn(&CommittedOffset) -> bool,
    doomed: &mut Doomed,
) {
    if !shard.has_offsets(group_id) {
        return;
    }
    let id = shard.group_id(group_id);
    let pending: HashSet<(Arc<str>, i32)> = shard.pending_of(group_id).map(|(key, _)| key).collect();
    let Some(offsets) = shard.offsets(group_id) else { return };
    doomed.is_kept = !pending.is_empty() || offsets.has_unstable();
    for (topic, rows) in offsets.topics() {
        if subscribed.contains(&**topic) {
            doomed.is_kept = true;
            continue;
        }
        for (index, offset) in rows.iter() {
            let is_changing = (!pending.is_empty() && pending.contains(&(Arc::clone(topic), index)))
                || offsets.is_unstable(topic, index);
            if is_changing || !is_expired(offset) {
                doomed.is_kept = true;
            } else {
                doomed.push(&id, topic, index);
            }
            if doomed.is_full() {
                doomed.is_kept = true; // the caller asks again later
                return;
            }
        }
    }
}

/// Appends one batch of tombstones for the groups of a partition.
///
/// # Errors
/// The error code of the append, or `NOT_COORDINATOR` when this broker does not coordinate the partition.
pub fn remove(
    broker: &Broker,
    groups: &Groups,
    index: i32,
    removal: &Removal<'_>,
    now_ms: i64,
) -> Result<Removed, ErrorCode> {
    let home = groups.homes.of(index).ok_or(ErrorCode::NOT_COORDINATOR)?;
    let mut shard = home.shard(broker)?;
    let current = match removal {
        Removal::Topic(topic) => broker.image().load().topic(topic).map(|row| row.id),
        _ => None,
    };
    let doomed = find(&mut shard, removal, current);
    if doomed.rows.is_empty() {
        return Ok(Removed {
            appended: None,
            has_more: false,
            is_kept: doomed.is_kept,
        });
    }
    let mut builder = BatchBuilder::new(groups.settings().codec);
    let mut key = Vec::new();
    for (group_id, topic, index) in &doomed.rows {
        key.clear();
        write_offset_key(&mut key, group_id, topic, *index);
        builder.append(now_ms, Some(&key), None, &[]);
    }
    let mut batch = builder.build(Offset(0), LeaderEpoch::NONE);
    let (appended, awaited) = append(broker, &home, &mut batch, now_ms)?;
    let (has_more, is_kept) = (doomed.is_full(), doomed.is_kept);
    shard.note_removal(doomed.rows, appended.first_offset);
    if awaited.is_nothing() {
        home.settle(&mut shard, broker);
    }
    let appended = Appended {
        partition: Arc::clone(&home.partition),
        awaited,
        base_offset: appended.first_offset,
        last_offset: appended.last_offset,
    };
    Ok(Removed {
        appended: Some(appended),
        has_more,
        is_kept,
    })
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
