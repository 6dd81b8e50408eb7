//! Tokens of each algorithm, made by `tests/fixtures/tokens/make.py`; with another signature, key or header, no token.

use super::*;

fn fixture() -> Value {
    serde_json::from_str(include_str!("../../../tests/fixtures/tokens/tokens.json")).unwrap()
}

fn keys() -> Vec<PublicKey> {
    public_keys(&fixture()["keys"].to_string()).unwrap()
}

fn is_verified(keys: &[PublicKey], token: &str) -> bool {
    JsonWebToken::parse(token).is_ok_and(|token| keys.iter().any(|key| key.has_signed(&token)))
}

/// Every token with one good signature, by its algorithm.
fn tokens() -> Vec<(String, String)> {
    let tokens = fixture()["tokens"].as_object().unwrap().clone();
    let tokens = tokens.into_iter();
    tokens
        .map(|(name, token)| (name, token.as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn token_of_each_algorithm_is_verified_by_its_key_alone() {
    let (keys, tokens) = (keys(), tokens());
    assert_eq!(tokens.len(), ALGORITHMS.len());
    for (name, token) in &tokens {
        let token = JsonWebToken::parse(token).unwrap();
        assert_eq!(token.algorithm.name, name);
        let signers: Vec<_> = keys.iter().filter(|key| key.has_signed(&token)).collect();
        assert_eq!(signers.len(), 1, "{name}");
        assert_eq!(signers[0].id, token.key_id);
        assert_eq!(token.claims().unwrap()["sub"], "alice");
    }
    assert!(is_verified(&keys, fixture()["of a large key"].as_str().unwrap()));
}

#[test]
fn token_with_a_byte_changed_anywhere_is_not_verified() {
    let keys = keys();
    for (name, token) in tokens() {
        for at in (0..token.len()).step_by(7) {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(!is_verified(&keys, &changed), "{name} with another byte {at}");
        }
        let (signed, _) = token.rsplit_once('.').unwrap();
        assert!(!is_verified(&keys, &format!("{signed}.")), "{name} without a signature");
    }
}

/// The signature of one algorithm under the header of another, which names the same key or none.
#[test]
fn signature_of_another_algorithm_is_not_verified() {
    let (keys, tokens) = (keys(), tokens());
    for (name, token) in &tokens {
        let parts: Vec<&str> = token.split('.').collect();
        for (other, _) in tokens.iter().filter(|(other, _)| other != name) {
            let header = BASE64_URL.encode(format!(r#"{{"alg":"{other}"}}"#));
            assert!(
                !is_verified(&keys, &format!("{header}.{}.{}", parts[1], parts[2])),
                "{name} as {other}"
            );
        }
    }
}

#[test]
fn rsa_keys_of_fewer_than_2048_bits_are_left_out() {
    let small = fixture()["small"].to_string();
    assert!(public_keys(&small).unwrap().is_empty());
}

#[test]
fn modulus_with_a_zero_before_it_is_read() {
    let mut set = fixture()["keys"].clone();
    for key in set["keys"].as_array_mut().unwrap() {
        if let Some(n) = key["n"].as_str() {
            let padded = [&[0], BASE64_URL.decode(n).unwrap().as_slice()].concat();
            key["n"] = BASE64_URL.encode(padded).into();
        }
    }
    let keys = public_keys(&set.to_string()).unwrap();
    let (_, token) = tokens().into_iter().find(|(name, _)| name == "RS256").unwrap();
    assert!(is_verified(&keys, &token));
}

#[test]
fn key_for_one_algorithm_verifies_no_other() {
    let (_, token) = tokens().into_iter().find(|(name, _)| name == "RS256").unwrap();
    for (algorithm, expected) in [("RS256", true), ("PS256", false), ("ES256", false), ("HS256", false)] {
        let mut set = fixture()["keys"].clone();
        set["keys"][0]["alg"] = algorithm.into();
        let keys = public_keys(&set.to_string()).unwrap();
        assert_eq!(is_verified(&keys, &token), expected, "{algorithm}");
    }
}

/// RFC 7517, section 5: keys that are not understood are left out, and the others count.
#[test]
fn malformed_keys_of_a_set_are_left_out() {
    let mut set = fixture()["keys"].clone();
    let whole = set["keys"].as_array().unwrap().len();
    let all = set["keys"].as_array_mut().unwrap();
    for (name, value) in [
        ("kid", Value::from(1)),
        ("use", "enc".into()),
        ("x", "*".into()),
        ("crv", "P-384".into()),
    ] {
        let mut bad = all[2].clone();
        bad[name] = value;
        all.push(bad);
    }
    all.push(Value::Null);
    all.push("key".into());
    assert_eq!(public_keys(&set.to_string()).unwrap().len(), whole);
}

#[test]
fn headers_that_are_not_understood_make_no_token() {
    let with = |header: &str| format!("{}.e30.eA", BASE64_URL.encode(header));
    for (header, why) in [
        ("[]", TokenError::Malformed),
        ("{}", TokenError::Malformed),
        (r#"{"alg":1}"#, TokenError::Malformed),
        (r#"{"alg":"RS256","kid":1}"#, TokenError::Malformed),
        (r#"{"alg":"HS256","alg":"RS256"}"#, TokenError::Malformed),
        (r#"{"alg":"none"}"#, TokenError::NoPublicKey),
        (r#"{"alg":"HS256"}"#, TokenError::NoPublicKey),
        (r#"{"alg":"rs256"}"#, TokenError::NoPublicKey),
        (r#"{"alg":"RS256","crit":["b64"]}"#, TokenError::Extended),
        (r#"{"alg":"RS256","crit":[]}"#, TokenError::Extended),
    ] {
        assert_eq!(JsonWebToken::parse(&with(header)).unwrap_err(), why, "{header}");
    }
    assert!(JsonWebToken::parse(&with(r#"{"alg":"RS256"}"#)).is_ok());
    for token in ["", "a", "a.b", "e30.e30", "e30.e30.e30.eA", "e30.e30.e30="] {
        assert_eq!(
            JsonWebToken::parse(token).unwrap_err(),
            TokenError::Malformed,
            "{token}"
        );
    }
}

#[test]
fn claims_in_which_a_name_stands_twice_do_not_count() {
    let fixture = fixture();
    let token = JsonWebToken::parse(fixture["two users"].as_str().unwrap()).unwrap();
    assert!(keys().iter().any(|key| key.has_signed(&token)));
    assert!(token.claims().is_none());
}
