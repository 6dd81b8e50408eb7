//! Answers `SaslHandshake` and `SaslAuthenticate` on a listener without SASL, by which brokers prove that they know the
//! secret: case B of [`crate::proof`].

use std::sync::Arc;

use super::Context;
use crate::connection::Connection;
use crate::framing::{Framing, answer};
use crate::proof::ProofStage;
use base::error::ErrorCode;
use broker::{ClientInfo, UNRESOLVED};
use client::nonce;
use protocol::WireError;
use protocol::messages::Message;
use protocol::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use protocol::messages::sasl_handshake::{SaslHandshakeRequest, SaslHandshakeResponse};
use protocol::scram::server::{ClientFirst, ScramCredential, ScramExchange, ScramMechanism};
use protocol::scram::{MECHANISM, Refused, USER};

/// Answers `SaslHandshake`.
pub fn handshake(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &Context<'_>,
) -> Result<(), WireError> {
    let mechanism = SaslHandshakeRequest::decode(version, body)?.mechanism;
    let code = match context.proof.verifier_for(&connection.client.listener) {
        Some(_) if mechanism == MECHANISM => ErrorCode::NONE,
        Some(_) => ErrorCode::UNSUPPORTED_SASL_MECHANISM,
        None => ErrorCode::ILLEGAL_SASL_STATE,
    };
    let response = SaslHandshakeResponse {
        error_code: code,
        mechanisms: if code == ErrorCode::ILLEGAL_SASL_STATE {
            Vec::new()
        } else {
            vec![MECHANISM]
        },
    };
    if code == ErrorCode::NONE {
        connection.proof = ProofStage::Agreed;
    }
    answer(connection.answer_box(), framing, |out| response.encode(out, version));
    connection.is_closing |= code == ErrorCode::UNSUPPORTED_SASL_MECHANISM;
    Ok(())
}

/// Answers `SaslAuthenticate`; after a correct last message the connection may act as a broker (case B).
pub fn authenticate(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &Context<'_>,
) -> Result<(), WireError> {
    let token = SaslAuthenticateRequest::decode(version, body)?.auth_bytes;
    let stage = std::mem::take(&mut connection.proof);
    let outcome = match (context.proof.verifier_for(&connection.client.listener), stage) {
        (Some(verifier), ProofStage::Agreed) => challenge(verifier, token).map(|(exchange, message)| {
            connection.proof = ProofStage::Challenged(Box::new(exchange));
            message
        }),
        (Some(_), ProofStage::Challenged(exchange)) => exchange.finish(token).inspect(|_| admit(connection)),
        _ => {
            let refusal = SaslAuthenticateResponse {
                error_code: ErrorCode::ILLEGAL_SASL_STATE,
                error_message: Some("There is no handshake that this could belong to"),
                ..SaslAuthenticateResponse::default()
            };
            answer(connection.answer_box(), framing, |out| refusal.encode(out, version));
            return Ok(());
        }
    };
    match outcome {
        Ok(message) => {
            let response = SaslAuthenticateResponse {
                auth_bytes: message.as_bytes(),
                ..SaslAuthenticateResponse::default()
            };
            answer(connection.answer_box(), framing, |out| response.encode(out, version));
        }
        Err(reason) => {
            let client = &connection.client;
            context.broker.log(&format!(
                "{} on {} has not proven to be a broker by the secret: {reason}",
                client.host, client.listener
            ));
            // the client gets no more details than this message
            let refusal = SaslAuthenticateResponse {
                error_code: ErrorCode::SASL_AUTHENTICATION_FAILED,
                error_message: Some("Authentication failed: the secret of the brokers was not proven"),
                ..SaslAuthenticateResponse::default()
            };
            answer(connection.answer_box(), framing, |out| refusal.encode(out, version));
            connection.is_closing = true;
        }
    }
    Ok(())
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
