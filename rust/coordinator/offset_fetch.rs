//! `OffsetFetch`: answers with the offsets that are durable when a row is read. A group, topic or partition
//! is answered once, however often the request names it.
//!
//! A topic's rows are read under the shard's lock, which is released between topics, so that no long answer keeps
//! heartbeats waiting. When a group moves to another broker meanwhile, its answer is the error alone, without the rows
//! that were read. A group needs Describe, and each topic: topics that the client may not describe are left out of an
//! answer with all topics, and refused when the client names them. `require_stable` refuses offsets that an open
//! transaction is to commit (KIP-447).

use std::collections::HashMap;
use std::sync::Arc;

use super::Coordinators;
use super::groups::{GroupHome, Groups};
use super::offsets::{CommittedOffset, TopicOffsets};
use base::error::ErrorCode;
use broker::{
    Api, Authorization, BodyTail, Broker, Executor, Handover, Operation, Request, ResourceType, Served, Thread,
    TopicRow,
};
use protocol::offset_fetch::{GROUP_ERROR_FROM, NOTHING_IS_AN_ERROR_UNTIL, TOPIC_ID_FROM};
use protocol::topic::text;
use protocol::{
    ApiTable, FetchedGroup, FetchedOffset, OffsetFetchRequest, OffsetFetchWriter, TopicId, TopicKey, WireError,
    ZERO_TOPIC_ID,
};

/// A request with more bytes than this is not served on a network loop.
const MANY_BYTES: usize = 16 << 10;
/// A request for all offsets of a group with more rows than this is not served on a network loop.
const MANY_ROWS: usize = 2000;

/// A topic to answer, and its partitions, each once.
struct Wanted<'a> {
    /// The topic's name; `None` for an id that the cluster does not have.
    name: Option<&'a str>,
    id: TopicId,
    /// The partitions; `None` for all that the group has.
    indexes: Option<Vec<i32>>,
    /// Whether the client named a topic that it may not describe.
    is_refused: bool,
}

/// The API.
pub struct OffsetFetch(pub Arc<Coordinators>);

impl Api for OffsetFetch {
    fn key(&self) -> i16 {
        ApiTable::OFFSET_FETCH
    }

    fn serve(&self, asked: Request<'_>, out: &mut Vec<u8>) -> Result<Served, WireError> {
        let (version, body) = (asked.version, &*asked.body);
        let elsewhere = || Ok(Served::Elsewhere(Handover::Serve(Thread::Request)));
        if asked.executor == Executor::Loop && body.len() > MANY_BYTES {
            return elsewhere();
        }
        let mut request = OffsetFetchRequest::default();
        request.decode(version, body)?;
        let merged = merge(&request, body);
        let authorization = asked.authorization("OffsetFetch");
        let mut writer = OffsetFetchWriter::new(out, version, merged.len());
        for (group_id, groups) in &merged {
            let answering = Answering {
                broker: asked.broker,
                groups: &self.0.groups,
                authorization: &authorization,
                executor: asked.executor,
                version,
                request: &request,
                body,
                group_id,
            };
            if !answering.write(groups, &mut writer) {
                return elsewhere();
            }
        }
        writer.end();
        Ok(Served::Answered(BodyTail::Nothing))
    }

    fn has_large_answers(&self) -> bool {
        true
    }
}

/// Each group once, in order, with every row of the request for that group.
fn merge<'a>(request: &'a OffsetFetchRequest, body: &'a [u8]) -> Vec<(&'a str, Vec<&'a FetchedGroup>)> {
    let mut merged: Vec<(&str, Vec<&FetchedGroup>)> = Vec::with_capacity(request.groups.len());
    let mut places = HashMap::new();
    for group in &request.groups {
        let group_id = text(body, &group.group_id).unwrap_or_default();
        let at = if request.groups.len() == 1 {
            merged.len()
        } else {
            *places.entry(group_id).or_insert(merged.len())
        };
        match merged.get_mut(at) {
            Some((_, rows)) => rows.push(group),
            None => merged.push((group_id, vec![group])),
        }
    }
    merged
}

/// The answer for one group.
struct Answering<'a> {
    broker: &'a Broker,
    groups: &'a Groups,
    authorization: &'a Authorization<'a>,
    executor: Executor,
    version: i16,
    request: &'a OffsetFetchRequest,
    body: &'a [u8],
    group_id: &'a str,
}

impl Answering<'_> {
    /// Writes the answer for the group; false when it is too much for a network loop.
    fn write(&self, wanted: &[&FetchedGroup], writer: &mut OffsetFetchWriter<'_>) -> bool {
        let mark = writer.mark();
        let is_allowed = self
            .authorization
            .allows(Operation::Describe, ResourceType::Group, self.group_id);
        let found = if is_allowed {
            self.groups.homes.find(self.broker, self.group_id)
        } else {
            Err(ErrorCode::GROUP_AUTHORIZATION_FAILED)
        };
        let served = match found {
            Err(code) => Err(code),
            // what it has loaded the next coordinator may lack: an offset would go back
            Ok(home) if home.waits_for_replicas() => Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
            Ok(home) => match self.names(&home, wanted) {
                Ok(None) => return false,
                Ok(Some(names)) => self.write_topics(&home, wanted, &names, writer),
                Err(code) => Err(code),
            },
        };
        if let Err(code) = served {
            writer.back_to(mark);
            self.write_error(wanted, code, writer);
        }
        true
    }

    /// The names of all topics that the group has offsets of, when the request asks for all; `None` when they are too
    /// many for a network loop.
    fn names(&self, home: &GroupHome, groups: &[&FetchedGroup]) -> Result<Option<Vec<Arc<str>>>, ErrorCode> {
        let shard = home.shard(self.broker)?;
        if groups.iter().all(|group| group.topics.is_some()) {
            return Ok(Some(Vec::new()));
        }
        let Some(offsets) = shard.offsets(self.group_id) else {
            return Ok(Some(Vec::new()));
        };
        let rows: usize = offsets.topics().map(|(_, rows)| rows.len()).sum();
        if self.executor == Executor::Loop && rows > MANY_ROWS {
            return Ok(None);
        }
        Ok(Some(offsets.topics().map(|(topic, _)| Arc::clone(topic)).collect()))
    }

    fn write_topics(
        &self,
        home: &GroupHome,
        groups: &[&FetchedGroup],
        names: &[Arc<str>],
        writer: &mut OffsetFetchWriter<'_>,
    ) -> Result<(), ErrorCode> {
        let image = self.broker.image().load();
        let by_id = self.version >= TOPIC_ID_FROM;
        let wanted: Vec<Wanted<'_>> = if groups.iter().any(|group| group.topics.is_none()) {
            let row = |name: &'_ Arc<str>| image.topic(name).map(|row| row.id);
            let may_see = |name: &str| {
                self.authorization
                    .allows_quietly(Operation::Describe, ResourceType::Topic, name)
            };
            let every = names.iter().filter(|name| !by_id || row(name).is_some());
            every
                .filter(|name| may_see(name))
                .map(|name| Wanted {
                    name: Some(name),
                    id: row(name).unwrap_or(ZERO_TOPIC_ID),
                    indexes: None,
                    is_refused: false,
                })
                .collect()
        } else {
            let mut wanted = self.wanted(groups, |id| image.topic_by_id(id));
            for topic in &mut wanted {
                let may_see = |name| {
                    self.authorization
                        .allows(Operation::Describe, ResourceType::Topic, name)
                };
                topic.is_refused = topic.name.is_some_and(|name| !may_see(name));
            }
            wanted
        };
        writer.group(self.group_id, wanted.len());
        for topic in &wanted {
            self.write_topic(home, topic, by_id, writer)?;
        }
        writer.end_group(ErrorCode::NONE);
        Ok(())
    }

    /// The topics that the request names, each once.
    fn wanted<'t>(
        &'t self,
        groups: &[&FetchedGroup],
        by_id: impl Fn(&TopicId) -> Option<&'t Arc<TopicRow>>,
    ) -> Vec<Wanted<'t>> {
        let mut wanted: Vec<Wanted<'t>> = Vec::new();
        let mut places: HashMap<(Option<&str>, TopicId), usize> = HashMap::new();
        let topics = || groups.iter().filter_map(|group| group.topics.clone());
        let is_single = topics().map(|range| range.len()).sum::<usize>() == 1;
        for topic in topics().flat_map(|range| self.request.topics.get(range).unwrap_or_default()) {
            let indexes = self.request.indexes.get(topic.rows.clone()).unwrap_or_default();
            let (name, id) = match &topic.topic {
                TopicKey::Name(_) => (topic.topic.name(self.body), ZERO_TOPIC_ID),
                TopicKey::Id(id) => (by_id(id).map(|row| &*row.name), *id),
            };
            let at = if is_single {
                0
            } else {
                *places.entry((name, id)).or_insert(wanted.len())
            };
            match wanted.get_mut(at).and_then(|known| known.indexes.as_mut()) {
                Some(known) => known.extend_from_slice(indexes),
                None => wanted.push(Wanted {
                    name,
                    id,
                    indexes: Some(indexes.to_vec()),
                    is_refused: false,
                }),
            }
        }
        for topic in &mut wanted {
            if let Some(indexes) = &mut topic.indexes {
                keep_firsts(indexes);
            }
        }
        wanted
    }

    fn write_topic(
        &self,
        home: &GroupHome,
        topic: &Wanted<'_>,
        by_id: bool,
        writer: &mut OffsetFetchWriter<'_>,
    ) -> Result<(), ErrorCode> {
        let shard = home.shard(self.broker)?;
        let name = topic.name.unwrap_or_default();
        let rows = shard.rows(self.group_id, name);
        let offsets = shard
            .offsets(self.group_id)
            .filter(|offsets| self.request.require_stable && offsets.has_unstable());
        let error = |index| match offsets {
            Some(offsets) if offsets.is_unstable(name, index) => Some(ErrorCode::UNSTABLE_OFFSET_COMMIT),
            _ => None,
        };
        match &topic.indexes {
            None => {
                writer.topic(name, &topic.id, rows.map_or(0, TopicOffsets::len));
                for (index, offset) in rows.into_iter().flat_map(TopicOffsets::iter) {
                    writer.partition(index, fetched(error(index), offset));
                }
            }
            Some(indexes) => {
                writer.topic(name, &topic.id, indexes.len());
                for index in indexes {
                    if topic.is_refused {
                        writer.partition(*index, FetchedOffset::nothing(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
                        continue;
                    }
                    if topic.name.is_none() {
                        writer.partition(*index, FetchedOffset::nothing(ErrorCode::UNKNOWN_TOPIC_ID));
                        continue;
                    }
                    // the offset may be that of an earlier topic with the same name
                    let is_of = |id: TopicId| !by_id || id == ZERO_TOPIC_ID || id == topic.id;
                    let code = error(*index);
                    let found = rows
                        .and_then(|rows| rows.get(*index))
                        .filter(|offset| is_of(offset.topic_id));
                    let nothing = FetchedOffset::nothing(code.unwrap_or(self.nothing_committed()));
                    writer.partition(*index, found.map_or(nothing, |offset| fetched(code, offset)));
                }
            }
        }
        writer.end_topic();
        Ok(())
    }

    /// The error of a partition for which the group has committed no offset.
    fn nothing_committed(&self) -> ErrorCode {
        if self.version <= NOTHING_IS_AN_ERROR_UNTIL {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        } else {
            ErrorCode::NONE
        }
    }

    /// Writes an error of the group as its whole answer; the oldest version has the error in each row.
    fn write_error(&self, groups: &[&FetchedGroup], code: ErrorCode, writer: &mut OffsetFetchWriter<'_>) {
        if self.version >= GROUP_ERROR_FROM {
            writer.group(self.group_id, 0);
            return writer.end_group(code);
        }
        let wanted = self.wanted(groups, |_| None);
        writer.group(self.group_id, wanted.len());
        for topic in &wanted {
            let indexes = topic.indexes.as_deref().unwrap_or_default();
            writer.topic(topic.name.unwrap_or_default(), &topic.id, indexes.len());
            for index in indexes {
                writer.partition(*index, FetchedOffset::nothing(code));
            }
            writer.end_topic();
        }
        writer.end_group(code);
    }
}

fn fetched(error: Option<ErrorCode>, offset: &CommittedOffset) -> FetchedOffset<'_> {
    match error {
        Some(code) => FetchedOffset::nothing(code),
        None => FetchedOffset {
            offset: offset.offset,
            leader_epoch: offset.leader_epoch,
            metadata: &offset.metadata,
            error: ErrorCode::NONE,
        },
    }
}

/// Keeps each index once, at its first place.
fn keep_firsts(indexes: &mut Vec<i32>) {
    if indexes.is_sorted_by(|a, b| a < b) {
        return;
    }
    let mut seen = std::collections::HashSet::with_capacity(indexes.len());
    indexes.retain(|index| seen.insert(*index));
}

#[cfg(test)]
#[path = "offset_fetch_tests.rs"]
mod tests;
