//! Which connections may act as a broker: decided when a connection is accepted, and again when its client proves who
//! it is.
//!
//! A connection may fetch as a follower and send inter-broker requests when it was accepted on
//! `inter.broker.listener.name` and
//! A. brokers have nothing to prove there, or their secret is not required yet; or
//! B. `SaslHandshake` and two `SaslAuthenticate` have proven that its client knows the secret, and to the client that
//!    we do; or
//! C. each client of the listener proves who it is, by SASL or by its certificate, and it is the user that this broker
//!    is to others, or a super user. No ACL makes a client a broker.
//! All other requests on that listener are served as on any other listener. A broker that is alone, without a metadata
//! store that others share, gives itself its orders without a connection: no client of it is a broker.
//!
//! A handshake for the secret is answered with `ILLEGAL_SASL_STATE` when there is no secret; a wrong mechanism or a
//! failed proof closes the connection. The verifier is made once: an attempt costs a few hashes, not 4096.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use super::connection::Connection;
use super::dispatch::answer;
use super::operations::Framing;
use base::error::ErrorCode;
use broker::{Broker, ClientInfo, Options, UNRESOLVED};
use client::{nonce, random};
use protocol::scram::server::{ClientFirst, ScramCredential, ScramExchange, ScramMechanism};
use protocol::scram::{MECHANISM, Refused, USER};
use protocol::{WireError, sasl};

/// The principals that are brokers in case C: `User:kafka`.
pub type BrokerUsers = HashSet<String>;

/// The broker's side of the proof, on the listener of the brokers.
pub struct Proof {
    listener: String,
    by: By,
}

/// What tells a broker from a client.
enum By {
    /// There is no other broker: every client is a client.
    NoBrokers,
    /// Nothing: case A.
    Nothing,
    /// Case B; case A while it is not required.
    Secret {
        verifier: ScramCredential,
        is_required: bool,
    },
    /// Case C.
    Principal(BrokerUsers),
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
    Challenged(Box<ScramExchange>),
}

impl Proof {
    /// From this broker's configuration. `users`: who is a broker, where each client of the listener proves who it is.
    pub fn new(options: &Options, users: Option<BrokerUsers>) -> io::Result<Self> {
        let by = match (users, &options.inter_broker_secret) {
            (Some(users), _) => By::Principal(users),
            (None, Some(secret)) => By::Secret {
                verifier: ScramCredential::of_password(ScramMechanism::Sha256, secret.expose(), random()?.to_vec()),
                is_required: options.is_inter_broker_secret_required,
            },
            (None, None) if options.is_alone => By::NoBrokers,
            (None, None) => By::Nothing,
        };
        Ok(Self {
            listener: options.inter_broker_listener.clone(),
            by,
        })
    }

    /// Whether a client of this listener may act as a broker before it has proven anything more than its principal;
    /// `None` stands for a client that has to prove it first.
    pub fn trusts(&self, listener: &str, principal: Option<&str>) -> bool {
        listener == self.listener
            && match &self.by {
                By::NoBrokers => false,
                By::Nothing => true,
                By::Secret { is_required, .. } => !is_required,
                By::Principal(users) => principal.is_some_and(|principal| users.contains(principal)),
            }
    }

    /// Whether brokers have something to prove.
    pub fn is_asked_for(&self) -> bool {
        !matches!(self.by, By::NoBrokers | By::Nothing)
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
                connection.proof = Stage::Challenged(Box::new(exchange));
                message
            }),
            (Some(_), Stage::Challenged(exchange)) => exchange.finish(&body[token]).inspect(|_| admit(connection)),
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
                    "{} on {} has not proven to be a broker by the secret: {reason}",
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

    fn verifier_for(&self, connection: &Connection) -> Option<&ScramCredential> {
        match &self.by {
            By::Secret { verifier, .. } if *connection.client.listener == *self.listener => Some(verifier),
            _ => None,
        }
    }
}

fn challenge(verifier: &ScramCredential, client_first: &[u8]) -> Result<(ScramExchange, String), Refused> {
    let nonce = nonce().map_err(|_| Refused("the system has no random bytes for us"))?;
    let first = ClientFirst::parse(client_first)?;
    if first.user != USER || first.is_token {
        return Err(Refused("it is not the user that brokers are"));
    }
    Ok(ScramExchange::begin(
        ScramMechanism::Sha256,
        &first,
        verifier.clone(),
        &nonce,
    ))
}

fn admit(connection: &mut Connection) {
    let known = ClientInfo::clone(&connection.client);
    connection.client = Arc::new(ClientInfo {
        is_broker: true,
        ..known
    });
    connection.quota_generation = UNRESOLVED;
}
