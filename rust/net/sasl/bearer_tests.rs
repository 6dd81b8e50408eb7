//! What a client's message and a key set may look like. Tokens, forged ones too: `tests/clients/test_oauthbearer.py`.

use super::*;

fn parse(message: &str) -> Result<ClientMessage<'_>, Refused> {
    ClientMessage::parse(message.as_bytes())
}

#[test]
fn messages_of_rfc_7628_are_read() {
    for (message, identity, token) in [
        ("n,,\x01auth=Bearer a.b.c\x01\x01", None, "a.b.c"),
        ("n,a=alice,\x01auth=bearer a.b.c\x01\x01", Some("alice"), "a.b.c"),
        (
            "n,a=a=2Cb=3D,\x01host=h\x01port=1\x01auth=Bearer  a.b.c\x01traceId=x=y\x01\x01",
            Some("a,b="),
            "a.b.c",
        ),
    ] {
        let identity = identity.map(str::to_owned);
        assert_eq!(parse(message), Ok(ClientMessage { identity, token }), "{message:?}");
    }
}

#[test]
fn messages_that_are_not_of_rfc_7628_are_refused() {
    for message in [
        "",
        "\x01",
        "n,,",
        "n,,\x01\x01",
        "n,,\x01auth=Bearer a.b.c",
        "n,,\x01auth=Bearer a.b.c\x01",
        "n,,\x01auth=Basic YTpi\x01\x01",
        "n,,\x01auth=a.b.c\x01\x01",
        "n,,\x01auth=Bearer a\x01auth=Bearer b\x01\x01",
        "n,,\x01host=h\x01\x01",
        "n,,\x01auth\x01\x01",
        "n,,\x01=x\x01auth=Bearer a\x01\x01",
        "n,,\x01a1=x\x01auth=Bearer a\x01\x01",
        "y,,\x01auth=Bearer a\x01\x01",
        "p=tls-unique,,\x01auth=Bearer a\x01\x01",
        "n,alice,\x01auth=Bearer a\x01\x01",
        "n,a=,\x01auth=Bearer a\x01\x01",
    ] {
        assert!(parse(message).is_err(), "{message:?}");
    }
    assert!(ClientMessage::parse(b"n,,\x01auth=Bearer \xff\x01\x01").is_err());
    let long = format!("n,,\x01auth=Bearer {}\x01\x01", "a".repeat(1 << 20));
    assert!(parse(&long).is_err());
}

#[test]
fn sets_without_a_public_key_that_signs_are_refused_and_change_nothing() {
    let bearer = Bearer::new(TokenRules::default());
    let modulus = "_".repeat(341) + "w";
    let of_modulus = |n: &str| format!(r#"{{"keys":[{{"kty":"RSA","n":"{n}","e":"AQAB","kid":"a"}}]}}"#);
    for set in [
        "",
        "{}",
        "[]",
        r#"{"keys":[]}"#,
        r#"{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"a"}]}"#,
        r#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","use":"enc"}]}"#,
        r#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","alg":"HS256"}]}"#,
        r#"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA","alg":"RS256"}]}"#,
    ] {
        assert!(bearer.set_keys(set).is_err(), "{set}");
    }
    for n in ["AQAB", &modulus[2..], &modulus.repeat(5)] {
        assert!(bearer.set_keys(&of_modulus(n)).is_err(), "a key of {} letters", n.len());
    }
    assert_eq!(bearer.set_keys(&of_modulus(&modulus)), Ok(1));
    assert!(bearer.set_keys("{}").is_err());
    assert_eq!(bearer.keys.load().len(), 1);
}

#[test]
fn without_keys_every_token_is_refused() {
    let bearer = Bearer::new(TokenRules::default());
    // {"alg":"RS256"}.{"sub":"alice"}.x, then {"alg":"none"} and {"alg":"HS256"}
    for token in [
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.eA",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.eA",
        "a.b.c",
        "",
    ] {
        let message = ClientMessage { identity: None, token };
        assert!(bearer.check(&message, 0).is_err(), "{token}");
    }
}
