//! Fetch requests of every version, and the answers that a follower reads.

use protocol::fetch::follower::{FollowerResponse, decode_response};
use protocol::{FetchPartition, FetchRequest, TopicKey, Writer};

use super::produce::{topic, write_topic};

/// A version and a body.
pub fn fetch(data: &[u8]) {
    let Some((version, body)) = data.split_first() else {
        return;
    };
    let version = i16::from(version % 20);
    let mut request = FetchRequest::default();
    if request.decode(version, body).is_err() {
        return;
    }
    assert!(request.partitions.capacity().max(request.forgotten.capacity()) <= 4 + 2 * body.len());
    let written = encode(version, body, &request);
    let mut again = request.clone();
    assert_eq!(again.decode(version, &written), Ok(()));
    assert_eq!(values(&written, &again), values(body, &request));
}

/// The request with the topics' bytes in place of their positions.
fn values(body: &[u8], request: &FetchRequest) -> (FetchRequest, Vec<Vec<u8>>) {
    let mut plain = request.clone();
    let mut texts = vec![body[plain.rack_id.clone()].to_vec()];
    plain.rack_id = 0..0;
    for key in plain.partitions.iter_mut().map(|partition| &mut partition.topic) {
        texts.push(topic(body, key).to_vec());
        *key = TopicKey::Id([0; 16]);
    }
    for (key, _) in &mut plain.forgotten {
        texts.push(topic(body, key).to_vec());
        *key = TopicKey::Id([0; 16]);
    }
    (plain, texts)
}

/// The request without unknown tags and without topics that have no partition.
fn encode(version: i16, body: &[u8], request: &FetchRequest) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, version >= 12);
    if version < 15 {
        writer.i32(request.replica_id);
    }
    writer.i32(request.max_wait_ms);
    writer.i32(request.min_bytes);
    if version >= 3 {
        writer.i32(request.max_bytes);
    }
    if version >= 4 {
        writer.i8(request.isolation_level);
    }
    if version >= 7 {
        writer.i32(request.session_id);
        writer.i32(request.session_epoch);
    }
    let topics = request.partitions.chunk_by(|_, next| !next.first_of_topic);
    writer.length(Some(topics.clone().count()));
    for partitions in topics {
        write_topic(&mut writer, body, &partitions[0].topic);
        writer.length(Some(partitions.len()));
        for partition in partitions {
            write_partition(&mut writer, version, partition);
        }
        writer.no_tags();
    }
    if version >= 7 {
        writer.length(Some(request.forgotten.len()));
        for (key, index) in &request.forgotten {
            write_topic(&mut writer, body, key);
            writer.i32_array(&[*index]);
            writer.no_tags();
        }
    }
    if version >= 11 {
        writer.string_bytes(&body[request.rack_id.clone()]);
    }
    let has_replica = version >= 15 && (request.replica_id, request.replica_epoch) != (-1, -1);
    writer.tag_count(usize::from(has_replica));
    if has_replica {
        writer.tag(1, |writer| {
            writer.i32(request.replica_id);
            writer.i64(request.replica_epoch);
            writer.no_tags();
        });
    }
    out
}

fn write_partition(writer: &mut Writer<'_>, version: i16, partition: &FetchPartition) {
    writer.i32(partition.index);
    if version >= 9 {
        writer.i32(partition.current_leader_epoch);
    }
    writer.i64(partition.fetch_offset);
    if version >= 12 {
        writer.i32(partition.last_fetched_epoch);
    }
    if version >= 5 {
        writer.i64(partition.log_start_offset);
    }
    writer.i32(partition.max_bytes);
    let (has_directory, has_watermark) = (version >= 17, version >= 18);
    writer.tag_count(usize::from(has_directory) + usize::from(has_watermark));
    if has_directory {
        writer.tag(0, |writer| writer.raw(&partition.replica_directory_id));
    }
    if has_watermark {
        writer.tag(1, |writer| writer.i64(partition.high_watermark));
    }
}

/// What a leader answers to a follower.
pub fn fetch_response(data: &[u8]) {
    let Ok(response) = decode_response(data) else { return };
    assert!(response.partitions.capacity() <= 4 + 2 * data.len());
    let mut before = 0;
    for partition in &response.partitions {
        if !partition.records.is_empty() {
            assert!(before <= partition.records.start, "records of two partitions overlap");
            before = partition.records.end;
        }
    }
    let again = encode_response(data, &response);
    let same = |one: &FollowerResponse, body: &[u8]| -> Vec<Vec<u8>> {
        let records = one
            .partitions
            .iter()
            .map(|partition| body[partition.records.clone()].to_vec());
        records.collect()
    };
    let Ok(read) = decode_response(&again) else {
        unreachable!("the answer that was read is no answer")
    };
    assert_eq!(same(&read, &again), same(&response, data));
    assert_eq!((read.error, read.session_id), (response.error, response.session_id));
    for (one, other) in read.partitions.iter().zip(&response.partitions) {
        let rest = |row: &protocol::fetch::follower::FollowerFetched| {
            let places = (row.topic_id, row.index, row.error);
            (places, row.high_watermark, row.log_start_offset, row.diverging_epoch)
        };
        assert_eq!(rest(one), rest(other));
    }
}

/// Each partition in a topic entry of its own.
fn encode_response(body: &[u8], response: &FollowerResponse) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, true);
    writer.i32(0);
    writer.i16(response.error.0);
    writer.i32(response.session_id);
    writer.length(Some(response.partitions.len()));
    for row in &response.partitions {
        writer.raw(&row.topic_id);
        writer.length(Some(1));
        writer.i32(row.index);
        writer.i16(row.error.0);
        for offset in [row.high_watermark, 0, row.log_start_offset] {
            writer.i64(offset);
        }
        writer.length(None);
        writer.i32(-1);
        writer.length(Some(row.records.len()));
        writer.raw(&body[row.records.clone()]);
        writer.tag_count(usize::from(row.diverging_epoch.is_some()));
        if let Some((epoch, end_offset)) = row.diverging_epoch {
            writer.tag(0, |writer| {
                writer.i32(epoch);
                writer.i64(end_offset);
                writer.no_tags();
            });
        }
        writer.no_tags();
    }
    writer.no_tags();
    out
}
