//! A request as it is sent, and the place of the answer's body.

use protocol::messages::Message;
use protocol::{Reader, WireError};

/// A request of one version, written.
#[derive(Debug, Clone)]
pub struct Request {
    pub(crate) api_key: i16,
    pub(crate) api_version: i16,
    /// Whether the headers of this version have tagged fields (KIP-482); `ApiVersions` is not asked here.
    pub(crate) is_flexible: bool,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Writes a message.
    pub fn of<'a, M: Message<'a>>(api_version: i16, message: &M) -> Self {
        let mut body = Vec::new();
        message.encode(&mut body, api_version);
        Self {
            api_key: M::KEY,
            api_version,
            is_flexible: api_version >= M::FLEXIBLE_FROM,
            body,
        }
    }

    /// Where the body begins in an answer without its size.
    pub fn body_at(&self, answer: &[u8]) -> Result<usize, WireError> {
        let mut reader = Reader::new(answer, self.is_flexible);
        reader.i32()?; // correlation id
        reader.skip_tags()?;
        Ok(reader.position())
    }
}
