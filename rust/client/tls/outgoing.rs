//! TLS of a client's connections to brokers, and of a broker's to other brokers: the `ssl.*` keys, read from the
//! client's side.
//!
//! The other broker's certificate must be signed by an authority of `ssl.truststore`, and name the host that this
//! broker connects to; an empty `ssl.endpoint.identification.algorithm` takes any name (KIP-294). This broker shows the
//! certificate of `ssl.keystore`, if it has one, where the other asks for it. Certificates are checked by rustls alone.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};

use super::anchors::Anchors;
use super::certificate::is_valid_now;
use super::material::{Identity, certificates, identity, revocations};
use super::principal;
use super::rules::MappingRules;
use super::settings::{Settings, provider, versions};
use crate::stream::Stream;

/// Whether the name in a broker's certificate counts.
pub const NAME_KEY: &str = "ssl.endpoint.identification.algorithm";

/// See the module.
pub struct OutgoingTls {
    config: Arc<ClientConfig>,
    /// The user that this broker's own certificate names to others.
    pub user: Option<String>,
}

impl OutgoingTls {
    /// Of a broker, which has to know the authorities of the others. Reads the certificates. An error is a sentence
    /// that names the key, its value and what to do.
    pub fn new(settings: &Settings<'_>) -> Result<Self, String> {
        let trusted = certificates(settings, "ssl.truststore")?;
        if trusted.is_empty() {
            return Err(
                "ssl.truststore.location is not set; who reaches a broker by TLS has to know the authorities \
                        that sign its certificate"
                    .to_owned(),
            );
        }
        Self::trusting(settings, trusted)
    }

    /// Of a client, which trusts the authorities of the system where the keys name none. Errors as of [`Self::new`].
    pub fn of_client(settings: &Settings<'_>) -> Result<Self, String> {
        let mut trusted = certificates(settings, "ssl.truststore")?;
        if trusted.is_empty() {
            trusted = rustls_native_certs::load_native_certs().certs;
        }
        if trusted.is_empty() {
            return Err(
                "ssl.truststore.location is not set, and the system has no authorities; give a store with the \
                        authority that signs the brokers' certificates"
                    .to_owned(),
            );
        }
        Self::trusting(settings, trusted)
    }

    fn trusting(settings: &Settings<'_>, trusted: Vec<CertificateDer<'static>>) -> Result<Self, String> {
        let provider = Arc::new(provider(settings)?);
        let versions = versions(settings)?;
        let has_own = ["ssl.keystore.location", "ssl.keystore.certificate.chain"]
            .iter()
            .any(|key| settings.get(key).is_some());
        let own = has_own.then(|| identity(settings, "ssl.keystore")).transpose()?;
        let rules = MappingRules::parse(settings.get("ssl.principal.mapping.rules").unwrap_or("DEFAULT"))?;
        let user = own
            .as_ref()
            .and_then(|own| principal::subject(own.chain.first()?))
            .and_then(|subject| rules.apply(&subject));
        let checks_names = match settings.get(NAME_KEY) {
            None => false,
            Some(name) if name.eq_ignore_ascii_case("https") => true,
            Some(name) => return Err(format!("{NAME_KEY}={name} is not served; give https, or nothing")),
        };
        let lists = revocations(settings)?;
        let trusted = Anchors::new(trusted, |roots| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .with_crls(lists.clone())
                .allow_unknown_revocation_status()
                .build()
                .map_err(|error| format!("ssl.truststore cannot be used to check brokers: {error}"))
        })?;
        let trusted = trusted.ok_or("ssl.truststore has no certificate")?;
        let verifier = Arc::new(Verifier { trusted, checks_names });
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| format!("ssl.enabled.protocols and ssl.cipher.suites do not go together: {error}"))?
            .dangerous() // rustls' word for a verifier of one's own; ours adds nothing, or leaves the name out
            .with_custom_certificate_verifier(verifier);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key }) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("the certificate and the key of ssl.keystore cannot be used: {error}"))?,
        };
        Ok(Self {
            config: Arc::new(config),
            user,
        })
    }

    /// TLS over a socket, whose handshake is still to be made.
    pub fn over(&self, host: &str, socket: TcpStream) -> io::Result<Stream> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| invalid(format!("{host} is no name that a certificate could have")))?;
        let connection = ClientConnection::new(Arc::clone(&self.config), name).map_err(invalid)?;
        Ok(Stream::Tls(Box::new(StreamOwned::new(connection, socket.into()))))
    }
}

/// Checks a broker's certificate; its name only where names count.
#[derive(Debug)]
struct Verifier {
    trusted: Anchors<WebPkiServerVerifier>,
    checks_names: bool,
}

impl Verifier {
    /// As Java does with a certificate that the truststore has: nobody else has to vouch for it.
    fn verify_trusted(&self, own: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<ServerCertVerified, Error> {
        if !is_valid_now(own) {
            return Err(Error::InvalidCertificate(CertificateError::Expired));
        }
        if self.checks_names {
            verify_server_name(&ParsedCertificate::try_from(own)?, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.trusted.is_authority(own) {
            return self.verify_trusted(own, server_name);
        }
        self.trusted.check(own, above, |verifier, above| {
            match verifier.verify_server_cert(own, above, server_name, ocsp_response, now) {
                // rustls looks at the name last, when all else is right
                Err(Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                )) if !self.checks_names => Ok(ServerCertVerified::assertion()),
                checked => checked,
            }
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trusted
            .any()
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trusted
            .any()
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trusted.any().supported_verify_schemes()
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
