//! Where logs begin and end, and how far groups have read.

use super::rows::{
    Change, Row, assert_cuts_are_refused, for_random, made, made_part, made_topic, number, text, text_at,
};
use crate::codec::table::{self, Message};
use crate::codec::{Value, encode};
use crate::offset_fetch::FetchedTopic;
use crate::{
    CommitPartition, CommitTopic, FetchedOffset, ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResult,
    OffsetCommitRequest, OffsetFetchRequest, OffsetFetchWriter, OldestResult, TxnOffsetCommitRequest,
    encode_list_offsets_response, encode_offset_commit_response, encode_oldest_response,
    encode_txn_offset_commit_response, list_offsets, offset_commit, offset_fetch, txn_offset_commit,
};
use base::error::ErrorCode;

/// The request that a response answers: its topics and their partitions.
fn asked(request: &'static Message, version: i16, response: &Row<'_>, topic: &str, partition: &str) -> Vec<u8> {
    let schema = request.schema(version).unwrap();
    let of = request.struct_named(topic).unwrap();
    let has_id = of
        .fields
        .iter()
        .any(|field| field.name == "TopicId" && field.versions.has(version));
    let asked = |row: &Row<'_>| {
        let index = |row: &Row<'_>| {
            made_part(
                request,
                partition,
                [("PartitionIndex", number(row.int::<i32>("PartitionIndex")))],
            )
        };
        let key = if has_id {
            ("TopicId", Value::Uuid(row.uuid("TopicId")))
        } else {
            ("Name", text(row.text("Name").unwrap()))
        };
        let rows = Value::Array(row.rows("Partitions").iter().map(index).collect());
        made_part(request, topic, [key, ("Partitions", rows)])
    };
    let topics = response.rows("Topics").iter().map(asked).collect();
    encode(schema, &made(request, [("Topics", Value::Array(topics))])).unwrap()
}

/// The rows of all topics of a response.
fn rows_of<'a>(response: &Row<'a>) -> Vec<Row<'a>> {
    response
        .rows("Topics")
        .iter()
        .flat_map(|topic| topic.rows("Partitions"))
        .collect()
}

// ---- ListOffsets
#[test]
fn list_offsets_requests() {
    let message = table::message("ListOffsetsRequest").unwrap();
    let mut request = ListOffsetsRequest::default();
    for_random(
        "ListOffsetsRequest",
        0..=list_offsets::MAX_VERSION,
        |schema, mut value| {
            Change::new(message, &mut value).without_empty("Topics", "Partitions");
            let body = encode(schema, &value).unwrap();
            request.decode(schema.version, &body).unwrap();
            let partition = |row: &ListOffsetsPartition| {
                let fields = [
                    ("PartitionIndex", number(row.index)),
                    ("CurrentLeaderEpoch", number(row.current_leader_epoch)),
                    ("Timestamp", number(row.timestamp)),
                    ("MaxNumOffsets", number(row.max_num_offsets)),
                ];
                made_part(message, "ListOffsetsPartition", fields)
            };
            let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic).map(|rows| {
                let partitions = ("Partitions", rows.iter().map(partition).collect());
                made_topic(message, "ListOffsetsTopic", ("Name", &rows[0].topic), &body, partitions)
            });
            let fields = [
                ("ReplicaId", number(request.replica_id)),
                ("IsolationLevel", number(request.isolation_level)),
                ("Topics", Value::Array(topics.collect())),
                ("TimeoutMs", number(request.timeout_ms)),
            ];
            assert_eq!(made(message, fields), value, "version {}", schema.version);
            assert_cuts_are_refused(&body, |cut| request.decode(schema.version, cut).is_err());
        },
    );
}

#[test]
fn list_offsets_responses() {
    let asks = table::message("ListOffsetsRequest").unwrap();
    let message = table::message("ListOffsetsResponse").unwrap();
    let mut request = ListOffsetsRequest::default();
    for_random(
        "ListOffsetsResponse",
        0..=list_offsets::MAX_VERSION,
        |schema, mut value| {
            Change::new(message, &mut value).without_empty("Topics", "Partitions");
            let (version, response) = (schema.version, Row::new(message, &value));
            let body = asked(asks, version, &response, "ListOffsetsTopic", "ListOffsetsPartition");
            request.decode(version, &body).unwrap();
            let (mut out, rows) = (Vec::new(), rows_of(&response));
            if version == 0 {
                let oldest = |row: &Row<'_>| OldestResult {
                    error: row.error("ErrorCode"),
                    offsets: row.ints("OldStyleOffsets"),
                };
                let results: Vec<OldestResult> = rows.iter().map(oldest).collect();
                encode_oldest_response(&mut out, &body, &request, &results);
            } else {
                let results: Vec<ListOffsetsResult> = rows.iter().map(list_offsets_result).collect();
                let throttle_time_ms = response.int("ThrottleTimeMs");
                encode_list_offsets_response(&mut out, version, &body, &request, &results, throttle_time_ms);
            }
            assert_eq!(out, encode(schema, &value).unwrap(), "version {version}");
        },
    );
}

fn list_offsets_result(row: &Row<'_>) -> ListOffsetsResult {
    ListOffsetsResult {
        error: row.error("ErrorCode"),
        timestamp: row.int("Timestamp"),
        offset: row.int("Offset"),
        leader_epoch: row.int("LeaderEpoch"),
    }
}

#[test]
fn list_offsets_of_followers() {
    let version = list_offsets::FOLLOWER_VERSION;
    let message = table::message("ListOffsetsRequest").unwrap();
    let partition = [
        ("PartitionIndex", number(2)),
        ("CurrentLeaderEpoch", number(3)),
        ("Timestamp", number(-2)),
    ];
    let partitions = Value::Array(vec![made_part(message, "ListOffsetsPartition", partition)]);
    let topic = made_part(
        message,
        "ListOffsetsTopic",
        [("Name", text("t")), ("Partitions", partitions)],
    );
    let value = made(
        message,
        [("ReplicaId", number(5)), ("Topics", Value::Array(vec![topic]))],
    );
    let mut out = Vec::new();
    list_offsets::encode_follower_request(&mut out, 5, ("t", 2), 3, -2);
    assert_eq!(out, encode(message.schema(version).unwrap(), &value).unwrap());
    let message = table::message("ListOffsetsResponse").unwrap();
    for_random("ListOffsetsResponse", version..=version, |schema, value| {
        let read = list_offsets::decode_follower_response(&encode(schema, &value).unwrap()).unwrap();
        let last = rows_of(&Row::new(message, &value)).last().map(list_offsets_result);
        let nothing = ListOffsetsResult::nothing(ErrorCode::UNKNOWN_SERVER_ERROR);
        assert_eq!(read, last.unwrap_or(nothing));
    });
}

// ---- commits
/// The topics of a commit, as values.
fn committed(
    message: &'static Message,
    (topic, partition): (&str, &str),
    body: &[u8],
    topics: &[CommitTopic],
    rows: &[CommitPartition],
) -> Value {
    let has_time = message.name == "OffsetCommitRequest";
    let row = |row: &CommitPartition| {
        let fields = [
            ("PartitionIndex", number(row.index)),
            ("CommittedOffset", number(row.offset)),
            ("CommittedLeaderEpoch", number(row.leader_epoch)),
            ("CommittedMetadata", text_at(body, row.metadata.as_ref())),
            if has_time {
                ("CommitTimestamp", number(row.commit_timestamp))
            } else {
                ("PartitionIndex", number(row.index))
            },
        ];
        made_part(message, partition, fields)
    };
    let topic = |one: &CommitTopic| {
        let partitions = ("Partitions", rows[one.rows.clone()].iter().map(row).collect());
        made_topic(message, topic, ("Name", &one.topic), body, partitions)
    };
    Value::Array(topics.iter().map(topic).collect())
}

#[test]
fn offset_commit_requests() {
    let message = table::message("OffsetCommitRequest").unwrap();
    let mut request = OffsetCommitRequest::default();
    for_random(
        "OffsetCommitRequest",
        0..=offset_commit::MAX_VERSION,
        |schema, value| {
            let body = encode(schema, &value).unwrap();
            request.decode(schema.version, &body).unwrap();
            let names = ("OffsetCommitRequestTopic", "OffsetCommitRequestPartition");
            let fields = [
                ("GroupId", text_at(&body, Some(&request.group_id))),
                ("GenerationIdOrMemberEpoch", number(request.generation_id)),
                ("MemberId", text_at(&body, Some(&request.member_id))),
                ("GroupInstanceId", text_at(&body, request.group_instance_id.as_ref())),
                ("RetentionTimeMs", number(request.retention_time_ms)),
                (
                    "Topics",
                    committed(message, names, &body, &request.topics, &request.partitions),
                ),
            ];
            assert_eq!(made(message, fields), value, "version {}", schema.version);
            assert_cuts_are_refused(&body, |cut| request.decode(schema.version, cut).is_err());
        },
    );
}

#[test]
fn txn_offset_commit_requests() {
    let message = table::message("TxnOffsetCommitRequest").unwrap();
    let mut request = TxnOffsetCommitRequest::default();
    for_random(
        "TxnOffsetCommitRequest",
        0..=txn_offset_commit::MAX_VERSION,
        |schema, value| {
            let body = encode(schema, &value).unwrap();
            request.decode(schema.version, &body).unwrap();
            let names = ("TxnOffsetCommitRequestTopic", "TxnOffsetCommitRequestPartition");
            let fields = [
                ("TransactionalId", text_at(&body, Some(&request.transactional_id))),
                ("GroupId", text_at(&body, Some(&request.group_id))),
                ("ProducerId", number(request.producer_id)),
                ("ProducerEpoch", number(request.producer_epoch)),
                ("GenerationIdOrMemberEpoch", number(request.generation_id)),
                ("MemberId", text_at(&body, Some(&request.member_id))),
                ("GroupInstanceId", text_at(&body, request.group_instance_id.as_ref())),
                (
                    "Topics",
                    committed(message, names, &body, &request.topics, &request.partitions),
                ),
            ];
            assert_eq!(made(message, fields), value, "version {}", schema.version);
            assert_cuts_are_refused(&body, |cut| request.decode(schema.version, cut).is_err());
        },
    );
}

/// The answers to a commit are the codec's, and their errors stand where it says; `answer` takes a version, the
/// request's body and the errors, appends the answer, and returns the positions.
fn compare_commit_responses(
    api: &str,
    last_version: i16,
    mut answer: impl FnMut(i16, &[u8], &[ErrorCode], &mut Vec<u8>) -> Vec<usize>,
) {
    let [asks, answers] = ["Request", "Response"].map(|kind| table::message(&format!("{api}{kind}")).unwrap());
    let names = ["Topic", "Partition"].map(|part| format!("{api}Request{part}"));
    for_random(answers.name, 0..=last_version, |schema, mut value| {
        let version = schema.version;
        Change::new(answers, &mut value).set("ThrottleTimeMs", number(0));
        let response = Row::new(answers, &value);
        let body = asked(asks, version, &response, &names[0], &names[1]);
        let errors: Vec<ErrorCode> = rows_of(&response).iter().map(|row| row.error("ErrorCode")).collect();
        let mut out = Vec::new();
        let places = answer(version, &body, &errors, &mut out);
        assert_eq!(out, encode(schema, &value).unwrap(), "version {version}");
        let error = |at: &usize| ErrorCode(i16::from_be_bytes([out[*at], out[*at + 1]]));
        assert_eq!(places.iter().map(error).collect::<Vec<_>>(), errors);
    });
}

#[test]
fn offset_commit_responses() {
    let mut request = OffsetCommitRequest::default();
    compare_commit_responses(
        "OffsetCommit",
        offset_commit::MAX_VERSION,
        |version, body, errors, out| {
            let mut places = Vec::new();
            request.decode(version, body).unwrap();
            encode_offset_commit_response(out, version, body, &request, errors, Some(&mut places));
            places
        },
    );
}

#[test]
fn txn_offset_commit_responses() {
    let mut request = TxnOffsetCommitRequest::default();
    compare_commit_responses(
        "TxnOffsetCommit",
        txn_offset_commit::MAX_VERSION,
        |version, body, errors, out| {
            let mut places = Vec::new();
            request.decode(version, body).unwrap();
            encode_txn_offset_commit_response(out, version, body, &request, errors, Some(&mut places));
            places
        },
    );
}

// ---- OffsetFetch
/// From this version on a request has several groups.
const GROUPS_FROM: i16 = 8;

#[test]
fn offset_fetch_requests() {
    let message = table::message("OffsetFetchRequest").unwrap();
    let mut request = OffsetFetchRequest::default();
    for_random(
        "OffsetFetchRequest",
        0..=offset_fetch::MAX_VERSION,
        |schema, mut value| {
            Change::new(message, &mut value).each("Groups", |_, group| {
                group.set("MemberId", Value::Null); // of the next group protocol
                group.set("MemberEpoch", number(-1));
            });
            let body = encode(schema, &value).unwrap();
            request.decode(schema.version, &body).unwrap();
            let of = if schema.version < GROUPS_FROM {
                "OffsetFetchRequestTopic"
            } else {
                "OffsetFetchRequestTopics"
            };
            let topic = |topic: &FetchedTopic| {
                let indexes = request.indexes[topic.rows.clone()]
                    .iter()
                    .map(|index| number(*index))
                    .collect();
                made_topic(
                    message,
                    of,
                    ("Name", &topic.topic),
                    &body,
                    ("PartitionIndexes", indexes),
                )
            };
            let mut groups = request.groups.iter().map(|group| {
                let topics = group
                    .topics
                    .clone()
                    .map(|at| request.topics[at].iter().map(topic).collect());
                let topics = topics.map_or(Value::Null, Value::Array);
                [("GroupId", text_at(&body, Some(&group.group_id))), ("Topics", topics)]
            });
            let is_stable = ("RequireStable", Value::Bool(request.require_stable));
            let read = if schema.version < GROUPS_FROM {
                let [group_id, topics] = groups.next_back().unwrap();
                made(message, [group_id, topics, is_stable])
            } else {
                let groups = groups
                    .map(|fields| made_part(message, "OffsetFetchRequestGroup", fields))
                    .collect();
                made(message, [("Groups", Value::Array(groups)), is_stable])
            };
            assert_eq!(read, value, "version {}", schema.version);
            assert_cuts_are_refused(&body, |cut| request.decode(schema.version, cut).is_err());
        },
    );
}

fn write_group(writer: &mut OffsetFetchWriter<'_>, group_id: &str, group: &Row<'_>, has_ids: bool) {
    let topics = group.rows("Topics");
    writer.group(group_id, topics.len());
    for topic in topics {
        let id = if has_ids { topic.uuid("TopicId") } else { [0; 16] };
        let rows = topic.rows("Partitions");
        writer.topic(topic.text("Name").unwrap(), &id, rows.len());
        for row in rows {
            let offset = FetchedOffset {
                offset: row.int("CommittedOffset"),
                leader_epoch: row.int("CommittedLeaderEpoch"),
                metadata: row.text("Metadata").unwrap(),
                error: row.error("ErrorCode"),
            };
            writer.partition(row.int("PartitionIndex"), offset);
        }
        writer.end_topic();
    }
    writer.end_group(group.error("ErrorCode"));
}

#[test]
fn offset_fetch_responses() {
    let message = table::message("OffsetFetchResponse").unwrap();
    for_random(
        "OffsetFetchResponse",
        0..=offset_fetch::MAX_VERSION,
        |schema, mut value| {
            let with_metadata = |_: usize, topic: &mut Change<'_>| {
                topic.each("Partitions", |_, row| row.fill("Metadata", ""));
            };
            let mut change = Change::new(message, &mut value);
            change.set("ThrottleTimeMs", number(0));
            change.each("Topics", with_metadata);
            change.each("Groups", |_, group| group.each("Topics", with_metadata));
            let response = Row::new(message, &value);
            let groups = response.rows("Groups");
            let mut out = Vec::new();
            let mut writer = OffsetFetchWriter::new(&mut out, schema.version, groups.len());
            if schema.version < GROUPS_FROM {
                write_group(&mut writer, "", &response, false);
            }
            for group in groups {
                write_group(&mut writer, group.text("GroupId").unwrap(), &group, true);
            }
            writer.end();
            assert_eq!(out, encode(schema, &value).unwrap(), "version {}", schema.version);
        },
    );
}
