//! Requests and answers of a [`World`] as on the wire.

use super::super::table::Producer;
use super::{Reply, TIMEOUT_MS, World};
use base::error::ErrorCode;
use protocol::messages::Message;
use protocol::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic, AddPartitionsToTxnTopicResult, AddPartitionsToTxnTransaction,
};
use protocol::messages::write_txn_markers::{
    WritableTxnMarker, WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopic,
    WritableTxnMarkerTopicResult, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use protocol::{ApiTable, Reader, Writer};

const INIT_VERSION: i16 = 4;
const ADD_VERSION: i16 = 3;
/// `AddPartitionsToTxn` between brokers.
const ADD_MANY_VERSION: i16 = 5;
const MARKERS_VERSION: i16 = 2;
const ADD_OFFSETS_VERSION: i16 = 3;
const FETCH_VERSION: i16 = 7;

/// Partitions of a request: topic and index.
pub type Rows<'a> = &'a [(&'a str, i32)];

/// A producer id and epoch as an answer has them.
pub type Claimed = Result<Producer, ErrorCode>;

pub fn init_body(transactional_id: Option<&str>, timeout_ms: i32, claimed: Option<Producer>) -> Vec<u8> {
    let mut body = Vec::new();
    let mut w = Writer::new(&mut body, true);
    w.nullable_string(transactional_id);
    w.i32(timeout_ms);
    w.i64(claimed.map_or(-1, |producer| producer.id));
    w.i16(claimed.map_or(-1, |producer| producer.epoch));
    w.no_tags();
    body
}

pub fn add_body(transactional_id: &str, producer: Producer, rows: Rows<'_>) -> Vec<u8> {
    let topics = rows.iter().map(|(name, index)| AddPartitionsToTxnTopic {
        name,
        partitions: vec![*index],
    });
    let request = AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: transactional_id,
        v3_and_below_producer_id: producer.id,
        v3_and_below_producer_epoch: producer.epoch,
        v3_and_below_topics: topics.collect(),
        ..AddPartitionsToTxnRequest::default()
    };
    let mut body = Vec::new();
    request.encode(&mut body, ADD_VERSION);
    body
}

/// The error of each row of an answer to a client's `AddPartitionsToTxn`.
pub fn add_rows(answer: &[u8]) -> Vec<ErrorCode> {
    let answer = AddPartitionsToTxnResponse::decode(ADD_VERSION, answer).unwrap();
    assert_eq!(answer.throttle_time_ms, 0, "no throttle");
    codes(&answer.results_by_topic_v3_and_below)
}

fn codes(topics: &[AddPartitionsToTxnTopicResult<'_>]) -> Vec<ErrorCode> {
    let rows = topics.iter().flat_map(|topic| &topic.results_by_partition);
    rows.map(|row| row.partition_error_code).collect()
}

fn end_body(transactional_id: &str, producer: Producer, is_commit: bool) -> Vec<u8> {
    let mut body = Vec::new();
    let mut w = Writer::new(&mut body, true);
    w.string(transactional_id);
    w.i64(producer.id);
    w.i16(producer.epoch);
    w.boolean(is_commit);
    w.no_tags();
    body
}

/// The error, or the producer of an answer that has one.
pub fn claimed(answer: &[u8]) -> Claimed {
    let mut r = Reader::new(answer, true);
    assert_eq!(r.i32().unwrap(), 0, "no throttle");
    match ErrorCode(r.i16().unwrap()) {
        ErrorCode::NONE if r.remaining() < 8 => Ok(Producer { id: -1, epoch: -1 }),
        ErrorCode::NONE => Ok(Producer {
            id: r.i64().unwrap(),
            epoch: r.i16().unwrap(),
        }),
        code => Err(code),
    }
}

/// The member of a group that commits.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    pub generation_id: i32,
    pub id: &'a str,
    pub instance: Option<&'a str>,
}

/// A client outside of the group's generations.
pub const NO_MEMBER: Member<'_> = Member {
    generation_id: -1,
    id: "",
    instance: None,
};

/// The body of `TxnOffsetCommit` from version 3 on, for partitions of topic `t`.
pub fn txn_commit_body(
    transactional_id: &str,
    group_id: &str,
    producer: Producer,
    member: Member<'_>,
    rows: &[(&str, i32, i64)],
) -> Vec<u8> {
    let mut body = Vec::new();
    let mut w = Writer::new(&mut body, true);
    w.string(transactional_id);
    w.string(group_id);
    w.i64(producer.id);
    w.i16(producer.epoch);
    w.i32(member.generation_id);
    w.string(member.id);
    w.nullable_string(member.instance);
    w.length(Some(rows.len()));
    for (topic, index, offset) in rows {
        w.string(topic);
        w.length(Some(1));
        w.i32(*index);
        w.i64(*offset);
        w.i32(-1);
        w.nullable_string(Some(""));
        w.no_tags();
        w.no_tags();
    }
    w.no_tags();
    body
}

impl World {
    // ---- clients

    pub fn try_init(&self, transactional_id: &str, claimed: Option<Producer>) -> Reply {
        let body = init_body(Some(transactional_id), TIMEOUT_MS, claimed);
        self.serve(ApiTable::INIT_PRODUCER_ID, INIT_VERSION, &body, false)
    }

    /// Initialises a producer; it must succeed at once.
    pub fn init(&self, transactional_id: &str) -> Producer {
        claimed(&self.try_init(transactional_id, None).now()).unwrap()
    }

    pub fn try_add(&self, transactional_id: &str, producer: Producer, rows: Rows<'_>) -> Reply {
        let body = add_body(transactional_id, producer, rows);
        self.serve(ApiTable::ADD_PARTITIONS_TO_TXN, ADD_VERSION, &body, false)
    }

    /// Adds partitions; the error of each row.
    pub fn add(&self, transactional_id: &str, producer: Producer, rows: Rows<'_>) -> Vec<ErrorCode> {
        add_rows(&self.try_add(transactional_id, producer, rows).now())
    }

    /// Begins a transaction with these partitions, and writes a record to each.
    pub fn open(&self, transactional_id: &str, rows: Rows<'_>) -> Producer {
        let producer = self.init(transactional_id);
        assert_eq!(
            self.add(transactional_id, producer, rows),
            vec![ErrorCode::NONE; rows.len()]
        );
        for (topic, index) in rows {
            if self
                .partition(topic, *index)
                .leadership()
                .leading(base::place::LeaderEpoch::NONE)
                .is_ok()
            {
                assert_eq!(self.write(topic, *index, producer, 0), ErrorCode::NONE);
            }
        }
        producer
    }

    pub fn try_end(&self, version: i16, transactional_id: &str, producer: Producer, is_commit: bool) -> Reply {
        let body = end_body(transactional_id, producer, is_commit);
        self.serve(ApiTable::END_TXN, version, &body, false)
    }

    /// Ends a transaction of version 0; it must be answered at once.
    pub fn end(&self, transactional_id: &str, producer: Producer, is_commit: bool) -> ErrorCode {
        let answer = self.try_end(3, transactional_id, producer, is_commit).now();
        claimed(&answer).err().unwrap_or(ErrorCode::NONE)
    }

    /// Ends a transaction of version 2; it must be answered at once. The producer of the next transaction.
    pub fn end_v2(&self, transactional_id: &str, producer: Producer, is_commit: bool) -> Claimed {
        claimed(&self.try_end(5, transactional_id, producer, is_commit).now())
    }

    pub fn try_add_offsets(&self, transactional_id: &str, producer: Producer, group_id: &str) -> Reply {
        let body = add_offsets_body(transactional_id, producer, group_id);
        self.serve(ApiTable::ADD_OFFSETS_TO_TXN, ADD_OFFSETS_VERSION, &body, false)
    }

    pub fn add_offsets(&self, transactional_id: &str, producer: Producer, group_id: &str) -> ErrorCode {
        let answer = self.try_add_offsets(transactional_id, producer, group_id).now();
        claimed(&answer).err().unwrap_or(ErrorCode::NONE)
    }

    /// The offsets of partitions of topic `t` in a group: offset and error of each.
    pub fn fetched(&self, group_id: &str, partitions: &[i32], require_stable: bool) -> Vec<(i64, ErrorCode)> {
        let mut body = Vec::new();
        let mut w = Writer::new(&mut body, true);
        w.string(group_id);
        w.length(Some(1));
        w.string("t");
        w.i32_array(partitions);
        w.no_tags();
        w.boolean(require_stable);
        w.no_tags();
        let answer = self.serve(ApiTable::OFFSET_FETCH, FETCH_VERSION, &body, false).now();
        let mut r = Reader::new(&answer, true);
        assert_eq!(r.i32().unwrap(), 0, "no throttle");
        let mut rows = Vec::new();
        for _ in 0..r.count(1).unwrap() {
            r.str().unwrap();
            for _ in 0..r.count(1).unwrap() {
                let (_index, offset) = (r.i32().unwrap(), r.i64().unwrap());
                let (_epoch, _metadata) = (r.i32().unwrap(), r.nullable_str().unwrap());
                rows.push((offset, ErrorCode(r.i16().unwrap())));
                r.skip_tags().unwrap();
            }
            r.skip_tags().unwrap();
        }
        rows
    }

    // ---- brokers

    /// `AddPartitionsToTxn` of a broker, for these transactions.
    pub fn try_add_many(&self, asked: &[AddPartitionsToTxnTransaction<'_>], is_broker: bool) -> Reply {
        let request = AddPartitionsToTxnRequest {
            transactions: asked.to_vec(),
            ..AddPartitionsToTxnRequest::default()
        };
        let mut body = Vec::new();
        request.encode(&mut body, ADD_MANY_VERSION);
        self.serve(ApiTable::ADD_PARTITIONS_TO_TXN, ADD_MANY_VERSION, &body, is_broker)
    }

    /// `WriteTxnMarkers`.
    pub fn try_markers(&self, markers: &[WritableTxnMarker<'_>], is_broker: bool) -> Reply {
        let body = markers_body(markers);
        self.serve(ApiTable::WRITE_TXN_MARKERS, MARKERS_VERSION, &body, is_broker)
    }
}

/// A request of `WriteTxnMarkers`.
pub fn markers_body(markers: &[WritableTxnMarker<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    let markers = markers.to_vec();
    WriteTxnMarkersRequest { markers }.encode(&mut body, MARKERS_VERSION);
    body
}

/// The error of the request, and the codes of each transaction of an answer to a broker.
pub fn added_many(answer: &[u8]) -> (ErrorCode, Vec<(String, Vec<ErrorCode>)>) {
    let answer = AddPartitionsToTxnResponse::decode(ADD_MANY_VERSION, answer).unwrap();
    let rows = answer.results_by_transaction.iter();
    let rows = rows.map(|one| (one.transactional_id.to_owned(), codes(&one.topic_results)));
    (answer.error_code, rows.collect())
}

/// The codes of all rows of an answer to `WriteTxnMarkers`.
pub fn marker_codes(answer: &[u8]) -> Vec<ErrorCode> {
    let answer = WriteTxnMarkersResponse::decode(MARKERS_VERSION, answer).unwrap();
    let topics = answer.markers.iter().flat_map(|marker| &marker.topics);
    topics
        .flat_map(|topic| &topic.partitions)
        .map(|row| row.error_code)
        .collect()
}

/// Answers a `WriteTxnMarkers` request as a leader does that has `code` for each partition.
pub fn answer_markers<'a>(request: &'a [u8], code: impl Fn(&str, i32) -> ErrorCode) -> Vec<u8> {
    let request = WriteTxnMarkersRequest::decode(MARKERS_VERSION, request).unwrap();
    let topic = |topic: &WritableTxnMarkerTopic<'a>| WritableTxnMarkerTopicResult {
        name: topic.name,
        partitions: topic
            .partition_indexes
            .iter()
            .map(|&partition_index| WritableTxnMarkerPartitionResult {
                partition_index,
                error_code: code(topic.name, partition_index),
            })
            .collect(),
    };
    let marker = |marker: &WritableTxnMarker<'a>| WritableTxnMarkerResult {
        producer_id: marker.producer_id,
        topics: marker.topics.iter().map(topic).collect(),
    };
    let mut body = Vec::new();
    let markers = request.markers.iter().map(marker).collect();
    WriteTxnMarkersResponse { markers }.encode(&mut body, MARKERS_VERSION);
    body
}

/// An answer to a broker's `AddPartitionsToTxn`: for each transaction the codes of partitions of a topic.
pub fn answer_added(error_code: ErrorCode, topic: &str, results: &[(&str, &[(i32, ErrorCode)])]) -> Vec<u8> {
    let row = |(partition_index, code): &(i32, ErrorCode)| AddPartitionsToTxnPartitionResult {
        partition_index: *partition_index,
        partition_error_code: *code,
    };
    let results = results.iter().map(|(transactional_id, rows)| AddPartitionsToTxnResult {
        transactional_id,
        topic_results: vec![AddPartitionsToTxnTopicResult {
            name: topic,
            results_by_partition: rows.iter().map(row).collect(),
        }],
    });
    let answer = AddPartitionsToTxnResponse {
        error_code,
        results_by_transaction: results.collect(),
        ..AddPartitionsToTxnResponse::default()
    };
    let mut body = Vec::new();
    answer.encode(&mut body, ADD_MANY_VERSION);
    body
}

/// A request of `AddOffsetsToTxn`.
pub fn add_offsets_body(transactional_id: &str, producer: Producer, group_id: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let mut w = Writer::new(&mut body, true);
    w.string(transactional_id);
    w.i64(producer.id);
    w.i16(producer.epoch);
    w.string(group_id);
    w.no_tags();
    body
}
