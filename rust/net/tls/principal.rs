//! The name in a certificate as Java writes it (RFC 2253), on which the rules for principals work.
//!
//! The last part of the name comes first. Attributes that RFC 2253 names are written with their keyword and their value
//! as text; any other attribute is its object identifier, "=#" and its value's DER in hexadecimal.

use std::fmt::Write as _;

use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::AttributeTypeAndValue;

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
    let mut parts: Vec<String> = certificate
        .subject()
        .iter_rdn()
        .map(|part| part.iter().map(attribute).collect::<Vec<_>>().join("+"))
        .collect();
    parts.reverse();
    Some(parts.join(","))
}

fn attribute(given: &AttributeTypeAndValue<'_>) -> String {
    let oid = given.attr_type().to_id_string();
    let keyword = KEYWORDS
        .iter()
        .find(|(known, _)| *known == oid)
        .map(|(_, keyword)| *keyword);
    match (keyword, given.as_str()) {
        (Some(keyword), Ok(text)) => format!("{keyword}={}", escaped(text)),
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

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let last = text.chars().count().saturating_sub(1);
    for (at, letter) in text.chars().enumerate() {
        let is_special = matches!(letter, ',' | '+' | '"' | '\\' | '<' | '>' | ';')
            || (letter == '#' && at == 0)
            || (letter == ' ' && (at == 0 || at == last));
        if is_special {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests;
