//! The server's side of SCRAM against the examples of the RFCs, and against messages that are not theirs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;

use super::{ClientFirst, ScramCredential, ScramExchange, ScramMechanism, is_equal};

/// RFC 7677, section 3: user "user", password "pencil", 4096 iterations.
const SALT: &str = "W22ZaJ0SNY7soEsUEjb6gQ==";
const SALTED_PASSWORD: &str = "xKSVEDI6tPlSysH6mUQZOeeOp01r6B3fcJbodRPcYV0=";
const CLIENT_FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const CLIENT_FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const SERVER_FINAL: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

fn credential() -> ScramCredential {
    let salted = BASE64.decode(SALTED_PASSWORD).unwrap();
    let (stored_key, server_key) = ScramMechanism::Sha256.keys(&salted);
    ScramCredential {
        salt: BASE64.decode(SALT).unwrap(),
        stored_key,
        server_key,
        iterations: 4096,
    }
}

fn begin(first: &str, credential: ScramCredential) -> (ScramExchange, String) {
    let first = ClientFirst::parse(first.as_bytes()).unwrap();
    ScramExchange::begin(ScramMechanism::Sha256, &first, credential, NONCE)
}

#[test]
fn the_example_of_rfc_7677_is_let_in() {
    let (exchange, challenge) = begin(CLIENT_FIRST, credential());
    assert_eq!(challenge, format!("r=rOprNGfwEbeRWgbNEkqO{NONCE},s={SALT},i=4096"));
    assert_eq!(exchange.finish(CLIENT_FINAL.as_bytes()), Ok(SERVER_FINAL.to_owned()));
}

#[test]
fn a_proof_of_another_password_is_refused() {
    let mut other = credential();
    other.stored_key[0] ^= 1;
    let (exchange, _) = begin(CLIENT_FIRST, other);
    assert!(exchange.finish(CLIENT_FINAL.as_bytes()).is_err());
}

#[test]
fn a_user_who_does_not_exist_gets_the_same_salt_each_time_and_is_refused() {
    let nobody = || ScramCredential::nobody(ScramMechanism::Sha256, "user", b"secret");
    assert_eq!(nobody(), nobody());
    assert_ne!(
        nobody().salt,
        ScramCredential::nobody(ScramMechanism::Sha256, "other", b"secret").salt
    );
    let (exchange, challenge) = begin(CLIENT_FIRST, nobody());
    assert!(challenge.ends_with(",i=4096"));
    let is_digit = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    assert!(
        nobody().salt.iter().all(is_digit) && nobody().salt.len() == 26,
        "as of Kafka's tools"
    );
    assert!(exchange.finish(CLIENT_FINAL.as_bytes()).is_err());
}

#[test]
fn a_last_message_that_does_not_belong_to_the_first_is_refused() {
    // CVE-2024-56128: the nonce must be the one that the server has sent
    for (name, last) in [
        ("another nonce", CLIENT_FINAL.replace("hNlF", "hNlG")),
        ("the client's nonce alone", CLIENT_FINAL.replace(NONCE, "")),
        ("another binding", CLIENT_FINAL.replace("c=biws", "c=eSws")),
        (
            "no proof",
            CLIENT_FINAL.split(",p=").next().unwrap_or_default().to_owned(),
        ),
        (
            "a short proof",
            CLIENT_FINAL.replace("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", "AAAA"),
        ),
        (
            "an empty proof",
            CLIENT_FINAL.replace("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", ""),
        ),
        ("nothing", String::new()),
    ] {
        let (exchange, _) = begin(CLIENT_FIRST, credential());
        assert!(exchange.finish(last.as_bytes()).is_err(), "{name}");
    }
}

#[test]
fn the_clients_nonce_may_stand_twice_where_the_proof_is_of_such_a_message() {
    // librdkafka before 2.6.1; Apache Kafka refuses it since 3.7.2
    let credential = credential();
    let salted = BASE64.decode(SALTED_PASSWORD).unwrap();
    let client_key = ScramMechanism::Sha256.mac(&salted, b"Client Key");
    let (exchange, challenge) = begin(CLIENT_FIRST, credential.clone());
    let without_proof = format!("c=biws,r=rOprNGfwEbeRWgbNEkqOrOprNGfwEbeRWgbNEkqO{NONCE}");
    let bound = format!("{},{challenge},{without_proof}", &CLIENT_FIRST[3..]);
    let signature = ScramMechanism::Sha256.mac(&credential.stored_key, bound.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    let last = format!("{without_proof},p={}", BASE64.encode(proof));
    assert!(exchange.finish(last.as_bytes()).is_ok());
}

#[test]
fn first_messages_that_are_not_of_scram_are_refused() {
    for first in [
        "",
        "n",
        "n,",
        "n,,",
        "y,,n=user,r=abc",
        "p=tls-unique,,n=user,r=abc",
        "n,,n=,r=abc",
        "n,,n=user",
        "n,,n=user,r=",
        "n,,r=abc,n=user",
        "n,,n=us=er,r=abc",
        "n,,n=us=2c,r=abc",
        "n,,n=us\0er,r=abc",
        "n,,n=user,r=a\u{e9}",
        "n,,n=user,r=abc,m=x",
        "n,,n=user,r=abc,x",
        "n,x=user,n=user,r=abc",
        "n,a=other,n=user,r=abc",
    ] {
        assert!(ClientFirst::parse(first.as_bytes()).is_err(), "{first:?}");
    }
    assert!(ClientFirst::parse(b"n,,n=\xff,r=abc").is_err());
    assert!(ClientFirst::parse("n".repeat(1 << 20).as_bytes()).is_err());
}

#[test]
fn names_with_commas_and_equals_signs_and_ones_own_identity_are_read() {
    let first = ClientFirst::parse(b"n,a=a=2Cb=3D,n=a=2Cb=3D,r=abc").unwrap();
    assert_eq!((first.user.as_str(), first.is_token), ("a,b=", false));
    let first = ClientFirst::parse(b"n,,n=id,r=abc,tokenauth=true").unwrap();
    assert!(first.is_token);
}

#[test]
fn bytes_are_equal_only_when_all_of_them_are() {
    assert!(is_equal(b"", b""));
    assert!(is_equal(b"abc", b"abc"));
    for other in [&b"abd"[..], b"ab", b"abcd", b""] {
        assert!(!is_equal(b"abc", other));
    }
}

proptest! {
    /// Nobody gets in with, or breaks anything by, whatever bytes.
    #[test]
    fn whatever_a_client_sends_is_refused(first in ".{0,80}", last in ".{0,80}", bytes: Vec<u8>) {
        let _ = ClientFirst::parse(&bytes);
        let _ = ClientFirst::parse(format!("n,,n=broker,{first}").as_bytes());
        let (exchange, _) = begin("n,,n=broker,r=a", credential());
        let message = format!("c=biws,r=a{NONCE},{last}");
        prop_assert!(exchange.finish(message.as_bytes()).is_err());
        let (exchange, _) = begin("n,,n=broker,r=a", credential());
        prop_assert!(exchange.finish(&bytes).is_err());
    }
}
