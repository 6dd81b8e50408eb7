//! The `ssl.*` keys that both ends of a connection have: their values, the ciphers and the versions of TLS.

use std::collections::HashMap;

use rustls::crypto::{CryptoProvider, ring};
use rustls::{CipherSuite, SupportedCipherSuite, SupportedProtocolVersion};

/// The values of a listener's keys, with its prefix resolved; a key that is not set is absent.
pub struct Settings<'a>(pub &'a HashMap<String, String>);

impl Settings<'_> {
    /// The value of a key; nothing when it is empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The values of a list.
    pub fn list(&self, key: &str) -> Vec<&str> {
        let parts = self.get(key).unwrap_or_default().split(',');
        parts.map(str::trim).filter(|part| !part.is_empty()).collect()
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
