//! How this broker proves to another broker who it is, and checks the other's proof: by the secret of the brokers, or
//! as a user of SASL. Once for each connection.
//!
//! ```text
//! begin ─▶ SaslHandshake ─▶ SaslAuthenticate: PLAIN ────────────────────────────────────▶ done
//!                     └───▶ SaslAuthenticate: client-first ─▶ SaslAuthenticate: client-final ─▶ done
//! ```
//! State without I/O: the caller carries the frames, each of them behind its size. Both planes use this file. Never:
//! logs, or shows a password in an error.

use std::io::{self, ErrorKind};

use crate::bearer::TokenSource;
use crate::random::nonce;
use base::error::ErrorCode;
use protocol::messages::Message;
use protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use protocol::scram::client::{ClientExchange, Expected, ScramClient};
use protocol::scram::server::ScramMechanism;
use protocol::scram::{MECHANISM, Refused, Secret, USER};
use protocol::{ApiTable, Reader, WireError, write_request};

/// The version of `SaslHandshake` that is sent; after version 0, tokens come without frames.
const HANDSHAKE_VERSION: i16 = 1;
/// The version of `SaslAuthenticate` that is sent; all brokers know it.
const AUTHENTICATE_VERSION: i16 = 1;
/// The characters of a server's words that are shown.
const MAX_SHOWN: usize = 500;

/// The largest answer to a frame of a proof.
pub const MAX_ANSWER_BYTES: usize = 16 << 10;

/// Why a connection cannot be used.
pub enum Unproven {
    /// The other broker has no secret to prove, or does not serve the proof.
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

/// What this broker knows that proves who it is.
pub struct Login {
    mechanism: &'static str,
    knows: Knows,
    /// Whether it is the secret of the brokers, not a user of SASL.
    pub is_secret: bool,
    /// Whether a connection to a broker that does not serve the proof is of no use.
    pub is_required: bool,
}

enum Knows {
    Plain { user: String, password: Secret },
    Scram(ScramClient),
    Bearer(TokenSource),
}

impl Login {
    /// The secret that all brokers share.
    pub fn of_secret(secret: Secret, is_required: bool) -> Self {
        Self {
            mechanism: MECHANISM,
            knows: Knows::Scram(ScramClient::new(ScramMechanism::Sha256, USER, secret)),
            is_secret: true,
            is_required,
        }
    }

    /// A delegation token (KIP-48): its id and its HMAC, by SCRAM; `None` for another mechanism.
    pub fn of_token(mechanism: &str, id: &str, hmac: Secret) -> Option<Self> {
        let mut login = Self::of_user(mechanism, id, hmac)?;
        let Knows::Scram(client) = &mut login.knows else {
            return None;
        };
        client.is_token = true;
        Some(login)
    }

    /// A token of OAUTHBEARER, which `source` gives for each connection.
    pub fn of_bearer(source: TokenSource) -> Self {
        Self {
            mechanism: "OAUTHBEARER",
            knows: Knows::Bearer(source),
            is_secret: false,
            is_required: true,
        }
    }

    /// A user of PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; `None` for another mechanism.
    pub fn of_user(mechanism: &str, user: &str, password: Secret) -> Option<Self> {
        let scram = |mechanism| Knows::Scram(ScramClient::new(mechanism, user, password.clone()));
        let (mechanism, knows) = match mechanism {
            "PLAIN" => {
                let user = user.to_owned();
                ("PLAIN", Knows::Plain { user, password })
            }
            "SCRAM-SHA-256" => ("SCRAM-SHA-256", scram(ScramMechanism::Sha256)),
            "SCRAM-SHA-512" => ("SCRAM-SHA-512", scram(ScramMechanism::Sha512)),
            _ => return None,
        };
        Some(Self {
            mechanism,
            knows,
            is_secret: false,
            is_required: true,
        })
    }

    /// Why a broker answered the handshake with an error.
    fn not_served(&self, code: ErrorCode) -> String {
        let mechanism = self.mechanism;
        match code {
            _ if self.is_secret => {
                let code = code.0;
                format!("it does not take the proof that this is a broker ({mechanism}: error {code})")
            }
            ErrorCode::UNSUPPORTED_SASL_MECHANISM => format!("its listener does not serve sasl.mechanism={mechanism}"),
            ErrorCode::ILLEGAL_SASL_STATE => "its listener asks for no login; set security.protocol to PLAINTEXT, or \
                                              to SSL for one with TLS"
                .to_owned(),
            _ => format!("it does not take the login ({mechanism}: {})", code.name()),
        }
    }

    /// Begins a proof; the first frame to be sent. `client_id`: of the connection's requests.
    pub fn begin(&self, client_id: &str) -> (LoginExchange, Vec<u8>) {
        let mut exchange = LoginExchange {
            client_id: client_id.to_owned(),
            sent: 0,
            has_agreed: false,
            stage: Stage::Handshake,
        };
        let mut body = Vec::new();
        let mechanism = self.mechanism;
        SaslHandshakeRequest { mechanism }.encode(&mut body, HANDSHAKE_VERSION);
        let frame = exchange.frame(ApiTable::SASL_HANDSHAKE, HANDSHAKE_VERSION, &body);
        (exchange, frame)
    }
}

/// What comes after an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Another frame is to be sent.
    Send(Vec<u8>),
    /// Both ends have proven who they are. The session ends after so many milliseconds; 0 is never.
    Done(i64),
}

enum Stage {
    Handshake,
    /// The password was sent.
    Plain(Secret),
    /// The token was sent.
    Bearer(Secret),
    Began(ClientExchange),
    Replied(Expected),
}

/// A proof that has begun.
pub struct LoginExchange {
    client_id: String,
    sent: i32,
    has_agreed: bool,
    stage: Stage,
}

impl LoginExchange {
    /// Whether the other broker may not know the proof: it has taken no handshake.
    pub fn is_at_handshake(&self) -> bool {
        !self.has_agreed
    }

    /// Takes the answer to the last frame, without its size.
    pub fn take(&mut self, login: &Login, answer: &[u8]) -> Result<Step, Unproven> {
        let mut reader = Reader::new(answer, false);
        if reader.i32()? != self.sent {
            return Err(io::Error::new(ErrorKind::InvalidData, "it answered something else").into());
        }
        let body = &answer[reader.position()..];
        match std::mem::replace(&mut self.stage, Stage::Handshake) {
            Stage::Handshake => self.agreed(login, body),
            Stage::Plain(password) => Ok(Step::Done(token(body, Some(&password))?.1)),
            Stage::Bearer(sent) => {
                let (challenge, lifetime_ms) = token(body, Some(&sent))?;
                if challenge.is_empty() {
                    return Ok(Step::Done(lifetime_ms));
                }
                // RFC 7628, 3.2.3: the broker says why before it refuses the next frame
                let told = shown(&String::from_utf8_lossy(challenge), Some(&sent));
                Err(Unproven::Failed(denied(&format!("it refuses the token: {told}"))))
            }
            Stage::Began(exchange) => {
                let Knows::Scram(client) = &login.knows else {
                    return Err(Refused("it answered another mechanism").into());
                };
                let (message, expected) = exchange.reply(token(body, None)?.0, client)?;
                self.stage = Stage::Replied(expected);
                Ok(self.send(message.as_bytes()))
            }
            Stage::Replied(expected) => {
                let (message, lifetime_ms) = token(body, None)?;
                expected.check(message)?;
                Ok(Step::Done(lifetime_ms))
            }
        }
    }

    fn agreed(&mut self, login: &Login, body: &[u8]) -> Result<Step, Unproven> {
        let code = SaslHandshakeResponse::decode(HANDSHAKE_VERSION, body)?.error_code;
        if code != ErrorCode::NONE {
            return Err(Unproven::NotServed(denied(&login.not_served(code))));
        }
        self.has_agreed = true;
        let message = match &login.knows {
            Knows::Plain { user, password } => {
                self.stage = Stage::Plain(password.clone());
                format!("\0{user}\0{}", password.expose())
            }
            Knows::Bearer(source) => {
                let token = source.token().map_err(|reason| denied(&reason))?;
                let message = format!("n,,\x01auth=Bearer {}\x01\x01", token.expose());
                self.stage = Stage::Bearer(token);
                message
            }
            Knows::Scram(client) => {
                let exchange = client.begin(&nonce()?);
                let message = exchange.first();
                self.stage = Stage::Began(exchange);
                message
            }
        };
        Ok(self.send(message.as_bytes()))
    }

    fn send(&mut self, message: &[u8]) -> Step {
        let mut body = Vec::new();
        let auth_bytes = message;
        SaslAuthenticateRequest { auth_bytes }.encode(&mut body, AUTHENTICATE_VERSION);
        Step::Send(self.frame(ApiTable::SASL_AUTHENTICATE, AUTHENTICATE_VERSION, &body))
    }

    fn frame(&mut self, api_key: i16, api_version: i16, body: &[u8]) -> Vec<u8> {
        self.sent += 1;
        let mut frame = Vec::new();
        write_request(
            &mut frame,
            (api_key, api_version),
            self.sent,
            &self.client_id,
            false,
            body,
        );
        frame
    }
}

/// The token of an answer, and the session's time in milliseconds. `sent` is the secret that was sent in clear.
fn token<'a>(body: &'a [u8], sent: Option<&Secret>) -> Result<(&'a [u8], i64), Unproven> {
    let answer = SaslAuthenticateResponse::decode(AUTHENTICATE_VERSION, body)?;
    if answer.error_code != ErrorCode::NONE {
        let message = answer.error_message.unwrap_or("the proof was refused");
        return Err(Unproven::Failed(denied(&shown(message, sent))));
    }
    Ok((answer.auth_bytes, answer.session_lifetime_ms))
}

/// A server's words, on one line and not without an end; never the secret that it was sent.
fn shown(message: &str, sent: Option<&Secret>) -> String {
    if sent.is_some_and(|sent| !sent.expose().is_empty() && message.contains(sent.expose())) {
        return "its words are not shown, since they repeat the secret that it was sent".to_owned();
    }
    let mut shown: String = message.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect();
    shown = shown.replace("\\'", "'").replace("\\\"", "\"");
    if message.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

fn denied(message: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, message)
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
