//! Names as `javax.security.auth.x500.X500Principal.getName()` writes them.

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::*;

fn named(parts: &[(DnType, &str)]) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in parts {
        params.distinguished_name.push(kind.clone(), *value);
    }
    let key = KeyPair::generate().unwrap();
    subject(params.self_signed(&key).unwrap().der()).unwrap()
}

#[test]
fn last_part_of_the_name_comes_first() {
    let parts = [
        (DnType::CountryName, "US"),
        (DnType::OrganizationName, "Example"),
        (DnType::CommonName, "alice"),
    ];
    assert_eq!(named(&parts), "CN=alice,O=Example,C=US");
}

#[test]
fn special_letters_stand_behind_a_backslash() {
    let cases = [
        ("a,b", r"CN=a\,b"),
        (" a ", r"CN=\ a\ "),
        ("#a#", r"CN=\#a#"),
        (r#"a"+<>;\b"#, r#"CN=a\"\+\<\>\;\\b"#),
        ("a=b", "CN=a=b"),
        ("Zoë", "CN=Zoë"),
    ];
    for (given, expected) in cases {
        assert_eq!(named(&[(DnType::CommonName, given)]), expected);
    }
}

#[test]
fn attribute_without_a_keyword_is_its_identifier_and_der() {
    let parts = [(DnType::CustomDnType(vec![2, 5, 4, 5]), "7"), (DnType::CommonName, "a")];
    assert_eq!(named(&parts), "CN=a,2.5.4.5=#0c0137");
}

#[test]
fn bytes_that_are_no_certificate_have_no_name() {
    assert_eq!(subject(b""), None);
    assert_eq!(subject(&[0x30, 0x82, 0xff, 0xff]), None);
}
