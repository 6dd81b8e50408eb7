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
//! once a second at most (E: the handshake is answered with an error, and the session goes on, as where no session has
//! an end); a request after the end ends the connection (F). After version 0 of `SaslHandshake`, tokens come and go
//! without a request or response around them, and a wrong one is not answered (G). What a client sent stands in no
//! message. This file decides nothing about what a user may do.

pub mod bearer;
pub mod credentials;
mod jws;
pub mod mechanism;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::error::ErrorCode;
use client::nonce;
use protocol::ApiTable;
use protocol::scram::Refused;
use protocol::scram::server::{ClientFirst, ScramCredential, ScramExchange, ScramMechanism};

use bearer::{ClientMessage, INVALID_TOKEN};
use credentials::Credentials;
use mechanism::{Mechanism, SaslSettings};

/// The least time from one renewal of a session to the next, as in Kafka.
const MIN_SESSION: Duration = Duration::from_secs(1);

/// How far a client is.
enum SaslStage {
    Begin,
    Agreed(Mechanism),
    Challenged(Box<ScramExchange>, SaslIdentity),
    Denied(Refused),
    Done,
}

/// See the module.
pub struct Authentication {
    settings: Arc<SaslSettings>,
    stage: SaslStage,
    /// Of the last handshake that was agreed on; from the first proof on there is no other.
    mechanism: Option<Mechanism>,
    /// Whether the handshake had version 0: case G.
    is_raw: bool,
    /// `None` before the first proof.
    session: Option<SaslSession>,
}

/// The proven user.
struct SaslSession {
    user: String,
    /// When it was renewed last; `None` since the login.
    renewed: Option<Instant>,
    /// When requests are not served any more; `None` where neither `connections.max.reauth.ms` nor a token sets an end.
    end: Option<Instant>,
}

impl SaslSession {
    fn may_be_renewed(&self, now: Instant) -> bool {
        let is_long_ago = |renewed| now.saturating_duration_since(renewed) >= MIN_SESSION;
        self.end.is_some() && self.renewed.is_none_or(is_long_ago)
    }
}

/// What a client's message led to.
pub enum SaslOutcome {
    /// The client has to answer this message.
    Challenge(String),
    /// The client is this user; the message ends the exchange.
    Proven(SaslIdentity, Vec<u8>),
}

/// Who a client is that can prove it.
#[derive(Default)]
pub struct SaslIdentity {
    /// The user's name.
    pub user: String,
    /// Whether the client shows a delegation token.
    pub is_token: bool,
    /// How long the token lasts, of either kind; of a proven user: how long the session lasts.
    pub lifetime: Option<Duration>,
}

impl SaslIdentity {
    fn of(user: String) -> Self {
        Self {
            user,
            ..Self::default()
        }
    }
}

impl Authentication {
    /// A client that has proven nothing.
    pub fn new(settings: Arc<SaslSettings>) -> Self {
        Self {
            settings,
            stage: SaslStage::Begin,
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
        self.is_raw
            && matches!(
                self.stage,
                SaslStage::Agreed(_) | SaslStage::Challenged(..) | SaslStage::Denied(_)
            )
    }

    /// The name of the mechanism by which the client is about to prove who it is.
    pub fn agreed(&self) -> Option<&'static str> {
        let is_proving = !matches!(self.stage, SaslStage::Begin | SaslStage::Done);
        self.mechanism.filter(|_| is_proving).map(Mechanism::name)
    }

    /// Whether the client's token was refused, which the client has to acknowledge.
    pub fn is_denied(&self) -> bool {
        matches!(self.stage, SaslStage::Denied(_))
    }

    /// What the listener does with SASL.
    pub fn settings(&self) -> &SaslSettings {
        &self.settings
    }

    /// Whether the client has proven who it is, and is not about to do so again.
    pub const fn is_done(&self) -> bool {
        matches!(self.stage, SaslStage::Done)
    }

    /// The user that the client has proven to be.
    pub fn user(&self) -> Option<&str> {
        self.session.as_ref().map(|session| session.user.as_str())
    }

    /// Takes a handshake; `is_raw`: of version 0.
    pub fn agree(&mut self, name: &str, is_raw: bool, now: Instant) -> ErrorCode {
        let found = Mechanism::named(name).filter(|mechanism| self.settings.mechanisms.contains(mechanism));
        match (found, &self.stage) {
            (_, SaslStage::Done) if !self.session.as_ref().is_some_and(|session| session.may_be_renewed(now)) => {
                ErrorCode::ILLEGAL_SASL_STATE
            }
            (_, SaslStage::Agreed(_) | SaslStage::Challenged(..) | SaslStage::Denied(_)) => {
                ErrorCode::ILLEGAL_SASL_STATE
            }
            (None, _) => ErrorCode::UNSUPPORTED_SASL_MECHANISM,
            (other, _) if self.session.is_some() && other != self.mechanism => ErrorCode::UNSUPPORTED_SASL_MECHANISM,
            (Some(mechanism), _) => {
                if let Some(session) = &mut self.session {
                    session.renewed = Some(now);
                }
                (self.stage, self.is_raw) = (SaslStage::Agreed(mechanism), is_raw);
                self.mechanism = found;
                ErrorCode::NONE
            }
        }
    }

    /// Takes a message of the client; the error is for the log.
    pub fn take(&mut self, message: &[u8], users: &Credentials, now: Instant) -> Result<SaslOutcome, Refused> {
        match std::mem::replace(&mut self.stage, SaslStage::Begin) {
            SaslStage::Agreed(Mechanism::Plain) => {
                let user = self.settings.plain.check(message).map_err(Refused)?;
                self.prove(SaslIdentity::of(user), Vec::new(), now)
            }
            SaslStage::Agreed(Mechanism::Scram(mechanism)) => {
                let first = ClientFirst::parse(message)?;
                let nonce = nonce().map_err(|_| Refused("the system has no random bytes for us"))?;
                let (identity, credential) = identify(mechanism, &first, users);
                let (exchange, challenge) = ScramExchange::begin(mechanism, &first, credential, &nonce);
                self.stage = SaslStage::Challenged(Box::new(exchange), identity);
                Ok(SaslOutcome::Challenge(challenge))
            }
            SaslStage::Challenged(exchange, identity) => {
                let message = exchange.finish(message)?.into_bytes();
                self.prove(identity, message, now)
            }
            SaslStage::Agreed(Mechanism::OauthBearer) => {
                let message = ClientMessage::parse(message)?;
                let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                match self.settings.bearer.check(&message, since_1970.as_secs()) {
                    Ok((user, ends_s)) => {
                        let lifetime = Some(Duration::from_secs(ends_s).saturating_sub(since_1970));
                        let identity = SaslIdentity {
                            lifetime,
                            ..SaslIdentity::of(user)
                        };
                        self.prove(identity, Vec::new(), now)
                    }
                    Err(reason) => {
                        self.stage = SaslStage::Denied(reason);
                        Ok(SaslOutcome::Challenge(INVALID_TOKEN.to_owned()))
                    }
                }
            }
            SaslStage::Denied(reason) => Err(reason),
            SaslStage::Begin | SaslStage::Done => Err(Refused("there is no handshake before its message")),
        }
    }

    /// Begins a session, or renews it.
    fn prove(&mut self, identity: SaslIdentity, message: Vec<u8>, now: Instant) -> Result<SaslOutcome, Refused> {
        if self
            .session
            .as_ref()
            .is_some_and(|session| session.user != identity.user)
        {
            return Err(Refused("it proves itself again as another user")); // D
        }
        let lifetime = match (self.settings.max_session, identity.lifetime) {
            (Some(max), Some(lifetime)) => Some(max.min(lifetime)),
            (max, lifetime) => max.or(lifetime),
        };
        self.session = Some(SaslSession {
            user: identity.user.clone(),
            renewed: self.session.as_ref().and_then(|session| session.renewed),
            end: lifetime.and_then(|lifetime| now.checked_add(lifetime)),
        });
        self.stage = SaslStage::Done;
        let identity = SaslIdentity { lifetime, ..identity };
        Ok(SaslOutcome::Proven(identity, message))
    }
}

/// Who the client of SCRAM says to be, and the credential that it has to prove to know: of a user, or of a token.
fn identify(
    mechanism: ScramMechanism,
    first: &ClientFirst<'_>,
    credentials: &Credentials,
) -> (SaslIdentity, ScramCredential) {
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
        return (SaslIdentity::of(first.user.clone()), credentials.find(mechanism, &name));
    };
    let left_ms = u64::try_from(token.ends_ms.saturating_sub(now_ms)).unwrap_or(0);
    let identity = SaslIdentity {
        user: token.owner.clone(),
        is_token: true,
        lifetime: Some(Duration::from_millis(left_ms)),
    };
    (identity, credential)
}

#[cfg(test)]
mod tests;
