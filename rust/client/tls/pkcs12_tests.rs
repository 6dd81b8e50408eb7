//! Stores of keytool and of OpenSSL (`tests/fixtures/stores/make.py`), with the right password and with wrong ones, and
//! damaged.

use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use rustls::crypto::ring::sign::any_supported_type;
use serde_json::Value;

use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/stores")
}

/// Each store: its name, its bytes, its password, and the hashes of its chain and of what it trusts.
fn stores() -> Vec<(String, Vec<u8>, String, Value)> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let all = all.as_object().unwrap().clone().into_iter();
    all.map(|(name, expected)| {
        let bytes = std::fs::read(folder().join(&name)).unwrap();
        let password = expected["password"].as_str().unwrap().to_owned();
        (name, bytes, password, expected)
    })
    .collect()
}

fn store(name: &str) -> (Vec<u8>, String) {
    let found = stores().into_iter().find(|(known, ..)| known == name);
    found.map(|(_, bytes, password, _)| (bytes, password)).unwrap()
}

fn hashes(certificates: &[CertificateDer<'_>]) -> Value {
    let hash = |one: &CertificateDer<'_>| format!("{:?}", digest(&SHA256, one)).replace("SHA256:", "");
    certificates.iter().map(hash).collect()
}

#[test]
fn stores_of_java_and_openssl_are_read() {
    let stores = stores();
    assert_eq!(stores.len(), 14);
    for (name, bytes, password, expected) in stores {
        let store = Store::read(&bytes, &password).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (chain, key) = store
            .identity()
            .map_or_else(|| (Vec::new(), None), |(chain, key)| (chain, Some(key)));
        assert_eq!(hashes(&chain), expected["chain"], "{name}");
        assert_eq!(hashes(&store.trusted()), expected["trusted"], "{name}");
        assert_eq!(key.is_some(), !chain.is_empty());
        if let Some(key) = key {
            assert!(any_supported_type(&key).is_ok(), "{name} has a key that signs");
        }
    }
}

#[test]
fn stores_are_not_read_by_another_password() {
    for (name, bytes, _, _) in stores() {
        let read = Store::read(&bytes, "another").map(drop);
        let is_open = name == "java-trust-open.p12";
        assert_eq!(read.is_ok(), is_open, "{name}");
        assert!(is_open || read == Err(Error::Password), "{name}: {read:?}");
    }
}

#[test]
fn store_with_a_changed_byte_in_its_contents_is_not_read() {
    let (bytes, password) = store("openssl-open.p12");
    for at in (60..bytes.len() - 120).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(Store::read(&changed, &password).is_err(), "another byte {at}");
    }
}

/// Cut short, or with any byte changed, a store without a MAC is read or refused; it never panics or takes long.
#[test]
fn damaged_store_without_a_mac_is_read_or_refused() {
    let (bytes, password) = store("java-trust-open.p12");
    for end in 0..bytes.len() {
        assert!(Store::read(&bytes[..end], &password).is_err(), "cut at {end}");
        for value in [0, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[end] = value;
            let _ = Store::read(&changed, &password).map(|store| (store.identity(), store.trusted()));
        }
    }
}

/// OpenSSL writes a salt of 8 bytes and 2,048 iterations. A byte of the salt becomes one of the number.
#[test]
fn passwords_that_are_dear_to_hash_are_refused() {
    for name in ["openssl.p12", "openssl-no-mac.p12"] {
        let (mut bytes, password) = store(name);
        let at = (0..=bytes.len() - 4)
            .rfind(|at| bytes[*at..].starts_with(&[2, 2, 8, 0]))
            .unwrap();
        assert_eq!(bytes[at - 10..at - 8], [4, 8], "{name}");
        bytes[at - 9] = 7;
        bytes[at - 1..at + 4].copy_from_slice(&[2, 3, 0x7f, 0xff, 0xff]);
        assert_eq!(Store::read(&bytes, &password).map(drop), Err(Error::Costly), "{name}");
    }
}

/// The store without a MAC derives the key of its private key by HMAC-SHA-256; here it says HMAC-SHA-1.
#[test]
fn what_is_not_read_is_named_and_is_no_wrong_password() {
    let (mut bytes, password) = store("openssl-no-mac.p12");
    let (sha_256, sha_1) = ([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2, 9], 7);
    let at = (0..bytes.len()).find(|at| bytes[*at..].starts_with(&sha_256)).unwrap();
    bytes[at + 7] = sha_1;
    let refused = Store::read(&bytes, &password).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "it has 1.2.840.113549.2.7, which is not read");
}

fn certificate_of(subject: &str, issuer: &str, id: Option<&[u8]>) -> Certificate {
    Certificate {
        id: id.map(<[u8]>::to_vec),
        is_trusted: false,
        subject: subject.into(),
        issuer: issuer.into(),
        der: CertificateDer::from(subject.as_bytes().to_vec()),
    }
}

fn key_of(name: &str, id: &[u8]) -> Key {
    Key {
        name: Some(name.into()),
        id: Some(id.to_vec()),
        der: name.into(),
    }
}

fn chain_of(store: &Store) -> Vec<&str> {
    let own = store.certificate_of(&store.keys[0]).unwrap();
    let chain = store.chain(own);
    let subjects = chain
        .iter()
        .filter_map(|der| store.certificates.iter().find(|one| one.der == *der));
    subjects.map(|one| one.subject.as_str()).collect()
}

#[test]
fn chain_goes_up_to_the_root_and_ends_in_a_circle() {
    let mut store = Store {
        keys: vec![key_of("k", b"1")],
        certificates: vec![
            certificate_of("root", "root", None),
            certificate_of("own", "middle", Some(b"1")),
            certificate_of("middle", "root", None),
            certificate_of("alien", "root", None),
        ],
    };
    assert_eq!(chain_of(&store), ["own", "middle", "root"]);
    store.certificates[0].issuer = "middle".into();
    assert_eq!(chain_of(&store), ["own", "middle", "root"]);
    store.certificates[0].is_trusted = true;
    assert_eq!(chain_of(&store), ["own", "middle"]);
}

#[test]
fn first_key_by_name_that_has_a_certificate_is_the_identity() {
    let store = Store {
        keys: vec![key_of("c", b"3"), key_of("b", b"2"), key_of("a", b"1")],
        certificates: vec![
            certificate_of("of-c", "x", Some(b"3")),
            certificate_of("of-b", "x", Some(b"2")),
        ],
    };
    let (chain, key) = store.identity().unwrap();
    assert_eq!((chain[0].as_ref(), key.secret_der()), (&b"of-b"[..], &b"b"[..]));
    assert_eq!(store.trusted().len(), 2);
}
