//! What a listener's `ssl.*` keys say, made into the configuration of rustls and the rules for names.
//!
//! Certificates and keys are read here, once when a broker starts and again when they are renewed; a connection keeps
//! what it began with. A key that is private appears in no message. Certificates are checked by rustls, and then by
//! [`KeyUsages`].

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};

use super::usage::KeyUsages;
use client::is_of_version_1;
use client::tls::anchors::Anchors;
use client::tls::material::{Identity, certificates, identity, revocations};
use client::tls::rules::MappingRules;
use client::tls::settings::{Settings, provider, versions};

/// What a listener does with TLS.
pub struct TlsContext {
    /// For rustls.
    pub config: Arc<ServerConfig>,
    /// How the name in a client's certificate becomes a principal.
    pub rules: MappingRules,
}

impl TlsContext {
    /// Reads the certificates and makes the configuration. An error is a sentence that names the key, its value and
    /// what to do.
    pub fn new(settings: &Settings<'_>) -> Result<Self, String> {
        let provider = Arc::new(provider(settings)?);
        let versions = versions(settings)?;
        let Identity { chain, key } = identity(settings, "ssl.keystore")?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| format!("ssl.enabled.protocols and ssl.cipher.suites do not go together: {error}"))?;
        let builder = builder.with_client_cert_verifier(verifier(settings, &provider)?);
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            let fix = if is_of_version_1(&error) {
                "issue a certificate of version 3 of X.509"
            } else {
                "give a key and the certificate of this key"
            };
            format!("the certificate and the key of ssl.keystore cannot be used: {error}; {fix}")
        })?;
        // A ticket is a secret that ends with the process, and costs a client one round trip when it is gone.
        config.ticketer = ring::Ticketer::new().map_err(|error| format!("the system has no random bytes: {error}"))?;
        config.send_tls13_tickets = 1;
        let rules = MappingRules::parse(settings.get("ssl.principal.mapping.rules").unwrap_or("DEFAULT"))?;
        Ok(Self {
            config: Arc::new(config),
            rules,
        })
    }
}

fn verifier(settings: &Settings<'_>, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let how = settings.get("ssl.client.auth").unwrap_or("none");
    if how == "none" {
        return Ok(WebPkiClientVerifier::no_client_auth());
    }
    let lists = revocations(settings)?;
    let trusted = Anchors::new(certificates(settings, "ssl.truststore")?, |roots| {
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let builder = builder.with_crls(lists.clone()).allow_unknown_revocation_status();
        let builder = if how == "requested" {
            builder.allow_unauthenticated()
        } else {
            builder
        };
        builder.build().map_err(|error| match error {
            VerifierBuilderError::InvalidCrl(error) => format!(
                "kafkastore.ssl.crl.location has a list that cannot be used ({error:?}); give lists of version 2 with \
                 a number"
            ),
            error => format!("ssl.truststore cannot be used to check clients: {error}"),
        })
    })?;
    let trusted = trusted.ok_or_else(|| {
        format!(
            "ssl.client.auth={how} needs the authorities that sign clients' certificates; set ssl.truststore.location"
        )
    })?;
    Ok(Arc::new(KeyUsages(trusted)))
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
