//! Answers of brokers about topic `t`, whose partition 0 a broker of this machine leads.

use base::error::ErrorCode;
use protocol::messages::Message;
use protocol::messages::fetch::{FetchResponse, FetchableTopicResponse, PartitionData};
use protocol::messages::list_offsets::{ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse};
use protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use protocol::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};

pub const NODE: i32 = 7;

fn body<'a>(message: &impl Message<'a>, version: i16) -> Vec<u8> {
    let mut body = Vec::new();
    message.encode(&mut body, version);
    body
}

pub fn metadata(port: u16, topic_error: i16, leader: i32, leader_epoch: i32) -> Vec<u8> {
    let broker = MetadataResponseBroker {
        node_id: NODE,
        host: "127.0.0.1",
        port: i32::from(port),
        rack: None,
    };
    let partition = MetadataResponsePartition {
        leader_id: leader,
        leader_epoch,
        replica_nodes: vec![NODE],
        isr_nodes: vec![NODE],
        ..Default::default()
    };
    let answer = MetadataResponse {
        brokers: vec![broker],
        topics: vec![MetadataResponseTopic {
            error_code: ErrorCode(topic_error),
            name: "t",
            partitions: vec![partition],
            ..Default::default()
        }],
        ..Default::default()
    };
    body(&answer, 7)
}

pub fn offset(error: i16, offset: i64) -> Vec<u8> {
    let partition = ListOffsetsPartitionResponse {
        error_code: ErrorCode(error),
        offset,
        ..Default::default()
    };
    let answer = ListOffsetsResponse {
        topics: vec![ListOffsetsTopicResponse {
            name: "t",
            partitions: vec![partition],
        }],
        ..Default::default()
    };
    body(&answer, 2)
}

pub fn epoch_end(end_offset: i64) -> Vec<u8> {
    let partition = EpochEndOffset {
        leader_epoch: 0,
        end_offset,
        ..Default::default()
    };
    let answer = OffsetForLeaderEpochResponse {
        topics: vec![OffsetForLeaderTopicResult {
            topic: "t",
            partitions: vec![partition],
        }],
        ..Default::default()
    };
    body(&answer, 2)
}

pub fn fetched(error: i16, records: &[u8]) -> Vec<u8> {
    let partition = PartitionData {
        error_code: ErrorCode(error),
        high_watermark: 100,
        last_stable_offset: 100,
        log_start_offset: 0,
        records: Some(records),
        ..Default::default()
    };
    let answer = FetchResponse {
        responses: vec![FetchableTopicResponse {
            topic: "t",
            partitions: vec![partition],
        }],
        ..Default::default()
    };
    body(&answer, 11)
}
