//! What a listener's `ssl.*` keys say, made into the configuration of rustls and the rules for names.
//!
//! Certificates and keys are read here, once when a broker starts and again when they are renewed; a connection keeps
//! what it began with. A key that is private appears in no message. Certificates are checked by rustls, and then by
//! [`KeyUsages`].

use std::collections::HashMap;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{CipherSuite, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};

use super::anchors::Anchors;
use super::material::{Identity, certificates, identity, revocations};
use super::rules::MappingRules;
use super::usage::KeyUsages;

/// What a listener does with TLS.
pub struct TlsContext {
    /// For rustls.
    pub config: Arc<ServerConfig>,
    /// How the name in a client's certificate becomes a principal.
    pub rules: MappingRules,
}

/// The values of a listener's keys, with its prefix resolved; a key that is not set is absent.
pub struct Settings<'a>(pub &'a HashMap<String, String>);

impl Settings<'_> {
    /// The value of a key; nothing when it is empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The values of a list.
    fn list(&self, key: &str) -> Vec<&str> {
        let parts = self.get(key).unwrap_or_default().split(',');
        parts.map(str::trim).filter(|part| !part.is_empty()).collect()
    }
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
            format!(
                "the certificate and the key of ssl.keystore cannot be used: {error}; give a key and the certificate \
                 of this key"
            )
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

/// The implementations of ciphers, of those that are asked for.
pub fn provider(settings: &Settings<'_>) -> Result<CryptoProvider, String> {
    let mut provider = ring::default_provider();
    let asked = settings.list("ssl.cipher.suites");
    if asked.is_empty() {
        return Ok(provider);
    }
    let known = std::mem::take(&mut provider.cipher_suites);
    for name in asked {
        let found = known.iter().find(|suite| java_name(suite.suite()) == name);
        provider.cipher_suites.push(*found.ok_or_else(|| {
            let names: Vec<&str> = known
                .iter()
                .map(|suite: &SupportedCipherSuite| java_name(suite.suite()))
                .collect();
            format!(
                "ssl.cipher.suites={name} is not served; choose among {}",
                names.join(", ")
            )
        })?);
    }
    Ok(provider)
}

/// The name of a cipher suite in Java and in IANA's list.
pub fn java_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or("unknown"),
    }
}

/// The versions of TLS that are asked for.
pub fn versions(settings: &Settings<'_>) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let asked = settings.list("ssl.enabled.protocols");
    let mut found: Vec<&'static SupportedProtocolVersion> = Vec::new();
    for name in &asked {
        match *name {
            "TLSv1.2" => found.push(&rustls::version::TLS12),
            "TLSv1.3" => found.push(&rustls::version::TLS13),
            name => {
                return Err(format!(
                    "ssl.enabled.protocols={name} is not served, since it is broken or unknown; choose among TLSv1.2, \
                     TLSv1.3"
                ));
            }
        }
    }
    if found.is_empty() {
        found = vec![&rustls::version::TLS13, &rustls::version::TLS12];
    }
    Ok(found)
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
#[path = "settings_tests.rs"]
mod tests;
