//! Of certificates that `issue` has made.

use std::collections::HashMap;

use super::super::issue::issue;
use super::*;

const NOW_S: i64 = 1_800_000_000;
const DAY_S: i64 = 86_400;

#[test]
fn the_own_certificate_and_those_of_authorities_have_their_ends() {
    let issued = issue(&["a.example".to_owned()], &[], NOW_S, 30, None).unwrap();
    let longer = issue(&[], &[], NOW_S, 60, Some(&issued.authority.key)).unwrap();
    let pairs = HashMap::from(
        [
            ("ssl.keystore.certificate.chain", issued.broker.certificate.as_str()),
            ("ssl.keystore.key", issued.broker.key.as_str()),
            ("ssl.truststore.certificates", longer.authority.certificate.as_str()),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    let found = endings(&Settings(&pairs)).unwrap();
    let expected = [
        ("ssl.keystore", "CN=a.example", NOW_S + 30 * DAY_S),
        ("ssl.truststore", "CN=kafkastore private authority", NOW_S + 60 * DAY_S),
    ];
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.key, one.subject.as_str(), one.ends_s))
        .collect();
    assert_eq!(found, expected);
    assert!(endings(&Settings(&HashMap::new())).is_err(), "there is none");
}

#[test]
fn hosts_are_those_that_the_certificate_was_made_for() {
    let given = ["a.example", "10.0.0.1", "::1"].map(ToOwned::to_owned);
    let issued = issue(&given, &["alice".to_owned()], NOW_S, 30, None).unwrap();
    assert_eq!(hosts(issued.broker.certificate.as_bytes()), Some(given.to_vec()));
    assert_eq!(hosts(issued.users[0].certificate.as_bytes()), Some(Vec::new()));
    assert_eq!(hosts(b"none"), None);
}
