//! Produce.

use super::rows::{
    Change, Row, assert_cuts_are_refused, bytes_at, for_random, made, made_part, made_topic, number, text_at,
};
use crate::codec::{Value, encode, table};
use crate::produce::{MAX_VERSION, MIN_VERSION};
use crate::{ProducePartition, ProduceRequest, ProduceResult, encode_produce_response};

#[test]
fn requests() {
    let message = table::message("ProduceRequest").unwrap();
    let mut request = ProduceRequest::default();
    for_random("ProduceRequest", MIN_VERSION..=MAX_VERSION, |schema, mut value| {
        Change::new(message, &mut value).without_empty("TopicData", "PartitionData");
        let body = encode(schema, &value).unwrap();
        request.decode(schema.version, &body).unwrap();
        let partition = |row: &ProducePartition| {
            let records = bytes_at(&body, row.records.as_ref());
            made_part(
                message,
                "PartitionProduceData",
                [("Index", number(row.index)), ("Records", records)],
            )
        };
        let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic).map(|rows| {
            let partitions = ("PartitionData", rows.iter().map(partition).collect());
            made_topic(message, "TopicProduceData", ("Name", &rows[0].topic), &body, partitions)
        });
        let fields = [
            ("TransactionalId", text_at(&body, request.transactional_id.as_ref())),
            ("Acks", number(request.acks)),
            ("TimeoutMs", number(request.timeout_ms)),
            ("TopicData", Value::Array(topics.collect())),
        ];
        assert_eq!(made(message, fields), value, "version {}", schema.version);
        assert_cuts_are_refused(&body, |cut| request.decode(schema.version, cut).is_err());
    });
}

/// The request that a response answers.
fn asked(version: i16, response: &Row<'_>) -> Vec<u8> {
    let message = table::message("ProduceRequest").unwrap();
    let topic = |topic: &Row<'_>| {
        let index = |row: &Row<'_>| {
            made_part(
                message,
                "PartitionProduceData",
                [("Index", number(row.int::<i32>("Index")))],
            )
        };
        let rows = topic.rows("PartitionResponses").iter().map(index).collect();
        let mut fields = [
            ("Name", Value::Text(topic.text("Name").unwrap_or_default().to_owned())),
            ("PartitionData", Value::Array(rows)),
        ];
        if version >= 13 {
            fields[0] = ("TopicId", Value::Uuid(topic.uuid("TopicId")));
        }
        made_part(message, "TopicProduceData", fields)
    };
    let topics = response.rows("Responses").iter().map(topic).collect();
    encode(
        message.schema(version).unwrap(),
        &made(message, [("TopicData", Value::Array(topics))]),
    )
    .unwrap()
}

fn result(row: &Row<'_>) -> ProduceResult {
    let errors = row.rows("RecordErrors");
    let error = |row: &Row<'_>| {
        (
            row.int("BatchIndex"),
            row.text("BatchIndexErrorMessage").unwrap().to_owned(),
        )
    };
    ProduceResult {
        error: row.error("ErrorCode"),
        base_offset: row.int("BaseOffset"),
        log_append_time_ms: row.int("LogAppendTimeMs"),
        log_start_offset: row.int("LogStartOffset"),
        record_errors: errors.iter().map(error).collect(),
        error_message: row.text("ErrorMessage").map(str::to_owned),
        current_leader: row.pair("CurrentLeader", "LeaderId", "LeaderEpoch"),
    }
}

#[test]
fn responses() {
    let message = table::message("ProduceResponse").unwrap();
    let mut request = ProduceRequest::default();
    for_random("ProduceResponse", MIN_VERSION..=MAX_VERSION, |schema, mut value| {
        let mut change = Change::new(message, &mut value);
        change.without_empty("Responses", "PartitionResponses");
        change.each("Responses", |_, topic| {
            topic.each("PartitionResponses", |_, row| {
                row.each("RecordErrors", |_, error| error.fill("BatchIndexErrorMessage", "why"));
            });
        });
        let response = Row::new(message, &value);
        let body = asked(schema.version, &response);
        request.decode(schema.version, &body).unwrap();
        let topics = response.rows("Responses");
        let rows = topics.iter().flat_map(|topic| topic.rows("PartitionResponses"));
        let results: Vec<ProduceResult> = rows.map(|row| result(&row)).collect();
        let mut out = Vec::new();
        let endpoints = response.endpoints("NodeEndpoints");
        let throttle_time_ms = response.int("ThrottleTimeMs");
        encode_produce_response(
            &mut out,
            schema.version,
            &body,
            &request,
            &results,
            &endpoints,
            throttle_time_ms,
        );
        assert_eq!(out, encode(schema, &value).unwrap(), "version {}", schema.version);
    });
}
