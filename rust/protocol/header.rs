//! Request and response headers.
//!
//! ```text
//! request  := api_key:i16 api_version:i16 correlation_id:i32 client_id:nullable_string (v2, flexible: tags)
//! response := correlation_id:i32 (v1, flexible: tags)
//! ```
//! `client_id` has an int16 length in every version. `ApiVersions` responses have no tags in any version: a client
//! reads them before it knows the versions of the broker.

use super::error::WireError;
use super::reader::Reader;

/// The header of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// The API's key.
    pub api_key: i16,
    /// The API's version.
    pub api_version: i16,
    /// The response has the same id.
    pub correlation_id: i32,
    /// The client's name for itself.
    pub client_id: Option<&'a str>,
    /// Where the body starts in the frame.
    pub body_at: usize,
}

impl<'a> RequestHeader<'a> {
    /// Parses the header at the start of a frame (without its length prefix). `flexible(api_key, api_version)` tells
    /// whether that version has tagged fields; it is called before the rest of the header is read, also for unknown
    /// keys.
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

/// Appends a request as a broker sends it to another: its length, the header (version 2 when it is flexible, else 1)
/// and the body.
pub fn write_request(
    out: &mut Vec<u8>,
    (api_key, api_version): (i16, i16),
    correlation_id: i32,
    client_id: &str,
    flexible: bool,
    body: &[u8],
) {
    let length = 2 + 2 + 4 + 2 + client_id.len() + usize::from(flexible) + body.len();
    out.extend_from_slice(&(length as i32).to_be_bytes());
    out.extend_from_slice(&api_key.to_be_bytes());
    out.extend_from_slice(&api_version.to_be_bytes());
    out.extend_from_slice(&correlation_id.to_be_bytes());
    out.extend_from_slice(&(client_id.len() as i16).to_be_bytes());
    out.extend_from_slice(client_id.as_bytes());
    if flexible {
        out.push(0); // no tagged fields
    }
    out.extend_from_slice(body);
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
