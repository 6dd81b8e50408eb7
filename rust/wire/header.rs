//! Request and response headers.
//!
//! ```text
//! request  := api_key:i16 api_version:i16 correlation_id:i32 client_id:nullable_string (v2, flexible: tags)
//! response := correlation_id:i32 (v1, flexible: tags)
//! ```
//! `client_id` has an int16 length in every version. `ApiVersions` responses have no tags in any version: a client
//! reads them before it knows what the broker speaks.

use super::error::WireError;
use super::reader::Reader;

/// The header of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// Which API.
    pub api_key: i16,
    /// Which version of it.
    pub api_version: i16,
    /// Comes back in the response.
    pub correlation_id: i32,
    /// The client's name for itself.
    pub client_id: Option<&'a str>,
    /// Where the body starts in the frame.
    pub body_at: usize,
}

impl<'a> RequestHeader<'a> {
    /// Parses the header at the start of a frame (without its length prefix). `flexible(api_key, api_version)` tells
    /// whether that version has tagged fields; it is asked before the rest is read, also for unknown keys.
    pub fn parse(frame: &'a [u8], flexible: impl Fn(i16, i16) -> bool) -> Result<Self, WireError> {
        let mut reader = Reader::new(frame, false);
        let [k0, k1, v0, v1, correlation_id @ ..] = reader.array::<8>()?;
        let (api_key, api_version) = (i16::from_be_bytes([k0, k1]), i16::from_be_bytes([v0, v1]));
        let correlation_id = i32::from_be_bytes(correlation_id);
        let client_id = reader.nullable_str()?;
        reader.set_flexible(flexible(api_key, api_version));
        reader.skip_tags()?;
        Ok(Self {
            api_key,
            api_version,
            correlation_id,
            client_id,
            body_at: reader.position(),
        })
    }
}

/// Appends a response header; `flexible` as for the request, but false for `ApiVersions` in every version.
#[inline]
pub fn write_response_header(out: &mut Vec<u8>, correlation_id: i32, flexible: bool) {
    out.extend_from_slice(&correlation_id.to_be_bytes());
    if flexible {
        out.push(0);
    }
}

#[cfg(test)]
mod tests;
