//! `SaslHandshake` 0 and 1 and `SaslAuthenticate` 0 to 2: the frames in which client and server prove who they are.
//!
//! ```text
//! handshake request       mechanism string
//! handshake response      error int16 | mechanisms [string]
//! authenticate request    token bytes | tags from 2
//! authenticate response   error int16 | message nullable string | token bytes | lifetime int64, ms, from 1
//!                         | tags from 2
//! ```

use std::ops::Range;

use super::error::WireError;
use super::reader::Reader;
use super::writer::Writer;
use base::error::ErrorCode;

/// The version of `SaslHandshake` that brokers send; after version 0, tokens come without frames.
pub const HANDSHAKE_VERSION: i16 = 1;
/// The version of `SaslAuthenticate` that brokers send.
pub const AUTHENTICATE_VERSION: i16 = 1;
/// The first version of `SaslAuthenticate` with tagged fields.
const FLEXIBLE_FROM: i16 = 2;

/// Decodes the requested mechanism.
pub fn decode_handshake(body: &[u8]) -> Result<&str, WireError> {
    Reader::new(body, false).str()
}

/// Encodes a request for a mechanism.
pub fn encode_handshake(out: &mut Vec<u8>, mechanism: &str) {
    Writer::new(out, false).string(mechanism);
}

/// Encodes the response: the error code and the supported mechanisms.
pub fn encode_handshake_response(out: &mut Vec<u8>, code: ErrorCode, mechanisms: &[&str]) {
    let mut writer = Writer::new(out, false);
    writer.i16(code.0);
    writer.length(Some(mechanisms.len()));
    for mechanism in mechanisms {
        writer.string(mechanism);
    }
}

/// Decodes the error code of a handshake's response.
pub fn decode_handshake_response(body: &[u8]) -> Result<ErrorCode, WireError> {
    Reader::new(body, false).i16().map(ErrorCode)
}

/// The position of the token in the body.
pub fn decode_token(version: i16, body: &[u8]) -> Result<Range<usize>, WireError> {
    let token = Reader::new(body, version >= FLEXIBLE_FROM).nullable_bytes()?;
    token.ok_or(WireError::UnexpectedNull)
}

/// A request of [`AUTHENTICATE_VERSION`].
pub fn encode_token(out: &mut Vec<u8>, token: &[u8]) {
    let mut writer = Writer::new(out, false);
    writer.length(Some(token.len()));
    writer.raw(token);
}

/// Encodes the response, with the next token or the reason why there is none.
/// `lifetime_ms`: of the session; 0 for no end.
pub fn encode_token_response(
    version: i16,
    out: &mut Vec<u8>,
    (code, message): (ErrorCode, Option<&str>),
    token: &[u8],
    lifetime_ms: i64,
) {
    let mut writer = Writer::new(out, version >= FLEXIBLE_FROM);
    writer.i16(code.0);
    writer.nullable_string(message);
    writer.length(Some(token.len()));
    writer.raw(token);
    if version >= 1 {
        writer.i64(lifetime_ms);
    }
    writer.no_tags();
}

/// The response to a request of [`AUTHENTICATE_VERSION`].
#[derive(Debug)]
pub struct TokenResponse<'a> {
    /// Whether the token was taken.
    pub code: ErrorCode,
    /// What went wrong, if something did.
    pub message: Option<&'a str>,
    /// The position of the other end's token in the body.
    pub token: Range<usize>,
    /// How long the session lasts; 0 for no end.
    pub lifetime_ms: i64,
}

/// Decodes the response to a request of [`AUTHENTICATE_VERSION`].
pub fn decode_token_response(body: &[u8]) -> Result<TokenResponse<'_>, WireError> {
    let mut reader = Reader::new(body, false);
    Ok(TokenResponse {
        code: ErrorCode(reader.i16()?),
        message: reader.nullable_str()?,
        token: reader.nullable_bytes()?.unwrap_or_default(),
        lifetime_ms: reader.i64()?,
    })
}
