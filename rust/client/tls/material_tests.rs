//! Which certificates of a store are trusted, and what is said of a wrong password.

use std::collections::HashMap;

use super::*;

fn read(store: &str, password: &str, prefix: &str) -> HashMap<String, String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/stores");
    HashMap::from([
        (format!("{prefix}.location"), format!("{folder}/{store}")),
        (format!("{prefix}.password"), password.to_owned()),
    ])
}

#[test]
fn authority_above_a_key_of_the_truststore_is_not_trusted() {
    let of_key = read("openssl.p12", "changeit", "ssl.keystore");
    let chain = identity(&Settings(&of_key), "ssl.keystore").unwrap().chain;
    assert_eq!(chain.len(), 2);
    let pairs = read("openssl.p12", "changeit", "ssl.truststore");
    let trusted = certificates(&Settings(&pairs), "ssl.truststore").unwrap();
    assert_eq!(trusted, chain[..1]);
}

#[test]
fn wrong_password_is_named_with_its_key_and_the_store() {
    let pairs = read("java.p12", "another", "ssl.keystore");
    let said = identity(&Settings(&pairs), "ssl.keystore").map(drop).unwrap_err();
    let expected = "/java.p12 cannot be opened with ssl.keystore.password: the password is wrong";
    assert!(
        said.starts_with("ssl.keystore.location=") && said.ends_with(expected),
        "{said}"
    );
}

#[test]
fn absent_password_is_asked_for() {
    let mut pairs = read("java.p12", "changeit", "ssl.keystore");
    pairs.remove("ssl.keystore.password");
    let said = identity(&Settings(&pairs), "ssl.keystore").map(drop).unwrap_err();
    let expected = "/java.p12 has a password; set ssl.keystore.password";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn store_without_a_key_is_no_keystore() {
    let pairs = read("java-trust.p12", "changeit", "ssl.keystore");
    let said = identity(&Settings(&pairs), "ssl.keystore").map(drop).unwrap_err();
    assert!(
        said.ends_with("/java-trust.p12 has no private key; put the key of this broker into it"),
        "{said}"
    );
}
