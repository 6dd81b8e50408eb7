//! Produce requests of every version, and their answers.

use base::error::ErrorCode;
use protocol::{
    ProducePartition, ProduceRequest, ProduceResult, TopicKey, Writer, encode_produce_response, produce as layout,
};

const TRANSACTIONAL_ID_FROM: i16 = 3;

/// A version and a body.
pub fn produce(data: &[u8]) {
    let Some((version, body)) = data.split_first() else {
        return;
    };
    let version = i16::from(version % 16);
    let mut request = ProduceRequest::default();
    if request.decode(version, body).is_err() {
        return;
    }
    assert!(request.partitions.capacity() <= 4 + 2 * body.len());
    let written = encode(version, body, &request);
    assert!(written.len() <= body.len(), "what was sent has no shorter encoding");
    let mut again = request.clone();
    assert_eq!(again.decode(version, &written), Ok(()));
    assert_eq!(values(&written, &again), values(body, &request));

    let results = vec![ProduceResult::refused(ErrorCode::INVALID_RECORD, Some("why".into())); request.partitions.len()];
    let mut answer = Vec::new();
    encode_produce_response(&mut answer, version, body, &request, &results, &[], 0);
    assert!(answer.len() <= 64 + body.len() + 64 * results.len());
}

/// A partition: topic, whether it opens the topic, index, records.
type Row<'a> = (&'a [u8], bool, i32, Option<&'a [u8]>);

fn values<'a>(body: &'a [u8], request: &'a ProduceRequest) -> (Option<&'a [u8]>, i16, i32, Vec<Row<'a>>) {
    let row = |partition: &'a ProducePartition| -> Row<'a> {
        let records = partition.records.clone().map(|range| &body[range]);
        (
            topic(body, &partition.topic),
            partition.first_of_topic,
            partition.index,
            records,
        )
    };
    let id = request.transactional_id.clone().map(|range| &body[range]);
    (
        id,
        request.acks,
        request.timeout_ms,
        request.partitions.iter().map(row).collect(),
    )
}

/// The name or id.
pub fn topic<'a>(body: &'a [u8], key: &'a TopicKey) -> &'a [u8] {
    match key {
        TopicKey::Name(range) => &body[range.clone()],
        TopicKey::Id(id) => id,
    }
}

/// Writes the name or id.
pub fn write_topic(writer: &mut Writer<'_>, body: &[u8], key: &TopicKey) {
    match key {
        TopicKey::Name(range) => writer.string_bytes(&body[range.clone()]),
        TopicKey::Id(id) => writer.raw(id),
    }
}

/// The request without unknown tags and without topics that have no partition.
fn encode(version: i16, body: &[u8], request: &ProduceRequest) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, version >= layout::FLEXIBLE_FROM);
    if version >= TRANSACTIONAL_ID_FROM {
        match &request.transactional_id {
            None => writer.nullable_string(None),
            Some(range) => writer.string_bytes(&body[range.clone()]),
        }
    }
    writer.i16(request.acks);
    writer.i32(request.timeout_ms);
    let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic);
    writer.length(Some(topics.clone().count()));
    for partitions in topics {
        write_topic(&mut writer, body, &partitions[0].topic);
        writer.length(Some(partitions.len()));
        for partition in partitions {
            writer.i32(partition.index);
            writer.length(partition.records.as_ref().map(ExactSizeIterator::len));
            if let Some(records) = &partition.records {
                writer.raw(&body[records.clone()]);
            }
            writer.no_tags();
        }
        writer.no_tags();
    }
    writer.no_tags();
    out
}
