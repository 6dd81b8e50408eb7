//! Answers `SaslHandshake` and `SaslAuthenticate` on a listener with SASL; the letters are the cases of
//! [`crate::sasl`].

use std::sync::Arc;
use std::time::Instant;

use super::Context;
use crate::connection::Connection;
use crate::framing::{Framing, answer};
use crate::operations::{Parked, ParkedOperation};
use crate::outbox::Outbox;
use crate::sasl::SaslOutcome;
use crate::sasl::bearer::INVALID_TOKEN;
use base::error::ErrorCode;
use broker::{ClientInfo, Principal, UNRESOLVED};
use protocol::WireError;
use protocol::messages::Message;
use protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};

/// Answers `SaslHandshake` on a listener with SASL.
pub fn handshake(version: i16, body: &[u8], framing: Framing, connection: &mut Connection) -> Result<(), WireError> {
    let mechanism = SaslHandshakeRequest::decode(version, body)?.mechanism;
    let Some(authentication) = &mut connection.authentication else {
        return Ok(());
    };
    let code = authentication.agree(mechanism, version == 0, Instant::now());
    let goes_on = code == ErrorCode::NONE || (code == ErrorCode::ILLEGAL_SASL_STATE && authentication.is_done());
    let mechanisms = &authentication.settings().mechanisms;
    let response = SaslHandshakeResponse {
        error_code: code,
        mechanisms: mechanisms.iter().map(|it| it.name()).collect(),
    };
    answer(connection.answer_box(), framing, |out| response.encode(out, version));
    connection.is_closing |= !goes_on; // B
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
    let token = SaslAuthenticateRequest::decode(version, body)?.auth_bytes;
    let before = connection.authentication.as_ref();
    let is_denied = before.is_some_and(|it| it.is_denied());
    let mechanism = before.and_then(|it| it.agreed());
    if let Some((message, lifetime_ms)) = prove(token, connection, context) {
        let response = SaslAuthenticateResponse {
            auth_bytes: &message,
            session_lifetime_ms: lifetime_ms,
            ..SaslAuthenticateResponse::default()
        };
        answer(connection.answer_box(), framing, |out| response.encode(out, version));
    } else {
        let refusal = refusal(version, mechanism, is_denied, framing);
        refuse_later(refusal, framing, connection, context); // C
    }
    Ok(())
}

/// Takes a token that came by itself: case G.
pub fn raw_token(token: &[u8], connection: &mut Connection, context: &mut Context<'_>) {
    match prove(token, connection, context) {
        Some((message, _)) => {
            let out = connection.answer_box().tail();
            out.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
            out.extend_from_slice(&message);
        }
        None => refuse_later(Outbox::default(), Framing::default(), connection, context),
    }
}

/// Takes a token. Gives the message that answers it, and how long the session lasts in milliseconds (0: without an end,
/// or not begun); `None` when the token is refused, which is logged.
fn prove(token: &[u8], connection: &mut Connection, context: &Context<'_>) -> Option<(Vec<u8>, i64)> {
    let authentication = connection.authentication.as_mut()?;
    match authentication.take(token, context.credentials, context.now) {
        Ok(SaslOutcome::Challenge(message)) => Some((message.into_bytes(), 0)),
        Ok(SaslOutcome::Proven(identity, message)) => {
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
fn refusal(version: i16, mechanism: Option<&str>, is_denied: bool, framing: Framing) -> Outbox {
    let message = match mechanism {
        Some("PLAIN") => "Authentication failed: Invalid username or password".to_owned(),
        Some("OAUTHBEARER") if is_denied => INVALID_TOKEN.to_owned(),
        Some(mechanism) => format!(
            "Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
        ),
        None => "Authentication failed: Invalid credentials".to_owned(),
    };
    let mut refusal = Outbox::default();
    let response = SaslAuthenticateResponse {
        error_code: ErrorCode::SASL_AUTHENTICATION_FAILED,
        error_message: Some(&message),
        ..SaslAuthenticateResponse::default()
    };
    answer(&mut refusal, framing, |out| response.encode(out, version));
    refusal
}

/// Sends what a client is told whose proof failed, after a while in which nothing else of it is taken, and then ends
/// the connection.
fn refuse_later(refusal: Outbox, framing: Framing, connection: &mut Connection, context: &mut Context<'_>) {
    let Some(authentication) = &connection.authentication else {
        return;
    };
    let deadline = context.now + authentication.settings().failure_delay;
    let number = context.operations.number();
    connection.wait_for(number, true);
    let operation = ParkedOperation {
        requester: connection.requester(framing),
        parked: Parked::Refusal(refusal),
    };
    context.operations.park(number, operation, Some(deadline));
}
