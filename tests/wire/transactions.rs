//! The APIs of transactions, every version, against the fixture.

use base::error::ErrorCode;
use protocol::topic::text;
use protocol::{
    AddPartitionsToTxnRequest, AskedTransaction, CommitPartition, CommitTopic, MarkerToSend, NamedPartitions,
    PartitionErrors, TopicKey, TransactionResult, TransactionToAdd, TxnMarker, TxnOffsetCommitRequest,
    WriteTxnMarkersRequest, decode_add_partitions_to_txn_response, decode_write_txn_markers_response,
    encode_add_partitions_to_txn_request, encode_add_partitions_to_txn_response, encode_txn_offset_commit_response,
    encode_write_txn_markers_request, encode_write_txn_markers_response,
};

use crate::fixtures::{Body, bodies, decodes};

/// The errors of the first transaction or marker, then those of the second.
const FIRST_ERRORS: [ErrorCode; 3] = [
    ErrorCode::NONE,
    ErrorCode::PRODUCER_FENCED,
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
];
const SECOND_ERRORS: [ErrorCode; 1] = [ErrorCode::TRANSACTION_ABORTABLE];

fn first_topics() -> Vec<NamedPartitions<'static>> {
    vec![
        NamedPartitions {
            topic: "events",
            partitions: vec![0, 3],
        },
        NamedPartitions {
            topic: "é-log",
            partitions: vec![1],
        },
    ]
}

fn second_topics() -> Vec<NamedPartitions<'static>> {
    vec![NamedPartitions {
        topic: "events",
        partitions: vec![5],
    }]
}

/// The topics as a request that we encode has them.
fn to_send(topics: Vec<NamedPartitions<'static>>) -> Vec<(&'static str, Vec<i32>)> {
    topics
        .into_iter()
        .map(|topic| (topic.topic, topic.partitions))
        .collect()
}

/// The rows as a response that we decode has them.
fn rows(topics: &[NamedPartitions<'_>], errors: &[ErrorCode]) -> PartitionErrors {
    topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|index| (topic.topic.to_owned(), *index)))
        .zip(errors)
        .map(|((topic, index), error)| (topic, index, *error))
        .collect()
}

/// Checks a decoder that borrows from the body: the value, and that every truncation is refused.
fn decodes_borrowed<'a, T: PartialEq + std::fmt::Debug>(
    body: &'a Body,
    expected: &T,
    decode: impl Fn(i16, &'a [u8]) -> Result<T, protocol::WireError>,
) {
    assert_eq!(decode(body.version, &body.bytes).as_ref(), Ok(expected), "{body:?}");
    for end in 0..body.bytes.len() {
        assert!(
            decode(body.version, &body.bytes[..end]).is_err(),
            "{body:?} cut at {end}"
        );
    }
}

fn asked(case: &str, version: i16) -> Vec<TransactionToAdd<'static>> {
    let one = |transactional_id, producer_id, verify_only, topics| TransactionToAdd {
        transactional_id,
        producer_id,
        producer_epoch: (producer_id % 1000) as i16 + 7,
        verify_only,
        topics,
    };
    match (case, version) {
        ("full", 4..) => vec![
            one("tx", 1000, false, first_topics()),
            one("é-tx", 1001, true, second_topics()),
        ],
        ("full", _) => vec![one("tx", 1000, false, first_topics())],
        (_, 4..) => Vec::new(),
        _ => vec![TransactionToAdd {
            transactional_id: "",
            producer_id: 0,
            producer_epoch: 0,
            verify_only: false,
            topics: Vec::new(),
        }],
    }
}

#[test]
fn add_partitions_request_decodes_to_the_values_that_were_encoded() {
    for body in bodies("add_partitions_to_txn", "request") {
        let transactions = asked(body.case, body.version);
        decodes_borrowed(
            &body,
            &AddPartitionsToTxnRequest { transactions },
            AddPartitionsToTxnRequest::decode,
        );
    }
}

#[test]
fn add_partitions_request_of_version_5_encodes_to_the_bytes_of_the_other_codec() {
    for body in bodies("add_partitions_to_txn", "request") {
        if body.version != 5 {
            continue;
        }
        let transactions: Vec<_> = asked(body.case, 5)
            .into_iter()
            .map(|transaction| AskedTransaction {
                transactional_id: transaction.transactional_id,
                producer_id: transaction.producer_id,
                producer_epoch: transaction.producer_epoch,
                verify_only: transaction.verify_only,
                topics: to_send(transaction.topics),
            })
            .collect();
        let mut out = Vec::new();
        encode_add_partitions_to_txn_request(&mut out, &transactions);
        assert_eq!(out, body.bytes, "{}", body.case);
    }
}

#[test]
fn add_partitions_response_is_the_bytes_of_the_other_codec() {
    let (first, second) = (first_topics(), second_topics());
    let all = [
        TransactionResult {
            transactional_id: "tx",
            topics: &first,
            errors: &FIRST_ERRORS,
        },
        TransactionResult {
            transactional_id: "é-tx",
            topics: &second,
            errors: &SECOND_ERRORS,
        },
    ];
    let nothing = [TransactionResult {
        transactional_id: "",
        topics: &[],
        errors: &[],
    }];
    for body in bodies("add_partitions_to_txn", "response") {
        let (top_error, results) = match (body.case, body.version) {
            ("full", 4..) => (ErrorCode::NONE, &all[..]),
            ("full", _) => (ErrorCode::NONE, &all[..1]),
            (_, 4..) => (ErrorCode::CLUSTER_AUTHORIZATION_FAILED, &[][..]),
            _ => (ErrorCode::NONE, &nothing[..]),
        };
        let mut out = Vec::new();
        encode_add_partitions_to_txn_response(&mut out, body.version, top_error, results);
        assert_eq!(out, body.bytes, "v{} {}", body.version, body.case);
        if body.version == 5 {
            let decoded = results
                .iter()
                .map(|result| (result.transactional_id.to_owned(), rows(result.topics, result.errors)))
                .collect();
            decodes_borrowed(&body, &(top_error, decoded), |_, bytes| {
                decode_add_partitions_to_txn_response(bytes)
            });
        }
    }
}

#[test]
fn txn_offset_commit_request_decodes_to_the_values_that_were_encoded() {
    let mut used = TxnOffsetCommitRequest::default();
    for body in bodies("txn_offset_commit", "request") {
        let (is_full, has_member) = (body.case == "full", body.version >= 3);
        let mut request = TxnOffsetCommitRequest::default();
        request.decode(body.version, &body.bytes).unwrap();
        let at = |range| text(&body.bytes, range).unwrap();
        let words = [&request.transactional_id, &request.group_id, &request.member_id].map(at);
        let (generation_id, expected_words, instance) = match (is_full, has_member) {
            (true, true) => (4, ["tx", "g", "m"], Some("i")),
            (true, false) => (-1, ["tx", "g", ""], None),
            _ => (-1, [""; 3], None),
        };
        assert_eq!(words, expected_words, "{body:?}");
        assert_eq!(request.group_instance_id.as_ref().map(at), instance, "{body:?}");
        assert_eq!(request.generation_id, generation_id, "{body:?}");
        let producer = if is_full { (1000, 7) } else { (0, 0) };
        assert_eq!((request.producer_id, request.producer_epoch), producer, "{body:?}");
        let topics: Vec<_> = request
            .topics
            .iter()
            .map(|topic| (topic.topic.name(&body.bytes).unwrap(), topic.rows.clone()))
            .collect();
        let partitions: Vec<_> = request
            .partitions
            .iter()
            .map(|row| {
                let metadata = row.metadata.as_ref().map(at);
                (row.index, row.offset, row.leader_epoch, metadata)
            })
            .collect();
        if is_full {
            let epoch = if body.version >= 2 { 5 } else { -1 };
            assert_eq!(topics, [("events", 0..2), ("é-log", 2..3)]);
            let expected = [(0, 50, epoch, Some("words")), (3, 53, -1, None), (1, 51, -1, Some(""))];
            assert_eq!(partitions, expected, "{body:?}");
        } else {
            assert!(topics.is_empty() && partitions.is_empty(), "{body:?}");
        }
        decodes(&body, &used, &request, TxnOffsetCommitRequest::decode);
        used = request;
    }
}

#[test]
fn txn_offset_commit_response_encodes_to_the_bytes_of_the_other_codec() {
    let body = "eventsé-log".as_bytes();
    let topic = |name, rows| CommitTopic {
        topic: TopicKey::Name(name),
        rows,
    };
    let row = |index| CommitPartition {
        index,
        offset: 0,
        leader_epoch: -1,
        commit_timestamp: -1,
        metadata: None,
    };
    let full = TxnOffsetCommitRequest {
        topics: vec![topic(0..6, 0..2), topic(6..12, 2..3)],
        partitions: [0, 3, 1].map(row).to_vec(),
        ..TxnOffsetCommitRequest::default()
    };
    for response in bodies("txn_offset_commit", "response") {
        let (request, errors) = match response.case {
            "full" => (&full, &FIRST_ERRORS[..]),
            _ => (&TxnOffsetCommitRequest::default(), &[][..]),
        };
        let (mut out, mut places) = (Vec::new(), Vec::new());
        encode_txn_offset_commit_response(&mut out, response.version, body, request, errors, Some(&mut places));
        assert_eq!(out, response.bytes, "v{} {}", response.version, response.case);
        let codes: Vec<_> = places
            .iter()
            .map(|at| ErrorCode(i16::from_be_bytes([out[*at], out[*at + 1]])))
            .collect();
        assert_eq!(codes, errors, "v{} {}", response.version, response.case);
    }
}

fn markers(case: &str, version: i16) -> Vec<TxnMarker<'static>> {
    let first = TxnMarker {
        producer_id: 1000,
        producer_epoch: 7,
        is_commit: true,
        coordinator_epoch: 9,
        transaction_version: if version == 2 { 2 } else { 0 },
        topics: first_topics(),
    };
    let second = TxnMarker {
        producer_id: 1001,
        producer_epoch: 8,
        is_commit: false,
        coordinator_epoch: 10,
        transaction_version: 0,
        topics: second_topics(),
    };
    if case == "full" {
        vec![first, second]
    } else {
        Vec::new()
    }
}

#[test]
fn write_markers_request_is_the_values_and_the_bytes_of_the_other_codec() {
    for body in bodies("write_txn_markers", "request") {
        let markers = markers(body.case, body.version);
        let mut out = Vec::new();
        let sent: Vec<_> = markers
            .iter()
            .map(|marker| MarkerToSend {
                producer_id: marker.producer_id,
                producer_epoch: marker.producer_epoch,
                is_commit: marker.is_commit,
                coordinator_epoch: marker.coordinator_epoch,
                transaction_version: marker.transaction_version,
                topics: to_send(marker.topics.clone()),
            })
            .collect();
        encode_write_txn_markers_request(&mut out, &sent);
        if body.version == 2 {
            assert_eq!(out, body.bytes, "{}", body.case);
        }
        decodes_borrowed(
            &body,
            &WriteTxnMarkersRequest { markers },
            WriteTxnMarkersRequest::decode,
        );
    }
}

#[test]
fn write_markers_response_is_the_bytes_of_the_other_codec() {
    let (first, second) = (first_topics(), second_topics());
    let all = [
        (1000, &first[..], &FIRST_ERRORS[..]),
        (1001, &second[..], &SECOND_ERRORS[..]),
    ];
    for body in bodies("write_txn_markers", "response") {
        let markers = if body.case == "full" { &all[..] } else { &[] };
        let mut out = Vec::new();
        encode_write_txn_markers_response(&mut out, body.version, markers);
        assert_eq!(out, body.bytes, "v{} {}", body.version, body.case);
        let decoded = markers
            .iter()
            .map(|(producer_id, topics, errors)| (*producer_id, rows(topics, errors)))
            .collect();
        decodes_borrowed(&body, &decoded, |_, bytes| decode_write_txn_markers_response(bytes));
    }
}
