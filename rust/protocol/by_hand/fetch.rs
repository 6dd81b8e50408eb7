//! Fetch, of clients and of followers.

use super::rows::{
    Change, Row, assert_cuts_are_refused, for_random, made, made_part, made_topic, number, text, text_at,
};
use crate::codec::{Value, encode, table};
use crate::fetch::follower::{self, FollowerFetchHead, FollowerFetchRow, FollowerFetched};
use crate::fetch::{MAX_VERSION, MIN_VERSION};
use crate::{AbortedTransaction, FetchPartition, FetchPartitionHead, FetchRequest, FetchResponseWriter};

/// From this version on the follower's id is in a tagged field.
const REPLICA_STATE_FROM: i16 = 15;

#[test]
fn requests() {
    let message = table::message("FetchRequest").unwrap();
    let mut request = FetchRequest::default();
    for_random("FetchRequest", MIN_VERSION..=MAX_VERSION, |schema, mut value| {
        let mut change = Change::new(message, &mut value);
        change.set("ClusterId", Value::Null); // of the metadata quorum alone
        change.without_empty("Topics", "Partitions");
        change.each("ForgottenTopicsData", |nth, topic| {
            topic.set("Partitions", Value::Array(vec![number(nth as i32)]));
        });
        let body = encode(schema, &value).unwrap();
        request.decode(schema.version, &body).unwrap();
        let partition = |row: &FetchPartition| {
            let fields = [
                ("Partition", number(row.index)),
                ("CurrentLeaderEpoch", number(row.current_leader_epoch)),
                ("FetchOffset", number(row.fetch_offset)),
                ("LastFetchedEpoch", number(row.last_fetched_epoch)),
                ("LogStartOffset", number(row.log_start_offset)),
                ("PartitionMaxBytes", number(row.max_bytes)),
                ("ReplicaDirectoryId", Value::Uuid(row.replica_directory_id)),
                ("HighWatermark", number(row.high_watermark)),
            ];
            made_part(message, "FetchPartition", fields)
        };
        let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic).map(|rows| {
            let partitions = ("Partitions", rows.iter().map(partition).collect());
            made_topic(message, "FetchTopic", ("Topic", &rows[0].topic), &body, partitions)
        });
        let forgotten = request.forgotten.iter().map(|(topic, index)| {
            made_topic(
                message,
                "ForgottenTopic",
                ("Topic", topic),
                &body,
                ("Partitions", vec![number(*index)]),
            )
        });
        let replica = [
            ("ReplicaId", number(request.replica_id)),
            ("ReplicaEpoch", number(request.replica_epoch)),
        ];
        let replica = if schema.version >= REPLICA_STATE_FROM {
            ("ReplicaState", made_part(message, "ReplicaState", replica))
        } else {
            replica[0].clone()
        };
        let fields = [
            replica,
            ("MaxWaitMs", number(request.max_wait_ms)),
            ("MinBytes", number(request.min_bytes)),
            ("MaxBytes", number(request.max_bytes)),
            ("IsolationLevel", number(request.isolation_level)),
            ("SessionId", number(request.session_id)),
            ("SessionEpoch", number(request.session_epoch)),
            ("Topics", Value::Array(topics.collect())),
            ("ForgottenTopicsData", Value::Array(forgotten.collect())),
            ("RackId", text_at(&body, Some(&request.rack_id))),
        ];
        assert_eq!(made(message, fields), value, "version {}", schema.version);
        assert_cuts_are_refused(&body, |cut| request.decode(schema.version, cut).is_err());
    });
}

fn head<'a>(row: &Row<'_>, aborted: Option<&'a [AbortedTransaction]>) -> FetchPartitionHead<'a> {
    FetchPartitionHead {
        index: row.int("PartitionIndex"),
        error: row.error("ErrorCode"),
        high_watermark: row.int("HighWatermark"),
        last_stable_offset: row.int("LastStableOffset"),
        log_start_offset: row.int("LogStartOffset"),
        aborted,
        preferred_read_replica: row.int("PreferredReadReplica"),
        diverging_epoch: row.pair("DivergingEpoch", "Epoch", "EndOffset"),
        current_leader: row.pair("CurrentLeader", "LeaderId", "LeaderEpoch"),
        snapshot_id: row.pair("SnapshotId", "EndOffset", "Epoch"),
    }
}

#[test]
fn responses() {
    let message = table::message("FetchResponse").unwrap();
    for_random("FetchResponse", MIN_VERSION..=MAX_VERSION, |schema, value| {
        let response = Row::new(message, &value);
        let (mut out, topics) = (Vec::new(), response.rows("Responses"));
        let throttle_time_ms = response.int("ThrottleTimeMs");
        let (error, session_id) = (response.error("ErrorCode"), response.int("SessionId"));
        let mut writer = FetchResponseWriter::begin(
            &mut out,
            schema.version,
            throttle_time_ms,
            error,
            session_id,
            topics.len(),
        );
        for topic in topics {
            let rows = topic.rows("Partitions");
            writer.topic(topic.text("Topic").unwrap(), topic.uuid("TopicId"), rows.len());
            for row in rows {
                let aborted = |row: &Row<'_>| AbortedTransaction {
                    producer_id: row.int("ProducerId"),
                    first_offset: row.int("FirstOffset"),
                };
                let transactions: Vec<_> = row.rows("AbortedTransactions").iter().map(aborted).collect();
                let head = head(&row, (!row.is_null("AbortedTransactions")).then_some(&transactions));
                writer.partition(&head, row.bytes("Records").map(<[u8]>::len));
                writer.out().extend(row.bytes("Records").unwrap_or_default());
                writer.partition_end(&head);
            }
            writer.topic_end();
        }
        writer.end(&response.endpoints("NodeEndpoints"));
        assert_eq!(out, encode(schema, &value).unwrap(), "version {}", schema.version);
    });
}

/// Makes the ids of topics differ: topics of one id that follow each other are one topic to the code by hand.
fn with_own_ids(change: &mut Change<'_>, topics: &str) {
    change.without_empty(topics, "Partitions");
    change.each(topics, |nth, topic| {
        topic.set("TopicId", Value::Uuid([nth as u8 + 1; 16]));
    });
}

#[test]
fn requests_of_followers() {
    let message = table::message("FetchRequest").unwrap();
    for_random(
        "FetchRequest",
        follower::VERSION..=follower::VERSION,
        |schema, mut value| {
            let mut change = Change::new(message, &mut value);
            change.set("ClusterId", Value::Null);
            change.set("IsolationLevel", number(0));
            change.set("RackId", text(""));
            let replica = [("ReplicaId", number(3)), ("ReplicaEpoch", number(4))];
            change.set("ReplicaState", made_part(message, "ReplicaState", replica));
            with_own_ids(&mut change, "Topics");
            with_own_ids(&mut change, "ForgottenTopicsData");
            change.each("Topics", |_, topic| {
                topic.each("Partitions", |_, row| {
                    row.set("ReplicaDirectoryId", Value::Uuid([0; 16]));
                });
            });
            let request = Row::new(message, &value);
            let head = FollowerFetchHead {
                replica_id: 3,
                replica_epoch: 4,
                max_wait_ms: request.int("MaxWaitMs"),
                min_bytes: request.int("MinBytes"),
                max_bytes: request.int("MaxBytes"),
                session_id: request.int("SessionId"),
                session_epoch: request.int("SessionEpoch"),
            };
            let topics = request.rows("Topics");
            let rows = topics.iter().flat_map(|topic| {
                topic
                    .rows("Partitions")
                    .into_iter()
                    .map(|row| (topic.uuid("TopicId"), row))
            });
            let row = |(topic_id, row): ([u8; 16], Row<'_>)| FollowerFetchRow {
                topic_id,
                index: row.int("Partition"),
                current_leader_epoch: row.int("CurrentLeaderEpoch"),
                fetch_offset: row.int("FetchOffset"),
                last_fetched_epoch: row.int("LastFetchedEpoch"),
                log_start_offset: row.int("LogStartOffset"),
                max_bytes: row.int("PartitionMaxBytes"),
                high_watermark: row.int("HighWatermark"),
            };
            let rows: Vec<FollowerFetchRow> = rows.map(row).collect();
            let forgotten = request.rows("ForgottenTopicsData");
            let forgotten = forgotten.iter().flat_map(|topic| {
                topic
                    .ints("Partitions")
                    .into_iter()
                    .map(|index| (topic.uuid("TopicId"), index))
            });
            let mut out = Vec::new();
            follower::encode_request(&mut out, &head, &rows, &forgotten.collect::<Vec<_>>());
            assert_eq!(out, encode(schema, &value).unwrap());
        },
    );
}

#[test]
fn responses_to_followers() {
    let message = table::message("FetchResponse").unwrap();
    for_random(
        "FetchResponse",
        follower::VERSION..=follower::VERSION,
        |schema, value| {
            let body = encode(schema, &value).unwrap();
            let read = follower::decode_response(&body).unwrap();
            let response = Row::new(message, &value);
            assert_eq!(
                (read.error, read.session_id),
                (response.error("ErrorCode"), response.int("SessionId"))
            );
            let topics = response.rows("Responses");
            let rows = topics.iter().flat_map(|topic| {
                topic
                    .rows("Partitions")
                    .into_iter()
                    .map(|row| (topic.uuid("TopicId"), row))
            });
            let row = |((topic_id, row), read): (([u8; 16], Row<'_>), &FollowerFetched)| {
                assert_eq!(&body[read.records.clone()], row.bytes("Records").unwrap_or_default());
                FollowerFetched {
                    topic_id,
                    index: row.int("PartitionIndex"),
                    error: row.error("ErrorCode"),
                    high_watermark: row.int("HighWatermark"),
                    log_start_offset: row.int("LogStartOffset"),
                    diverging_epoch: row.pair("DivergingEpoch", "Epoch", "EndOffset"),
                    records: read.records.clone(),
                }
            };
            let rows: Vec<FollowerFetched> = rows.zip(&read.partitions).map(row).collect();
            assert_eq!(rows, read.partitions);
        },
    );
}
