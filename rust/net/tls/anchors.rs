//! The certificates of a truststore: authorities, and certificates that are trusted as they are, as a self-signed one
//! of `keytool -genkeypair` is.
//!
//! rustls takes each of them for an authority, whatever the certificate says of itself: who has the key of a client's
//! self-signed certificate could sign certificates for others. So there are two verifiers, one that knows the
//! authorities, and one that knows the others and is asked only for a certificate that is one of them. What counts as
//! an authority is Java's rule: a certificate of version 3 says that it is one, and no usage of its key contradicts
//! that.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, DistinguishedName, Error, RootCertStore};
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

/// See the module. `V` is the verifier of rustls for clients or for servers.
#[derive(Debug)]
pub struct Anchors<V: ?Sized> {
    by_authority: Option<Arc<V>>,
    by_itself: Option<Arc<V>>,
    themselves: Vec<CertificateDer<'static>>,
    names: Vec<DistinguishedName>,
    /// One of both, for what does not depend on the certificates.
    any: Arc<V>,
}

impl<V: ?Sized> Anchors<V> {
    /// `build` makes the verifier of certificates that one of these signed. `None` when nothing is trusted.
    pub fn new(
        trusted: Vec<CertificateDer<'static>>,
        build: impl Fn(RootCertStore) -> Result<Arc<V>, String>,
    ) -> Result<Option<Self>, String> {
        let names = roots(trusted.iter())?.subjects();
        let (authorities, themselves): (Vec<_>, Vec<_>) = trusted.into_iter().partition(|one| may_sign(one));
        let made = |certificates: &[CertificateDer<'static>]| {
            let some = (!certificates.is_empty()).then(|| roots(certificates.iter()));
            some.transpose()?.map(&build).transpose()
        };
        let (by_authority, by_itself) = (made(&authorities)?, made(&themselves)?);
        Ok(by_authority
            .as_ref()
            .or(by_itself.as_ref())
            .map(Arc::clone)
            .map(|any| Self {
                by_authority,
                by_itself,
                themselves,
                names,
                any,
            }))
    }

    /// The verifier, for what does not depend on the certificates.
    pub fn any(&self) -> &V {
        &self.any
    }

    /// The names of all that are trusted.
    pub fn names(&self) -> &[DistinguishedName] {
        &self.names
    }

    /// Has the other end's certificate, and those above it, checked.
    pub fn check<T>(
        &self,
        own: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        check: impl Fn(&V, &[CertificateDer<'_>]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let is_itself = self.themselves.iter().any(|one| one == own);
        if let Some(by_itself) = self.by_itself.as_ref().filter(|_| is_itself)
            && let Ok(verified) = check(by_itself, &[])
        {
            return Ok(verified);
        }
        match &self.by_authority {
            Some(by_authority) => check(by_authority, above),
            None if is_itself => check(&self.any, &[]),
            None => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }
}

/// For rustls.
fn roots<'a>(trusted: impl Iterator<Item = &'a CertificateDer<'static>>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots
            .add(certificate.clone())
            .map_err(|error| format!("ssl.truststore has a certificate that cannot be used: {error}"))?;
    }
    Ok(roots)
}

/// Whether a trusted certificate is an authority. Certificates before version 3 cannot say.
fn may_sign(certificate: &[u8]) -> bool {
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
    let usage = read.key_usage().ok().flatten();
    is_authority && usage.is_none_or(|said| said.value.key_cert_sign())
}

#[cfg(test)]
mod tests;
