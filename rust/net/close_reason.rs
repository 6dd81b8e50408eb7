//! Why a connection ends.

use protocol::WireError;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum CloseReason {
    /// The client closed the connection, or the network failed.
    #[error("the client closed it")]
    ByPeer,
    /// A frame size that no request can have.
    #[error("invalid request size {0}{stranger}", stranger = stranger(*.0))]
    FrameSize(i32),
    /// The bytes are not a request.
    #[error("malformed request with api key {0} version {1}: {2}")]
    Malformed(i16, i16, WireError),
    /// An API or version that is not served.
    #[error("unsupported request: api key {0} version {1}")]
    Unsupported(i16, i16),
    /// A request of a client that has not proven who it is, or whose proof has expired.
    #[error("the client has to authenticate before a request with api key {0}")]
    Unproven(i16),
    /// An acks=0 produce failed; there is no other way to tell the client.
    #[error("a produce with acks=0 failed")]
    SilentFailure,
}

/// Names the protocol of a client that does not speak Kafka's.
fn stranger(size: i32) -> String {
    protocol::stranger(size.to_be_bytes())
        .map(|protocol| format!(": the client speaks {protocol}, which this listener does not"))
        .unwrap_or_default()
}
