//! The other requests of the data plane, and what brokers answer each other.

use std::fmt::Debug;

use protocol::list_offsets::decode_follower_response;
use protocol::messages::Message;
use protocol::messages::add_offsets_to_txn::AddOffsetsToTxnRequest;
use protocol::messages::add_partitions_to_txn::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
use protocol::messages::adopt_segments::AdoptSegmentsRequest;
use protocol::messages::end_txn::EndTxnRequest;
use protocol::messages::find_coordinator::FindCoordinatorRequest;
use protocol::messages::heartbeat::HeartbeatRequest;
use protocol::messages::init_producer_id::InitProducerIdRequest;
use protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use protocol::messages::write_txn_markers::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use protocol::{
    ApiVersionsRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest,
    TxnOffsetCommitRequest, WireError,
};

/// An API, a version and a body.
pub fn requests(data: &[u8]) {
    let [api, version, body @ ..] = data else { return };
    let version = i16::from(*version as i8);
    match api % 18 {
        0 => reused(version, body, ListOffsetsRequest::decode),
        1 => reused(version, body, MetadataRequest::decode),
        2 => reused(version, body, OffsetCommitRequest::decode),
        3 => reused(version, body, OffsetFetchRequest::decode),
        4 => reused(version, body, TxnOffsetCommitRequest::decode),
        5 => bounded(body, AddPartitionsToTxnRequest::decode(version, body)),
        6 => bounded(body, WriteTxnMarkersRequest::decode(version, body)),
        7 => bounded(body, AddOffsetsToTxnRequest::decode(version, body)),
        8 => bounded(body, EndTxnRequest::decode(version, body)),
        9 => bounded(body, FindCoordinatorRequest::decode(version, body)),
        10 => bounded(body, HeartbeatRequest::decode(version, body)),
        11 => bounded(body, InitProducerIdRequest::decode(version, body)),
        12 => bounded(body, AdoptSegmentsRequest::decode(version, body)),
        13 => bounded(body, ApiVersionsRequest::decode(version, body)),
        14 => bounded(body, AddPartitionsToTxnResponse::decode(version, body)),
        15 => bounded(body, WriteTxnMarkersResponse::decode(version, body)),
        16 => bounded(body, decode_follower_response(body)),
        _ => {
            bounded(body, SaslHandshakeRequest::decode(version, body));
            bounded(body, SaslHandshakeResponse::decode(version, body));
            bounded(body, SaslAuthenticateRequest::decode(version, body));
            bounded(body, SaslAuthenticateResponse::decode(version, body));
        }
    }
}

/// A request that reuses its vectors gives the same values whatever it held before.
fn reused<T: Default + Clone + PartialEq + Debug>(
    version: i16,
    body: &[u8],
    decode: impl Fn(&mut T, i16, &[u8]) -> Result<(), WireError>,
) {
    let mut fresh = T::default();
    let is_good = decode(&mut fresh, version, body);
    let mut used = T::default();
    for other in [version.wrapping_add(1), version.wrapping_sub(1)] {
        let _ = decode(&mut used, other, body);
    }
    assert_eq!(decode(&mut used, version, body), is_good);
    if is_good.is_ok() {
        assert_eq!(used, fresh);
        bounded(body, Ok::<_, WireError>(fresh));
    }
}

/// What was decoded is no longer, in words, than the body allows: no count in it is believed.
fn bounded<T: Debug, E>(body: &[u8], decoded: Result<T, E>) {
    /// Characters of a value's debug text for each byte of the body.
    const CHARACTERS: usize = 400;
    if let Ok(value) = decoded {
        let text = format!("{value:?}");
        assert!(text.len() <= 2_000 + CHARACTERS * body.len());
    }
}
