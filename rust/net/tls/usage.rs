//! What a certificate's key may be used for (RFC 5280, 4.2.1.3): the library that checks certificates does not look.
//!
//! A client's key has to be for signatures, and the key of each authority above it for certificates, where a
//! certificate says anything about that. Place: after rustls has found the client's chain valid. Never: takes a chain
//! that rustls refuses.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use x509_parser::extensions::KeyUsage;
use x509_parser::prelude::{FromDer, X509Certificate};

use client::tls::anchors::Anchors;
use client::tls::certificate::may;

/// The verifiers of rustls, and then the usages.
#[derive(Debug)]
pub struct KeyUsages(pub Anchors<dyn ClientCertVerifier>);

impl ClientCertVerifier for KeyUsages {
    fn offer_client_auth(&self) -> bool {
        self.0.any().offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.any().client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.names()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.0.check(own, above, |verifier, above| {
            verifier.verify_client_cert(own, above, now)
        })?;
        if has_usages(own, above).unwrap_or(false) {
            return Ok(verified);
        }
        Err(Error::InvalidCertificate(CertificateError::InvalidPurpose))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.any().verify_tls12_signature(message, own, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.any().verify_tls13_signature(message, own, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.any().supported_verify_schemes()
    }
}

/// Whether the keys are for what they are used for; `None` when a certificate cannot be read. Authorities that the
/// client shows and that are not above its certificate do not count.
fn has_usages(own: &[u8], above: &[CertificateDer<'_>]) -> Option<bool> {
    let (_, own) = X509Certificate::from_der(own).ok()?;
    if !may(&own, KeyUsage::digital_signature)? {
        return Some(false);
    }
    let above: Vec<X509Certificate<'_>> = above
        .iter()
        .map(|one| X509Certificate::from_der(one).ok().map(|(_, read)| read))
        .collect::<Option<_>>()?;
    let mut issuers = vec![own.issuer()];
    for _ in &above {
        let signers = above.iter().filter(|one| issuers.contains(&one.subject()));
        let mut next = Vec::new();
        for one in signers {
            if !may(one, KeyUsage::key_cert_sign)? {
                return Some(false);
            }
            next.push(one.issuer());
        }
        issuers = next;
    }
    Some(true)
}
