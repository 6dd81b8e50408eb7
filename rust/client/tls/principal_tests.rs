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

/// A name of one common name, whose text has the type of the tag.
fn of_text(tag: u8, text: &[u8]) -> String {
    let wrapped = |tag: u8, data: &[u8]| [&[tag, u8::try_from(data.len()).unwrap()], data].concat();
    let attribute = [&[6, 3, 0x55, 4, 3], &wrapped(tag, text)[..]].concat();
    let der = wrapped(0x30, &wrapped(0x31, &wrapped(0x30, &attribute)));
    written(&X509Name::from_der(&der).unwrap().1)
}

const UTF_8: u8 = 0x0c;
const PRINTABLE: u8 = 0x13;
const T61: u8 = 0x14;
const IA5: u8 = 0x16;
const UNIVERSAL: u8 = 0x1c;
const GENERAL: u8 = 0x1b;
const BMP: u8 = 0x1e;

/// Asked of Java 25: an ACL or `super.users` that was written for Kafka names the same principal here.
#[test]
fn special_letters_stand_behind_a_backslash() {
    let cases = [
        ("app=orders", r"CN=app\=orders"),
        ("a#b", r"CN=a\#b"),
        ("#a#", r"CN=\#a\#"),
        ("a,b", r"CN=a\,b"),
        (" a ", r"CN=\ a\ "),
        ("  a  b  ", r"CN=\ \ a  b\ \ "),
        (" ", r"CN=\ "),
        ("", "CN="),
        (r#"a"+<>;\b"#, r#"CN=a\"\+\<\>\;\\b"#),
        ("\ra\r", "CN=\\\ra\\\r"),
        ("\ta\n", "CN=\ta\n"),
        ("a\0b", r"CN=a\00b"),
        ("a/b*c@d'(e):?-.", "CN=a/b*c@d'(e):?-."),
        ("Zoë\u{1f600}", "CN=Zoë\u{1f600}"),
    ];
    for (given, expected) in cases {
        assert_eq!(of_text(UTF_8, given.as_bytes()), expected);
    }
}

#[test]
fn texts_of_every_encoding_are_decoded() {
    let cases: [(u8, &[u8], &str); 12] = [
        (UTF_8, b"a\xffb", "CN=a\u{fffd}b"),
        (UTF_8, b"\xe2\x82b", "CN=\u{fffd}b"),
        (PRINTABLE, b"a@\xe9", "CN=a@é"),
        (T61, b"Zo\xeb", "CN=Zoë"),
        (IA5, b"a\xe9", "CN=aé"),
        (GENERAL, b"a\xe9", "CN=aé"),
        (BMP, b"\0Z\0o\0\xeb", "CN=Zoë"),
        (BMP, b"\0a\0", "CN=a\u{fffd}"),
        (UNIVERSAL, b"\0\0\0a", "CN=#1c0400000061"),
        (0x12, b"12", "CN=#12023132"),
        (0x1a, b"ab", "CN=#1a026162"),
        (0x02, b"\x05", "CN=#020105"),
    ];
    for (tag, text, expected) in cases {
        assert_eq!(of_text(tag, text), expected);
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
