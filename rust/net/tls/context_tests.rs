//! Mistakes in the `ssl.*` keys, each a sentence with the key.

use std::collections::HashMap;

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::*;

fn refused(more: &[(&str, &str)]) -> String {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let mut pairs = HashMap::from([
        ("ssl.keystore.certificate.chain".to_owned(), cert.pem()),
        ("ssl.keystore.key".to_owned(), signing_key.serialize_pem()),
    ]);
    pairs.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    TlsContext::new(&Settings(&pairs)).err().unwrap_or_default()
}

#[test]
fn right_settings_are_taken() {
    assert_eq!(refused(&[]), "");
    assert_eq!(refused(&[("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256")]), "");
    assert_eq!(refused(&[("ssl.enabled.protocols", "TLSv1.2")]), "");
}

#[test]
fn each_mistake_names_its_key() {
    let other = generate_simple_self_signed(vec!["localhost".to_owned()])
        .unwrap()
        .signing_key
        .serialize_pem();
    let cases: [(&[(&str, &str)], &str); 8] = [
        (
            &[("ssl.enabled.protocols", "TLSv1.1,TLSv1.2")],
            "ssl.enabled.protocols=TLSv1.1 is not served",
        ),
        (
            &[("ssl.cipher.suites", "TLS_NULL")],
            "ssl.cipher.suites=TLS_NULL is not served",
        ),
        (
            &[
                ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256"),
                ("ssl.enabled.protocols", "TLSv1.2"),
            ],
            "ssl.enabled.protocols and ssl.cipher.suites do not go together",
        ),
        (&[("ssl.client.auth", "required")], "set ssl.truststore.location"),
        (&[("ssl.keystore.key", "")], "set both"),
        (
            &[("ssl.keystore.key", "-----BEGIN PRIVATE KEY-----")],
            "ssl.keystore.key has no private key",
        ),
        (
            &[("ssl.keystore.key", &other)],
            "give a key and the certificate of this key",
        ),
        (
            &[
                ("ssl.keystore.certificate.chain", ""),
                ("ssl.keystore.location", "/proc/self/mem"),
            ],
            "ssl.keystore.location=/proc/self/mem",
        ),
    ];
    for (given, said) in cases {
        let found = refused(given);
        assert!(found.contains(said), "{given:?}: {found}");
        assert!(!found.contains("PRIVATE KEY-----\n"), "a key in a message");
    }
}
