//! What a certificate says of itself: how long it is valid, what its key is for (RFC 5280, 4.2.1.3), whether it is an
//! authority. Never: checks a signature.

use x509_parser::extensions::KeyUsage;
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

/// Whether a certificate in DER is valid now. A session that is resumed has the certificate of its beginning.
pub fn is_valid_now(certificate: &[u8]) -> bool {
    X509Certificate::from_der(certificate).is_ok_and(|(_, read)| read.validity().is_valid())
}

/// Whether a certificate in DER is one of an authority, by Java's rule: a certificate of version 3 says that it is one,
/// and that its key is for certificates if it says anything about that. Earlier versions cannot say.
pub fn is_authority(certificate: &[u8]) -> bool {
    let Ok((_, read)) = X509Certificate::from_der(certificate) else {
        return false;
    };
    if read.version().0 < X509Version::V3.0 {
        return true;
    }
    let is_authority = read
        .basic_constraints()
        .ok()
        .flatten()
        .is_some_and(|said| said.value.ca);
    is_authority && may(&read, KeyUsage::key_cert_sign).unwrap_or(false)
}

/// Whether the certificate says that its key has this usage, or says nothing of usages; `None` when what it says cannot
/// be read.
pub fn may(certificate: &X509Certificate<'_>, usage: fn(&KeyUsage) -> bool) -> Option<bool> {
    let said = certificate.key_usage().ok()?;
    Some(said.is_none_or(|said| usage(said.value)))
}
