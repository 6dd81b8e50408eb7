//! How a client proves who it is on a listener with SASL (KIP-43, KIP-152, KIP-368).
//!
//! ```text
//!            SaslHandshake        SaslAuthenticate           SaslAuthenticate
//!  Begin ───────────────▶ Agreed ──────────────▶ Challenged ──────────────▶ Done
//!                           └──────── PLAIN, OAUTHBEARER ───────────────────▲
//! ```
//! PLAIN and OAUTHBEARER take one message; a token of OAUTHBEARER that is refused is Denied first, and the client says
//! that it has understood (RFC 7628). Until it is Done, a client may send `ApiVersions` and the requests above; any
//! other request ends the connection (A). A wrong mechanism (B) or proof (C) is answered and ends it; a failed proof
//! only after `connection.failed.authentication.delay.ms`. Where `connections.max.reauth.ms` or the end of a token
//! limits a session, a client proves itself again before the end: by the same mechanism (B) as the same user (D), and
//! not at once (E); a request after the end ends the connection (F). After version 0 of `SaslHandshake`, tokens come
//! and go without a request or response around them, and a wrong one is not answered (G). What a client sent stands in
//! no message. This file decides nothing about what a user may do.

pub mod bearer;
pub mod credentials;
mod jws;
pub mod mechanism;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::connection::Connection;
use super::dispatch::{Context, answer, framed};
use super::operations::{Framing, Operation, Parked};
use super::outbox::Outbox;
use base::error::ErrorCode;
use broker::{BodyTail, ClientInfo, Principal, UNRESOLVED};
use client::nonce;
use protocol::scram::Refused;
use protocol::scram::server::{ClientFirst, ScramCredential, ScramExchange, ScramMechanism};
use protocol::{ApiTable, WireError, sasl};

use bearer::{ClientMessage, INVALID_TOKEN};
use credentials::Credentials;
use mechanism::{Mechanism, SaslSettings};

/// A session may not be renewed before this time, as in Kafka.
const MIN_SESSION: Duration = Duration::from_secs(1);

/// How far a client is.
enum Stage {
    Begin,
    Agreed(Mechanism),
    Challenged(Box<ScramExchange>, Identity),
    Denied(Refused),
    Done,
}

/// See the module.
pub struct Authentication {
    settings: Arc<SaslSettings>,
    stage: Stage,
    /// Of the last handshake that was agreed on; from the first proof on there is no other.
    mechanism: Option<Mechanism>,
    /// Whether the handshake had version 0: case G.
    is_raw: bool,
    /// `None` before the first proof.
    session: Option<Session>,
}

/// The proven user.
struct Session {
    user: String,
    since: Instant,
    /// When requests are not served any more; `None` where neither `connections.max.reauth.ms` nor a token sets an end.
    end: Option<Instant>,
}

/// What a client's message led to.
pub enum Outcome {
    /// The client has to answer this message.
    Challenge(String),
    /// The client is who it says to be.
    Proven(Proof),
}

/// Who a client is that can prove it.
#[derive(Default)]
struct Identity {
    user: String,
    /// Whether the client shows a delegation token.
    is_token: bool,
    /// How long the token lasts, of either kind.
    lifetime: Option<Duration>,
}

impl Identity {
    fn of(user: String) -> Self {
        Self {
            user,
            ..Self::default()
        }
    }
}

/// A proof that is right.
pub struct Proof {
    identity: Identity,
    /// The message that ends the exchange.
    message: Vec<u8>,
}

impl Authentication {
    /// A client that has proven nothing.
    pub fn new(settings: Arc<SaslSettings>) -> Self {
        Self {
            settings,
            stage: Stage::Begin,
            mechanism: None,
            is_raw: false,
            session: None,
        }
    }

    /// The largest frame that the client may send, when it has proven nothing yet.
    pub fn max_frame_bytes(&self) -> Option<usize> {
        self.session.is_none().then_some(self.settings.max_frame_bytes)
    }

    /// Whether the client may send a request of this API now: cases A and F.
    pub fn admits(&self, api_key: i16, now: Instant) -> bool {
        let is_of_sasl = matches!(api_key, ApiTable::SASL_HANDSHAKE | ApiTable::SASL_AUTHENTICATE);
        match &self.session {
            None => is_of_sasl || api_key == ApiTable::API_VERSIONS,
            Some(session) => is_of_sasl || session.end.is_none_or(|end| now <= end),
        }
    }

    /// Whether the client's next frame is a token by itself: case G.
    pub fn takes_raw_tokens(&self) -> bool {
        self.is_raw && matches!(self.stage, Stage::Agreed(_) | Stage::Challenged(..) | Stage::Denied(_))
    }

    /// The name of the mechanism by which the client is about to prove who it is.
    fn agreed(&self) -> Option<&'static str> {
        let is_proving = !matches!(self.stage, Stage::Begin | Stage::Done);
        self.mechanism.filter(|_| is_proving).map(Mechanism::name)
    }

    /// The user that the client has proven to be.
    pub fn user(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.user.as_str())
    }

    /// Takes a handshake; `is_raw`: of version 0.
    pub fn agree(&mut self, name: &str, is_raw: bool) -> ErrorCode {
        let found = Mechanism::named(name).filter(|mechanism| self.settings.mechanisms.contains(mechanism));
        match (found, &self.stage) {
            (_, Stage::Done) if self.session.as_ref().is_none_or(|session| session.end.is_none()) => {
                ErrorCode::ILLEGAL_SASL_STATE
            }
            (_, Stage::Agreed(_) | Stage::Challenged(..) | Stage::Denied(_)) => ErrorCode::ILLEGAL_SASL_STATE,
            (None, _) => ErrorCode::UNSUPPORTED_SASL_MECHANISM,
            (other, _) if self.session.is_some() && other != self.mechanism => ErrorCode::UNSUPPORTED_SASL_MECHANISM,
            (Some(mechanism), _) => {
                (self.stage, self.is_raw) = (Stage::Agreed(mechanism), is_raw);
                self.mechanism = found;
                ErrorCode::NONE
            }
        }
    }

    /// Takes a message of the client; the error is for the log.
    pub fn take(&mut self, message: &[u8], users: &Credentials, now: Instant) -> Result<Outcome, Refused> {
        match std::mem::replace(&mut self.stage, Stage::Begin) {
            Stage::Agreed(Mechanism::Plain) => {
                let user = self.settings.plain.check(message).map_err(Refused)?;
                self.prove(Identity::of(user), Vec::new(), now)
            }
            Stage::Agreed(Mechanism::Scram(mechanism)) => {
                let first = ClientFirst::parse(message)?;
                let nonce = nonce().map_err(|_| Refused("the system has no random bytes for us"))?;
                let (identity, credential) = identify(mechanism, &first, users);
                let (exchange, challenge) = ScramExchange::begin(mechanism, &first, credential, &nonce);
                self.stage = Stage::Challenged(Box::new(exchange), identity);
                Ok(Outcome::Challenge(challenge))
            }
            Stage::Challenged(exchange, identity) => {
                let message = exchange.finish(message)?.into_bytes();
                self.prove(identity, message, now)
            }
            Stage::Agreed(Mechanism::OauthBearer) => {
                let message = ClientMessage::parse(message)?;
                let now_s = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |since| since.as_secs());
                match self.settings.bearer.check(&message, now_s) {
                    Ok((user, ends_s)) => {
                        let lifetime = Some(Duration::from_secs(ends_s.saturating_sub(now_s)));
                        let identity = Identity {
                            lifetime,
                            ..Identity::of(user)
                        };
                        self.prove(identity, Vec::new(), now)
                    }
                    Err(reason) => {
                        self.stage = Stage::Denied(reason);
                        Ok(Outcome::Challenge(INVALID_TOKEN.to_owned()))
                    }
                }
            }
            Stage::Denied(reason) => Err(reason),
            Stage::Begin | Stage::Done => Err(Refused("there is no handshake before its message")),
        }
    }

    /// Begins a session, or renews it.
    fn prove(&mut self, identity: Identity, message: Vec<u8>, now: Instant) -> Result<Outcome, Refused> {
        if let Some(session) = &self.session {
            if session.user != identity.user {
                return Err(Refused("it proves itself again as another user")); // D
            }
            if now.saturating_duration_since(session.since) < MIN_SESSION {
                return Err(Refused("it proves itself again within a second")); // E
            }
        }
        let lifetime = match (self.settings.max_session, identity.lifetime) {
            (Some(max), Some(lifetime)) => Some(max.min(lifetime)),
            (max, lifetime) => max.or(lifetime),
        };
        self.session = Some(Session {
            user: identity.user.clone(),
            since: now,
            end: lifetime.and_then(|lifetime| now.checked_add(lifetime)),
        });
        self.stage = Stage::Done;
        let identity = Identity { lifetime, ..identity };
        Ok(Outcome::Proven(Proof { identity, message }))
    }
}

/// Who the client of SCRAM says to be, and the credential that it has to prove to know: of a user, or of a token.
fn identify(
    mechanism: ScramMechanism,
    first: &ClientFirst<'_>,
    credentials: &Credentials,
) -> (Identity, ScramCredential) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let found = first
        .is_token
        .then(|| credentials.token(mechanism, &first.user, now_ms))
        .flatten();
    let Some((token, credential)) = found else {
        let name = if first.is_token {
            format!("\0{}", first.user) // no user has such a name: a password of a user does not count for a token
        } else {
            first.user.clone()
        };
        return (Identity::of(first.user.clone()), credentials.find(mechanism, &name));
    };
    let left_ms = u64::try_from(token.ends_ms.saturating_sub(now_ms)).unwrap_or(0);
    let identity = Identity {
        user: token.owner.clone(),
        is_token: true,
        lifetime: Some(Duration::from_millis(left_ms)),
    };
    (identity, credential)
}

/// Answers `SaslHandshake` on a listener with SASL.
pub fn handshake(version: i16, body: &[u8], framing: Framing, connection: &mut Connection) -> Result<(), WireError> {
    let asked = sasl::decode_handshake(body)?;
    let Some(authentication) = &mut connection.authentication else {
        return Ok(());
    };
    let code = authentication.agree(asked, version == 0);
    let mechanisms: Vec<&str> = authentication
        .settings
        .mechanisms
        .iter()
        .map(|one| one.name())
        .collect();
    answer(connection, framing, |out| {
        sasl::encode_handshake_response(out, code, &mechanisms);
    });
    connection.is_closing |= code != ErrorCode::NONE; // B
    Ok(())
}

/// Answers `SaslAuthenticate` on a listener with SASL.
pub fn authenticate(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<(), WireError> {
    let token = sasl::decode_token(version, body)?;
    let before = connection.authentication.as_ref();
    let is_denied = before.is_some_and(|it| matches!(it.stage, Stage::Denied(_)));
    let mechanism = before.and_then(|it| it.agreed());
    if let Some((message, lifetime_ms)) = prove(&body[token], connection, context) {
        answer(connection, framing, |out| {
            sasl::encode_token_response(version, out, (ErrorCode::NONE, None), &message, lifetime_ms);
        });
    } else {
        let told = refusal(version, (mechanism, is_denied), framing);
        refuse_later(told, framing, connection, context); // C
    }
    Ok(())
}

/// Takes a token that came by itself: case G.
pub fn raw_token(token: &[u8], connection: &mut Connection, context: &mut Context<'_>) {
    let framing = Framing {
        correlation_id: 0,
        is_flexible: false,
        throttle_at: None,
    };
    match prove(token, connection, context) {
        Some((message, _)) => {
            let out = connection.answer_box().tail();
            out.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
            out.extend_from_slice(&message);
        }
        None => refuse_later(Outbox::default(), framing, connection, context),
    }
}

/// Takes a token. Gives the message that answers it, and how long the session lasts in milliseconds (0: without an end,
/// or not begun); `None` when the token is refused, which is logged.
fn prove(token: &[u8], connection: &mut Connection, context: &Context<'_>) -> Option<(Vec<u8>, i64)> {
    let authentication = connection.authentication.as_mut()?;
    match authentication.take(token, context.credentials, context.now) {
        Ok(Outcome::Challenge(message)) => Some((message.into_bytes(), 0)),
        Ok(Outcome::Proven(Proof { identity, message })) => {
            context.refusals.note_let_in(connection.ip);
            let known = ClientInfo::clone(&connection.client);
            let principal = Principal::user(&identity.user);
            let proven = (!identity.is_token).then(|| principal.as_str());
            connection.client = Arc::new(ClientInfo {
                is_broker: context.proof.trusts(&known.listener, proven),
                is_token_authenticated: identity.is_token,
                principal,
                ..known
            });
            connection.quota_generation = UNRESOLVED;
            let lifetime_ms = identity
                .lifetime
                .map_or(0, |lifetime| i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX));
            Some((message, lifetime_ms))
        }
        Err(reason) => {
            let (listener, reason) = (&connection.client.listener, reason.to_string());
            context.refusals.note(context.broker, connection.ip, listener, &reason);
            None
        }
    }
}

/// What a client is told whose proof failed: by the mechanism of its token, and whether the token was denied before.
fn refusal(version: i16, (mechanism, is_denied): (Option<&str>, bool), framing: Framing) -> Outbox {
    let message = match mechanism {
        Some("PLAIN") => "Authentication failed: Invalid username or password".to_owned(),
        Some("OAUTHBEARER") if is_denied => INVALID_TOKEN.to_owned(),
        Some(mechanism) => format!(
            "Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
        ),
        None => "Authentication failed: Invalid credentials".to_owned(),
    };
    let mut refusal = Outbox::default();
    let told = (ErrorCode::SASL_AUTHENTICATION_FAILED, Some(message.as_str()));
    let written: Result<(), Infallible> = framed(&mut refusal, framing, |out| {
        sasl::encode_token_response(version, out, told, &[], 0);
        Ok(BodyTail::Nothing)
    });
    written.unwrap_or_else(|never| match never {});
    refusal
}

/// Sends what a client is told whose proof failed, after a while in which nothing else of it is taken, and then ends
/// the connection.
fn refuse_later(refusal: Outbox, framing: Framing, connection: &mut Connection, context: &mut Context<'_>) {
    let Some(authentication) = &connection.authentication else {
        return;
    };
    let deadline = context.now + authentication.settings.failure_delay;
    let number = context.operations.number();
    connection.wait_for(number, true);
    let operation = Operation {
        connection: connection.reference,
        framing,
        client: Arc::clone(&connection.client),
        parked: Parked::Refusal(refusal),
    };
    context.operations.park(number, operation, Some(deadline));
}

#[cfg(test)]
mod tests;
