//! SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding: both ends prove that they know one secret, and neither
//! sends it.
//!
//! ```text
//! client-first  n,,n=USER,r=NONCE                   bare: without "n,,"
//! server-first  r=NONCE+MORE,s=SALT,i=ITERATIONS
//! client-final  c=biws,r=NONCE+MORE,p=PROOF          without proof: up to ",p="
//! server-final  v=SIGNATURE
//! ```
//! SALT, PROOF and SIGNATURE are base64. The messages are bound together by their text: bare, server-first and
//! client-final without proof, separated by commas. State without I/O: the caller brings nonces and salts, and carries
//! the messages.

pub mod client;
pub mod server;

use std::fmt;
use std::sync::Arc;

/// The mechanism by which brokers prove the secret that they share.
pub const MECHANISM: &str = server::ScramMechanism::Sha256.name();
/// The user whose password is the secret: all brokers of a cluster are one user.
pub const USER: &str = "broker";
/// Longest message that is read.
pub const MAX_MESSAGE_BYTES: usize = 1024;

/// Why a proof is refused; the reason contains no part of the peer's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub &'static str);

/// The secret that the brokers share, or a password. Its text is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The secret from the text of its file.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text, to be hashed or sent.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

fn text(message: &[u8]) -> Result<&str, Refused> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(Refused("its message is too long"));
    }
    std::str::from_utf8(message).map_err(|_| Refused("its message is no text"))
}

fn field<'a>(part: Option<&'a str>, prefix: &str) -> Result<&'a str, Refused> {
    part.and_then(|part| part.strip_prefix(prefix))
        .ok_or(Refused("its message lacks a field"))
}

#[cfg(test)]
mod tests;
