//! A login against answers that a test makes.

use super::*;
use protocol::scram::server::{ClientFirst, ScramCredential, ScramExchange};

/// A message behind its correlation id.
fn answer<'a>(id: i32, version: i16, message: &impl Message<'a>) -> Vec<u8> {
    let mut bytes = id.to_be_bytes().to_vec();
    message.encode(&mut bytes, version);
    bytes
}

fn agrees(id: i32) -> Vec<u8> {
    answer(id, HANDSHAKE_VERSION, &SaslHandshakeResponse::default())
}

fn token_answer(id: i32, auth_bytes: &[u8], session_lifetime_ms: i64) -> Vec<u8> {
    let response = SaslAuthenticateResponse {
        auth_bytes,
        session_lifetime_ms,
        ..SaslAuthenticateResponse::default()
    };
    answer(id, AUTHENTICATE_VERSION, &response)
}

/// The token in a frame of `SaslAuthenticate` version 1 by a client with an empty client id.
fn token_of(frame: &[u8]) -> &[u8] {
    &frame[4 + 2 + 2 + 4 + 2 + 4..]
}

fn sent(step: Result<Step, Unproven>) -> Vec<u8> {
    match step {
        Ok(Step::Send(frame)) => frame,
        Ok(Step::Done(_)) => panic!("it is done"),
        Err(unproven) => panic!("{}", io::Error::from(unproven)),
    }
}

#[test]
fn a_user_of_plain_sends_name_and_password_once_the_mechanism_is_agreed_on() {
    let login = Login::of_user("PLAIN", "kafka", Secret::new("pencil")).unwrap();
    let (mut exchange, first) = login.begin("");
    assert!(exchange.is_at_handshake());
    assert!(!first.windows(6).any(|part| part == b"pencil"));
    let frame = sent(exchange.take(&login, &agrees(1)));
    assert!(!exchange.is_at_handshake());
    assert_eq!(token_of(&frame), b"\0kafka\0pencil");
    assert_eq!(
        exchange.take(&login, &token_answer(2, b"", 5_000)).ok(),
        Some(Step::Done(5_000))
    );
}

#[test]
fn a_user_of_scram_and_a_server_prove_the_password_to_each_other() {
    let mechanism = ScramMechanism::Sha512;
    let login = Login::of_user(mechanism.name(), "kafka", Secret::new("pencil")).unwrap();
    let (mut exchange, _) = login.begin("");
    let frame = sent(exchange.take(&login, &agrees(1)));
    let first = ClientFirst::parse(token_of(&frame)).unwrap();
    assert_eq!(first.user, "kafka");
    let credential = ScramCredential::of_password(mechanism, "pencil", b"salt".to_vec());
    let (server, challenge) = ScramExchange::begin(mechanism, &first, credential, "nonce");
    let frame = sent(exchange.take(&login, &token_answer(2, challenge.as_bytes(), 0)));
    let last = server.finish(token_of(&frame)).unwrap();
    assert_eq!(
        exchange.take(&login, &token_answer(3, last.as_bytes(), 0)).ok(),
        Some(Step::Done(0))
    );
}

#[test]
fn a_server_that_does_not_know_the_password_is_not_taken_for_a_broker() {
    let login = Login::of_secret(Secret::new("pencil"), true);
    let (mut exchange, _) = login.begin("");
    let frame = sent(exchange.take(&login, &agrees(1)));
    let first = ClientFirst::parse(token_of(&frame)).unwrap();
    let credential = ScramCredential::of_password(ScramMechanism::Sha256, "guessed", b"salt".to_vec());
    let (_, challenge) = ScramExchange::begin(ScramMechanism::Sha256, &first, credential, "nonce");
    let _ = sent(exchange.take(&login, &token_answer(2, challenge.as_bytes(), 0)));
    let forged = token_answer(3, b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", 0);
    let refused = io::Error::from(exchange.take(&login, &forged).err().unwrap());
    assert_eq!(
        refused.to_string(),
        "it has not proven to be a broker: it does not know the secret"
    );
}

#[test]
fn what_is_not_served_is_told_from_what_is_refused() {
    let login = Login::of_secret(Secret::new("pencil"), false);
    let (mut exchange, _) = login.begin("");
    let not_served = SaslHandshakeResponse {
        error_code: ErrorCode::UNSUPPORTED_SASL_MECHANISM,
        mechanisms: Vec::new(),
    };
    let unknown = answer(1, HANDSHAKE_VERSION, &not_served);
    assert!(matches!(exchange.take(&login, &unknown), Err(Unproven::NotServed(_))));
    assert!(exchange.is_at_handshake());

    let (mut exchange, _) = login.begin("");
    let _ = sent(exchange.take(&login, &agrees(1)));
    let told = SaslAuthenticateResponse {
        error_code: ErrorCode::SASL_AUTHENTICATION_FAILED,
        error_message: Some("no"),
        ..SaslAuthenticateResponse::default()
    };
    let refused = answer(2, AUTHENTICATE_VERSION, &told);
    assert!(matches!(exchange.take(&login, &refused), Err(Unproven::Failed(_))));
    assert!(!exchange.is_at_handshake());
}

#[test]
fn a_server_s_words_are_one_line_and_not_endless() {
    assert_eq!(shown("it's \"bob\" - é", None), "it's \"bob\" - é");
    assert_eq!(shown("a\n\u{1b}[31mb", None), "a\\n\\u{1b}[31mb");
    assert_eq!(shown(&"x".repeat(MAX_SHOWN), None), "x".repeat(MAX_SHOWN));
    assert_eq!(shown(&"x".repeat(MAX_SHOWN + 1), None), "x".repeat(MAX_SHOWN) + "…");
}

#[test]
fn a_server_that_repeats_the_password_or_the_token_is_not_quoted() {
    let (password, token) = (Secret::new("pencil"), Secret::new("a.b.c"));
    let refusals = [
        (Stage::Plain(password), "no user bob with pencil"),
        (Stage::Bearer(token), "a.b.c is no token"),
    ];
    let login = Login::of_user("PLAIN", "bob", Secret::new("pencil")).unwrap();
    for (stage, words) in refusals {
        let (mut exchange, _) = login.begin("");
        exchange.stage = stage;
        let told = SaslAuthenticateResponse {
            error_code: ErrorCode::SASL_AUTHENTICATION_FAILED,
            error_message: Some(words),
            ..SaslAuthenticateResponse::default()
        };
        let refused = exchange.take(&login, &answer(1, AUTHENTICATE_VERSION, &told));
        let Err(Unproven::Failed(error)) = refused else {
            panic!("{words}: it is taken");
        };
        assert!(error.to_string().starts_with("its words are not shown"), "{error}");
    }
}

#[test]
fn answers_that_are_malformed_or_out_of_order_are_refused() {
    let login = Login::of_user("PLAIN", "kafka", Secret::new("pencil")).unwrap();
    for wrong in [vec![], vec![0; 3], agrees(2), agrees(1)[..5].to_vec()] {
        let (mut exchange, _) = login.begin("");
        assert!(exchange.take(&login, &wrong).is_err(), "{wrong:?}");
    }
    assert!(Login::of_user("OAUTHBEARER", "kafka", Secret::new("pencil")).is_none());
}
