//! The certificates of a truststore: authorities, and certificates that are trusted as they are, as a self-signed one
//! of `keytool -genkeypair` is.
//!
//! rustls takes each of them for an authority, whatever the certificate says of itself: who has the key of a client's
//! self-signed certificate could sign certificates for others. So there are two verifiers, one that knows the
//! authorities, and one that knows the others and is asked only for a certificate that is one of them.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, DistinguishedName, Error, RootCertStore};

use super::certificate::is_authority;

/// See the module. `V` is the verifier of rustls for clients or for servers.
#[derive(Debug)]
pub struct Anchors<V: ?Sized> {
    by_authority: Option<Arc<V>>,
    by_itself: Option<Arc<V>>,
    themselves: Vec<CertificateDer<'static>>,
    authorities: Vec<CertificateDer<'static>>,
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
        let (authorities, themselves): (Vec<_>, Vec<_>) = trusted.into_iter().partition(|one| is_authority(one));
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
                authorities,
                names,
                any,
            }))
    }

    /// Whether this is the certificate of an authority itself: `openssl req -x509` makes a server's own one so.
    pub fn is_authority(&self, certificate: &CertificateDer<'_>) -> bool {
        self.authorities.contains(certificate)
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
        let by_itself = self.by_itself.as_ref().filter(|_| self.themselves.contains(own));
        match (by_itself.map(|verifier| check(verifier, &[])), &self.by_authority) {
            (Some(Ok(verified)), _) => Ok(verified),
            (_, Some(by_authority)) => check(by_authority, above),
            (Some(refused), None) => refused,
            (None, None) => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
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

#[cfg(test)]
#[path = "anchors_tests.rs"]
mod tests;
