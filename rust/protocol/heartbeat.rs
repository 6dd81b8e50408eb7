//! `Heartbeat`, versions 0 to 4.
//!
//! ```text
//! request  := group_id:string generation_id:i32 member_id:string (v3+: group_instance_id:nullable) tags
//! response := (v1+: throttle_time_ms:i32) error:i16 tags
//! ```
//! Lengths are compact and tags are there from version 4 on.

use base::error::ErrorCode;

use super::error::WireError;
use super::reader::Reader;
use super::writer::Writer;

/// The last version; the first is 0.
pub const MAX_VERSION: i16 = 4;
const THROTTLE_FROM: i16 = 1;
const INSTANCE_FROM: i16 = 3;
const FLEXIBLE_FROM: i16 = 4;

/// A decoded `Heartbeat` request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeartbeatRequest<'a> {
    /// The group.
    pub group_id: &'a str,
    /// The generation that the member is in.
    pub generation_id: i32,
    /// The member.
    pub member_id: &'a str,
    /// The instance id of a static member; none before version 3.
    pub group_instance_id: Option<&'a str>,
}

impl<'a> HeartbeatRequest<'a> {
    /// Decodes a body.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<Self, WireError> {
        if !(0..=MAX_VERSION).contains(&version) {
            return Err(WireError::UnsupportedVersion);
        }
        let mut reader = Reader::new(body, version >= FLEXIBLE_FROM);
        let request = Self {
            group_id: reader.str()?,
            generation_id: reader.i32()?,
            member_id: reader.str()?,
            group_instance_id: if version >= INSTANCE_FROM {
                reader.nullable_str()?
            } else {
                None
            },
        };
        reader.skip_tags()?;
        Ok(request)
    }
}

/// Appends a response body.
pub fn encode_heartbeat_response(out: &mut Vec<u8>, version: i16, error: ErrorCode, throttle_time_ms: i32) {
    let mut w = Writer::new(out, version >= FLEXIBLE_FROM);
    if version >= THROTTLE_FROM {
        w.i32(throttle_time_ms);
    }
    w.i16(error.0);
    w.no_tags();
}

#[cfg(test)]
#[path = "heartbeat_tests.rs"]
mod tests;
