//! What is issued is what a broker with TLS takes.

use std::collections::HashMap;

use super::*;
use crate::tls::context::TlsContext;
use client::tls::settings::Settings;

const NOW_S: i64 = 1_800_000_000;

#[test]
fn issued_certificates_make_a_listener_that_checks_clients() {
    let hosts = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let issued = issue(&hosts, &["alice".to_owned()], NOW_S, 365, None).unwrap();
    let pairs = HashMap::from(
        [
            ("ssl.keystore.certificate.chain", issued.broker.certificate.as_str()),
            ("ssl.keystore.key", issued.broker.key.as_str()),
            ("ssl.truststore.certificates", issued.authority.certificate.as_str()),
            ("ssl.client.auth", "required"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    assert_eq!(TlsContext::new(&Settings(&pairs)).err(), None);
    assert_eq!(issued.users.len(), 1);
    assert_ne!(issued.users[0].key, issued.broker.key);
}

#[test]
fn dates_out_of_range_are_an_error() {
    assert!(issue(&[], &[], NOW_S, i64::MAX, None).is_err());
}

#[test]
fn what_a_key_is_not_is_an_error() {
    let refused = issue(&[], &[], NOW_S, 1, Some("no key")).err().unwrap();
    assert!(refused.contains("no private key"), "{refused}");
}
