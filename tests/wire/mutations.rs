//! Bytes that nobody should send: nothing panics, and nothing is reserved by a count that the bytes do not back.

use proptest::prelude::*;
use protocol::messages::Message;
use protocol::messages::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
use protocol::messages::write_txn_markers::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use protocol::{
    ApiVersionsRequest, FetchRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest, ProduceRequest,
    RequestHeader, TxnOffsetCommitRequest,
};

use crate::fixtures::bodies;

const TRANSACTION_APIS: [&str; 3] = ["add_partitions_to_txn", "txn_offset_commit", "write_txn_markers"];

/// Decodes as every API; returns the most elements that were reserved.
fn decode_as_all(version: i16, bytes: &[u8]) -> usize {
    let mut produce = ProduceRequest::default();
    let mut fetch = FetchRequest::default();
    let mut offsets = ListOffsetsRequest::default();
    let mut metadata = MetadataRequest::default();
    let _ = produce.decode(version, bytes);
    let _ = fetch.decode(version, bytes);
    let _ = offsets.decode(version, bytes);
    let _ = metadata.decode(version, bytes);
    let _ = ApiVersionsRequest::decode(version, bytes).map(|request| request.is_valid(bytes));
    let _ = RequestHeader::parse(bytes, |_, version| version % 2 == 0);
    let mut offset_commit = OffsetCommitRequest::default();
    let _ = offset_commit.decode(version, bytes);
    let reserved = [
        produce.partitions.capacity(),
        fetch.partitions.capacity(),
        fetch.forgotten.capacity(),
        offsets.partitions.capacity(),
        metadata.topics.capacity(),
        offset_commit.topics.capacity(),
        offset_commit.partitions.capacity(),
        decode_as_transactions(version, bytes),
    ];
    reserved.into_iter().max().unwrap_or(0)
}

/// Decodes as every API of transactions; returns the most elements that were reserved.
fn decode_as_transactions(version: i16, bytes: &[u8]) -> usize {
    let add_partitions = AddPartitionsToTxnRequest::decode(version, bytes).map_or(0, |request| {
        let of_each = request
            .transactions
            .iter()
            .map(|transaction| transaction.topics.capacity());
        of_each.sum::<usize>().max(request.v3_and_below_topics.capacity())
    });
    let markers = WriteTxnMarkersRequest::decode(version, bytes).map_or(0, |request| {
        let of_each = request.markers.iter().map(|marker| marker.topics.capacity());
        of_each.sum::<usize>().max(request.markers.capacity())
    });
    let added = AddPartitionsToTxnResponse::decode(version, bytes);
    let added = added.map_or(0, |response| response.results_by_transaction.capacity());
    let written = WriteTxnMarkersResponse::decode(version, bytes).map_or(0, |response| response.markers.capacity());
    let mut commit = TxnOffsetCommitRequest::default();
    let _ = commit.decode(version, bytes);
    let committed = commit.topics.capacity().max(commit.partitions.capacity());
    [add_partitions, markers, added, written, committed]
        .into_iter()
        .max()
        .unwrap_or(0)
}

#[test]
fn counts_larger_than_the_bytes_reserve_nothing() {
    let huge: [&[u8]; 3] = [
        &[0x7f, 0xff, 0xff, 0xff],
        &[0xff, 0xff, 0xff, 0xff, 0x0f],
        &[0xff, 0xff, 0xff, 0xff, 0x07],
    ];
    for api in ["produce", "fetch", "list_offsets", "metadata", "api_versions"]
        .into_iter()
        .chain(TRANSACTION_APIS)
    {
        for body in bodies(api, "request") {
            for at in 0..body.bytes.len() {
                for count in huge {
                    let mut bytes = body.bytes.clone();
                    let end = bytes.len().min(at + count.len());
                    bytes.splice(at..end, count.iter().copied());
                    let reserved = decode_as_all(body.version, &bytes);
                    assert!(
                        reserved <= 2 * bytes.len(),
                        "{api} v{} at {at}: {reserved}",
                        body.version
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(version in -2_i16..20, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(decode_as_all(version, &bytes) <= 2 * bytes.len());
    }

    #[test]
    fn bodies_with_bytes_changed_never_panic(
        pick in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let requests: Vec<_> = ["produce", "fetch", "list_offsets", "metadata"]
            .into_iter().chain(TRANSACTION_APIS).flat_map(|api| bodies(api, "request")).collect();
        let body = pick.get(&requests);
        let mut bytes = body.bytes.clone();
        for (at, value) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
        }
        prop_assert!(decode_as_all(body.version, &bytes) <= 2 * bytes.len());
    }
}
