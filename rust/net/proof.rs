//! Which connections may act as a broker: decided when a connection is accepted, and again when its client proves the
//! secret of the brokers.
//!
//! A connection may fetch as a follower and send inter-broker requests when it was accepted on
//! `inter.broker.listener.name` and
//! A. the brokers have no secret, or it is not required yet; or
//! B. `SaslHandshake` and two `SaslAuthenticate` have proven that its client knows the secret, and to the client that
//!    we do.
//! All other requests on that listener are served as on any other listener.
//!
//! A handshake is answered with `ILLEGAL_SASL_STATE` when there is nothing to prove; a wrong mechanism or a failed
//! proof closes the connection. The verifier is made once: an attempt costs a few hashes, not 4096.

use std::io;
use std::sync::Arc;

use super::connection::Connection;
use super::dispatch::answer;
use super::operations::Framing;
use crate::broker::{Broker, ClientInfo, Options, UNRESOLVED};
use crate::error::ErrorCode;
use crate::wire::scram::{MECHANISM, Refused, ServerExchange, Verifier};
use crate::wire::{WireError, sasl};

/// Random bytes of a salt and of a nonce.
const RANDOM_BYTES: usize = 18;

/// The broker's side of the proof: the listener of the brokers, the verifier of their secret, and whether the proof is
/// required.
pub struct Proof {
    listener: String,
    verifier: Option<Verifier>,
    is_required: bool,
}

/// How far a connection is with its proof.
#[derive(Default)]
pub enum Stage {
    /// No handshake was sent, or the proof is done.
    #[default]
    Idle,
    /// The mechanism was agreed on.
    Agreed,
    /// The client has to answer the server's first message.
    Challenged(ServerExchange),
}

impl Proof {
    /// From this broker's configuration.
    pub fn new(options: &Options) -> io::Result<Self> {
        let verifier = match &options.inter_broker_secret {
            Some(secret) => Some(Verifier::new(secret, &random()?)),
            None => None,
        };
        Ok(Self {
            listener: options.inter_broker_listener.clone(),
            verifier,
            is_required: options.is_inter_broker_secret_required,
        })
    }

    /// Whether connections of this listener may act as a broker without a proof: case A of the module's header.
    pub fn trusts(&self, listener: &str) -> bool {
        listener == self.listener && (self.verifier.is_none() || !self.is_required)
    }

    /// Whether brokers have a secret to prove.
    pub fn is_asked_for(&self) -> bool {
        self.verifier.is_some()
    }

    /// Answers `SaslHandshake`.
    pub fn handshake(&self, body: &[u8], framing: Framing, connection: &mut Connection) -> Result<(), WireError> {
        let mechanism = sasl::decode_handshake(body)?;
        let code = match self.verifier_for(connection) {
            Some(_) if mechanism == MECHANISM => ErrorCode::NONE,
            Some(_) => ErrorCode::UNSUPPORTED_SASL_MECHANISM,
            None => ErrorCode::ILLEGAL_SASL_STATE,
        };
        let mechanisms: &[&str] = if code == ErrorCode::ILLEGAL_SASL_STATE {
            &[]
        } else {
            &[MECHANISM]
        };
        if code == ErrorCode::NONE {
            connection.proof = Stage::Agreed;
        }
        answer(connection, framing, |out| {
            sasl::encode_handshake_response(out, code, mechanisms);
        });
        connection.is_closing |= code == ErrorCode::UNSUPPORTED_SASL_MECHANISM;
        Ok(())
    }

    /// Answers `SaslAuthenticate`; after a correct last message the connection may act as a broker (case B).
    pub fn authenticate(
        &self,
        version: i16,
        body: &[u8],
        framing: Framing,
        connection: &mut Connection,
        broker: &Broker,
    ) -> Result<(), WireError> {
        let token = sasl::decode_token(version, body)?;
        let stage = std::mem::take(&mut connection.proof);
        let outcome = match (self.verifier_for(connection), stage) {
            (Some(verifier), Stage::Agreed) => challenge(verifier, &body[token]).map(|(exchange, message)| {
                connection.proof = Stage::Challenged(exchange);
                message
            }),
            (Some(verifier), Stage::Challenged(exchange)) => {
                exchange.finish(verifier, &body[token]).inspect(|_| admit(connection))
            }
            _ => {
                let message = Some("There is no handshake that this could belong to");
                answer(connection, framing, |out| {
                    sasl::encode_token_response(version, out, (ErrorCode::ILLEGAL_SASL_STATE, message), &[], 0);
                });
                return Ok(());
            }
        };
        match outcome {
            Ok(message) => answer(connection, framing, |out| {
                sasl::encode_token_response(version, out, (ErrorCode::NONE, None), message.as_bytes(), 0);
            }),
            Err(reason) => {
                let client = &connection.client;
                broker.log(&format!(
                    "{} on {} has not proven to be a broker: {reason}",
                    client.host, client.listener
                ));
                // the client gets no more details than this message
                let message = Some("Authentication failed: the secret of the brokers was not proven");
                answer(connection, framing, |out| {
                    sasl::encode_token_response(version, out, (ErrorCode::SASL_AUTHENTICATION_FAILED, message), &[], 0);
                });
                connection.is_closing = true;
            }
        }
        Ok(())
    }

    fn verifier_for(&self, connection: &Connection) -> Option<&Verifier> {
        let is_here = *connection.client.listener == *self.listener;
        self.verifier.as_ref().filter(|_| is_here)
    }
}

fn challenge(verifier: &Verifier, client_first: &[u8]) -> Result<(ServerExchange, String), Refused> {
    let nonce = nonce().map_err(|_| Refused("the system has no random bytes for us"))?;
    ServerExchange::begin(verifier, client_first, &nonce)
}

fn admit(connection: &mut Connection) {
    let known = ClientInfo::clone(&connection.client);
    connection.client = Arc::new(ClientInfo {
        is_broker: true,
        ..known
    });
    connection.quota_generation = UNRESOLVED;
}

fn random() -> io::Result<[u8; RANDOM_BYTES]> {
    let mut bytes = [0; RANDOM_BYTES];
    let found = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    if found < RANDOM_BYTES {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

/// Random letters and digits.
pub fn nonce() -> io::Result<String> {
    use std::fmt::Write;

    let mut text = String::with_capacity(2 * RANDOM_BYTES);
    for byte in random()? {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
