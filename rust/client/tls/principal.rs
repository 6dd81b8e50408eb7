//! The name in a certificate as Java writes it (RFC 2253), on which the rules for principals work.
//!
//! The last part of the name comes first. Attributes that RFC 2253 names are written with their keyword and their value
//! as text, if it is one; any other attribute is its object identifier, "=#" and its value's DER in hexadecimal. Texts
//! are decoded as Java 25 does; up to Java 17 it took all of them for UTF-8.

use std::fmt::Write as _;

use x509_parser::asn1_rs::Tag;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// The keywords of RFC 2253, by object identifier.
const KEYWORDS: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
];

/// The subject of a certificate in DER; `None` when it is no certificate.
pub fn subject(certificate: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    Some(written(certificate.subject()))
}

fn written(name: &X509Name<'_>) -> String {
    let parts = name.iter_rdn();
    let mut parts: Vec<String> = parts
        .map(|part| part.iter().map(attribute).collect::<Vec<_>>().join("+"))
        .collect();
    parts.reverse();
    parts.join(",")
}

fn attribute(given: &AttributeTypeAndValue<'_>) -> String {
    let oid = given.attr_type().to_id_string();
    let keyword = KEYWORDS
        .iter()
        .find(|(known, _)| *known == oid)
        .map(|(_, keyword)| *keyword);
    match (keyword, text(given)) {
        (Some(keyword), Some(text)) => format!("{keyword}={}", escaped(&text)),
        (keyword, _) => {
            let value = given.attr_value();
            let mut der = vec![value.header.tag().0 as u8];
            let length = value.data.len();
            match length {
                0..=0x7f => der.push(length as u8),
                0x80..=0xff => der.extend([0x81, length as u8]),
                _ => der.extend([0x82, (length >> 8) as u8, length as u8]),
            }
            der.extend_from_slice(value.data);
            let mut out = format!("{}=#", keyword.unwrap_or(&oid));
            for byte in der {
                // Writing to a string does not fail.
                let _ = write!(out, "{byte:02x}");
            }
            out
        }
    }
}

/// `None` for what is no text. Bytes that are none of the encoding become U+FFFD.
fn text(given: &AttributeTypeAndValue<'_>) -> Option<String> {
    let value = given.attr_value();
    match value.tag() {
        Tag::Utf8String => Some(String::from_utf8_lossy(value.data).into_owned()),
        Tag::PrintableString | Tag::T61String | Tag::Ia5String | Tag::GeneralString => {
            Some(value.data.iter().copied().map(char::from).collect())
        }
        Tag::BmpString => {
            let pairs = value.data.chunks_exact(2);
            let half = (!pairs.remainder().is_empty()).then_some(0xfffd);
            let units: Vec<u16> = pairs
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .chain(half)
                .collect();
            Some(String::from_utf16_lossy(&units))
        }
        _ => None,
    }
}

fn escaped(text: &str) -> String {
    let is_space = |letter: char| matches!(letter, ' ' | '\r');
    let lead = text.len() - text.trim_start_matches(is_space).len();
    let trail = text.trim_end_matches(is_space).len();
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if letter == '\0' {
            out.push_str("\\00");
            continue;
        }
        if at < lead || at >= trail || matches!(letter, ',' | '=' | '+' | '<' | '>' | '#' | ';' | '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
#[path = "principal_tests.rs"]
mod tests;
