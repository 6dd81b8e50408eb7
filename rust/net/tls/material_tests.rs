//! Which certificates of a store are trusted.

use std::collections::HashMap;

use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::issue::issue;
use client::tls::material::certificates;
use client::tls::settings::Settings;

/// 2026-01-01, in seconds.
const NOW_S: i64 = 1_767_225_600;

fn der(pem: &str) -> Vec<u8> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

#[test]
fn authority_above_a_key_of_the_truststore_is_not_trusted() {
    let ours = issue(&["localhost".to_owned()], &[], NOW_S, 30, None).unwrap();
    let clients = issue(&["localhost".to_owned()], &[], NOW_S, 30, None)
        .unwrap()
        .authority;
    let key = PrivateKeyDer::from_pem_slice(ours.broker.key.as_bytes()).unwrap();
    let chain =
        [&ours.broker.certificate, &ours.authority.certificate].map(|pem| Certificate::from_der(&der(pem)).unwrap());
    let chain = PrivateKeyChain::new(
        [1_u8, 2].as_slice(),
        PrivateKey::from_der(key.secret_der()).unwrap(),
        chain,
    );
    let mut store = KeyStore::new();
    store.add_entry("broker", KeyStoreEntry::PrivateKeyChain(chain));
    let clients = der(&clients.certificate);
    store.add_entry(
        "clients",
        KeyStoreEntry::Certificate(Certificate::from_der(&clients).unwrap()),
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), store.writer("changeit").write().unwrap()).unwrap();
    let pairs = HashMap::from([
        ("ssl.truststore.location".to_owned(), file.path().display().to_string()),
        ("ssl.truststore.password".to_owned(), "changeit".to_owned()),
    ]);
    let mut trusted = certificates(&Settings(&pairs), "ssl.truststore").unwrap();
    let mut expected = vec![
        CertificateDer::from(clients),
        CertificateDer::from(der(&ours.broker.certificate)),
    ];
    trusted.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    expected.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    assert_eq!(trusted, expected);
}
