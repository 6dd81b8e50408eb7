//! How a follower proves to a leader that it is a broker, and checks the leader's proof of the same: once for each
//! connection.

use std::io::{self, ErrorKind};

use super::proof::nonce;
use crate::error::ErrorCode;
use crate::wire::scram::{ClientExchange, ClientKeys, MECHANISM, Refused};
use crate::wire::{ApiTable, WireError, sasl};

/// Why a connection cannot be used.
pub enum Unproven {
    /// The leader has no secret to prove, or does not serve the proof.
    NotServed(io::Error),
    /// The proof failed, or the connection did.
    Failed(io::Error),
}

impl From<Unproven> for io::Error {
    fn from(unproven: Unproven) -> Self {
        match unproven {
            Unproven::NotServed(error) | Unproven::Failed(error) => error,
        }
    }
}

impl From<WireError> for Unproven {
    fn from(error: WireError) -> Self {
        Self::Failed(io::Error::new(ErrorKind::InvalidData, error))
    }
}

impl From<Refused> for Unproven {
    fn from(reason: Refused) -> Self {
        Self::Failed(denied(&format!("it has not proven to be a broker: {reason}")))
    }
}

impl From<io::Error> for Unproven {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Proves this broker to a leader and checks the leader's proof. `ask(api key, version, request body)` gives the
/// response's body.
pub fn prove(
    keys: &mut ClientKeys,
    mut ask: impl FnMut(i16, i16, &[u8]) -> io::Result<Vec<u8>>,
) -> Result<(), Unproven> {
    let mut request = Vec::new();
    sasl::encode_handshake(&mut request, MECHANISM);
    let answer = ask(ApiTable::SASL_HANDSHAKE, sasl::HANDSHAKE_VERSION, &request).map_err(Unproven::NotServed)?;
    let code = sasl::decode_handshake_response(&answer)?;
    if code != ErrorCode::NONE {
        let message = format!("it does not take the proof that this is a broker (error {})", code.0);
        return Err(Unproven::NotServed(denied(&message)));
    }
    let exchange = ClientExchange::new(nonce()?);
    let answer = token(&mut ask, exchange.first().as_bytes())?;
    let (client_final, expected) = exchange.reply(&answer, keys)?;
    let answer = token(&mut ask, client_final.as_bytes())?;
    Ok(expected.check(&answer)?)
}

fn token(ask: &mut impl FnMut(i16, i16, &[u8]) -> io::Result<Vec<u8>>, ours: &[u8]) -> Result<Vec<u8>, Unproven> {
    let mut request = Vec::new();
    sasl::encode_token(&mut request, ours);
    let answer = ask(ApiTable::SASL_AUTHENTICATE, sasl::AUTHENTICATE_VERSION, &request)?;
    let (code, message, theirs) = sasl::decode_token_response(&answer)?;
    if code != ErrorCode::NONE {
        let message = message.unwrap_or("the proof was refused");
        return Err(Unproven::Failed(denied(message)));
    }
    Ok(answer[theirs].to_vec())
}

fn denied(message: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, message)
}
