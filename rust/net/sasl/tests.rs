//! The order in which a client may prove who it is. The messages over a socket: `tests/clients/test_sasl.py`.

use std::collections::HashMap;

use super::*;
use crate::sasl::bearer::{Bearer, TokenRules};
use crate::sasl::mechanism::PlainUsers;
use protocol::scram::server::ScramMechanism;

const ALICE: &[u8] = b"\0alice\0secret";
const METADATA: i16 = 3;

fn settings(max_session: Option<Duration>) -> Arc<SaslSettings> {
    let users = HashMap::from([
        ("alice".to_owned(), "secret".to_owned()),
        ("bob".to_owned(), "other".to_owned()),
    ]);
    Arc::new(SaslSettings {
        mechanisms: vec![Mechanism::Plain, Mechanism::Scram(ScramMechanism::Sha256)],
        plain: PlainUsers::new(&users).unwrap(),
        bearer: Arc::new(Bearer::new(TokenRules::default())),
        max_session,
        max_frame_bytes: 1000,
        failure_delay: Duration::ZERO,
    })
}

fn authentication(max_session: Option<Duration>) -> Authentication {
    Authentication::new(settings(max_session))
}

fn take(it: &mut Authentication, message: &[u8], now: Instant) -> Result<SaslOutcome, Refused> {
    it.take(message, &Credentials::default(), now)
}

/// A client that has proven at `now` to be alice.
fn alice(max_session: Option<Duration>, now: Instant) -> Authentication {
    let mut it = authentication(max_session);
    assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
    assert!(matches!(take(&mut it, ALICE, now), Ok(SaslOutcome::Proven(identity, _)) if identity.user == "alice"));
    it
}

#[test]
fn until_the_proof_only_api_versions_and_sasl_are_served() {
    let now = Instant::now();
    let it = authentication(None);
    for key in [
        ApiTable::API_VERSIONS,
        ApiTable::SASL_HANDSHAKE,
        ApiTable::SASL_AUTHENTICATE,
    ] {
        assert!(it.admits(key, now), "{key}");
    }
    assert!((0..100).filter(|key| it.admits(*key, now)).eq([17, 18, 36]));
    assert_eq!(it.max_frame_bytes(), Some(1000));
    let it = alice(None, now);
    assert!(it.admits(METADATA, now));
    assert_eq!(it.max_frame_bytes(), None);
}

#[test]
fn a_mechanism_that_the_listener_does_not_have_is_refused() {
    for name in ["SCRAM-SHA-512", "GSSAPI", "plain", ""] {
        assert_eq!(
            authentication(None).agree(name, false, Instant::now()),
            ErrorCode::UNSUPPORTED_SASL_MECHANISM
        );
    }
}

#[test]
fn messages_out_of_order_are_refused() {
    let now = Instant::now();
    assert!(take(&mut authentication(None), ALICE, now).is_err(), "no handshake");
    let mut it = authentication(None);
    assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
    assert_eq!(
        it.agree("PLAIN", false, Instant::now()),
        ErrorCode::ILLEGAL_SASL_STATE,
        "two handshakes"
    );
    let mut it = authentication(None);
    assert_eq!(it.agree("SCRAM-SHA-256", false, Instant::now()), ErrorCode::NONE);
    assert!(matches!(
        take(&mut it, b"n,,n=alice,r=abc", now),
        Ok(SaslOutcome::Challenge(_))
    ));
    assert_eq!(
        it.agree("PLAIN", false, Instant::now()),
        ErrorCode::ILLEGAL_SASL_STATE,
        "a handshake between two messages"
    );
    let mut it = alice(None, now);
    assert_eq!(
        it.agree("PLAIN", false, Instant::now()),
        ErrorCode::ILLEGAL_SASL_STATE,
        "a session without an end is not renewed"
    );
    assert!(take(&mut it, ALICE, now).is_err(), "a proof after the proof");
}

#[test]
fn a_message_after_a_refused_one_proves_nothing() {
    let now = Instant::now();
    let mut it = authentication(None);
    assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
    assert!(take(&mut it, b"\0alice\0wrong", now).is_err());
    assert!(take(&mut it, ALICE, now).is_err());
    assert!(!it.admits(METADATA, now));
}

#[test]
fn messages_of_plain_that_prove_nothing_are_refused() {
    let long = [b"\0alice\0".as_slice(), &vec![b'x'; 1 << 20]].concat();
    for message in [
        &b"\0alice\0wrong"[..],
        b"\0alice\0secre",
        b"\0alice\0secrets",
        b"\0nobody\0secret",
        b"\0alice\0",
        b"\0\0secret",
        b"\0alice",
        b"alice\0secret",
        b"",
        b"\0alice\0secret\0",
        b"bob\0alice\0secret",
        b"\0alice\0\xff",
        b"\0ALICE\0secret",
        b"\0alice\0other",
        &long,
    ] {
        let mut it = authentication(None);
        assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
        let named = &message[..message.len().min(30)];
        assert!(take(&mut it, message, Instant::now()).is_err(), "{named:?}");
    }
}

#[test]
fn a_session_ends_and_is_renewed_by_the_same_user() {
    // KIP-368
    let (max, begin) = (Duration::from_secs(10), Instant::now());
    let mut it = alice(Some(max), begin);
    assert!(it.admits(METADATA, begin + max));
    let late = begin + max + Duration::from_millis(1);
    assert!(!it.admits(METADATA, late) && it.admits(ApiTable::SASL_HANDSHAKE, late));
    assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
    assert!(
        it.admits(METADATA, begin + max),
        "requests go on while the client proves itself again"
    );
    assert!(take(&mut it, ALICE, late).is_ok());
    assert!(it.admits(METADATA, late + max));
}

#[test]
fn a_session_is_not_renewed_by_another_user() {
    let mut it = alice(Some(Duration::from_secs(10)), Instant::now());
    assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
    assert!(take(&mut it, b"\0bob\0other", Instant::now()).is_err());
}

#[test]
fn a_session_is_renewed_at_any_time_after_the_login_and_then_once_a_second() {
    let (max, begin) = (Some(Duration::from_secs(10)), Instant::now());
    let mut it = alice(max, begin);
    for (at, expected) in [
        (Duration::ZERO, ErrorCode::NONE),
        (MIN_SESSION / 2, ErrorCode::ILLEGAL_SASL_STATE),
        (MIN_SESSION, ErrorCode::NONE),
        (MIN_SESSION * 3 / 2, ErrorCode::ILLEGAL_SASL_STATE),
    ] {
        assert_eq!(it.agree("PLAIN", false, begin + at), expected, "{at:?}");
        assert_eq!(it.is_done(), expected != ErrorCode::NONE, "{at:?}");
        assert_eq!(take_if(&mut it, expected, begin + at), "alice");
        assert!(it.admits(METADATA, begin + at));
    }
}

/// Proves that it is alice after a handshake that was agreed on; the user of the session.
fn take_if(it: &mut Authentication, agreed: ErrorCode, now: Instant) -> String {
    if agreed == ErrorCode::NONE {
        assert!(take(it, ALICE, now).is_ok());
    }
    it.user().unwrap().to_owned()
}

/// A client that has proven at `now` to be alice, by something that lasts so long.
fn bearer(lifetime: Duration, max_session: Option<Duration>, now: Instant) -> Authentication {
    let mut it = authentication(max_session);
    assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
    let identity = SaslIdentity {
        lifetime: Some(lifetime),
        ..SaslIdentity::of("alice".to_owned())
    };
    let proven = it.prove(identity, Vec::new(), now);
    assert!(matches!(proven, Ok(SaslOutcome::Proven(..))));
    it
}

#[test]
fn a_session_ends_with_its_token_and_is_renewed_by_another_whatever_limits_sessions() {
    let (begin, hour) = (Instant::now(), Duration::from_hours(1));
    for max in [None, Some(2 * hour), Some(hour)] {
        let mut it = bearer(hour, max, begin);
        assert!(it.admits(METADATA, begin + hour), "{max:?}");
        assert!(!it.admits(METADATA, begin + hour + MIN_SESSION), "{max:?}");
        assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE, "{max:?}");
    }
    assert!(!bearer(hour, Some(hour / 2), begin).admits(METADATA, begin + hour));
    assert!(!bearer(Duration::ZERO, None, begin).admits(METADATA, begin + MIN_SESSION));
    assert!(bearer(Duration::MAX, None, begin).admits(METADATA, begin + hour));
    assert_eq!(
        alice(None, begin).agree("PLAIN", false, Instant::now()),
        ErrorCode::ILLEGAL_SASL_STATE
    );
}

#[test]
fn a_session_is_not_renewed_by_another_mechanism() {
    let mut it = alice(Some(Duration::from_secs(10)), Instant::now());
    assert_eq!(
        it.agree("SCRAM-SHA-256", false, Instant::now()),
        ErrorCode::UNSUPPORTED_SASL_MECHANISM
    );
}

#[test]
fn tokens_come_by_themselves_after_version_0_of_the_handshake_only() {
    let mut it = authentication(None);
    assert!(!it.takes_raw_tokens());
    assert_eq!(
        it.agree("GSSAPI", true, Instant::now()),
        ErrorCode::UNSUPPORTED_SASL_MECHANISM
    );
    assert!(!it.takes_raw_tokens());
    assert_eq!(it.agree("PLAIN", true, Instant::now()), ErrorCode::NONE);
    assert!(it.takes_raw_tokens());
    assert!(take(&mut it, ALICE, Instant::now()).is_ok());
    assert!(!it.takes_raw_tokens());
    let mut it = authentication(None);
    assert_eq!(it.agree("PLAIN", false, Instant::now()), ErrorCode::NONE);
    assert!(!it.takes_raw_tokens());
}

#[test]
fn no_description_has_a_password() {
    let settings = settings(None);
    let text = format!("{settings:?}");
    assert!(!text.contains("secret") && !text.contains("alice"), "{text}");
}
