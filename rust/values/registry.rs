//! Asks a schema registry for schemas, over HTTP or HTTPS.
//!
//! ```text
//! GET {url}/schemas/ids/{id}                          -> {"schema": text}       Confluent's API
//! GET {url}/subjects/{subject}/versions/latest        -> {"schema": text}       Confluent's API
//! GET {url}/apis/registry/v2/ids/globalIds/{id}       -> the schema             Apicurio's own API
//! ```
//!
//! Every request ends after [`TIMEOUT`]. Nothing is kept: the caller asks once for each id. No sentence and no `Debug`
//! text has the password.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::error::{Result, ValueError, invalid};
use super::spec::ValueFraming;

/// The longest time for one answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer at most.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// Bytes of a file of certificates at most.
const MAX_AUTHORITIES_BYTES: u64 = 4 << 20;
const HTTPS: &str = "https://";

/// A schema registry, and how it is asked.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SchemaRegistry {
    url: String,
    /// `user:password`.
    user_info: Option<String>,
    /// PEM of the authorities that are trusted in place of the public ones.
    authorities: Option<String>,
}

impl fmt::Debug for SchemaRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl SchemaRegistry {
    /// Of the options `schemaRegistryUrl`, `schemaRegistryBasicAuthUserInfo` and `schemaRegistrySslCaLocation`.
    pub(super) fn new(url: &str, user_info: Option<&str>, authorities: Option<&str>) -> Result<Self> {
        let Some((_, rest)) = url
            .split_once("://")
            .filter(|(scheme, _)| ["http", "https"].contains(scheme))
        else {
            return invalid(format!(
                "schemaRegistryUrl: {url} does not begin with http:// or https://; name the address of a registry"
            ));
        };
        if rest.split('/').next().is_some_and(|host| host.contains('@')) {
            return invalid(
                "schemaRegistryUrl: a name and a password do not belong into the address; set \
                 schemaRegistryBasicAuthUserInfo to <user>:<password>",
            );
        }
        if user_info.is_some_and(|it| !it.contains(':')) {
            return invalid("schemaRegistryBasicAuthUserInfo: there is no colon in it; say <user>:<password>");
        }
        let registry = Self {
            url: url.to_owned(),
            user_info: user_info.map(str::to_owned),
            authorities: authorities.map(read_authorities).transpose()?,
        };
        if let Some(file) = authorities
            && registry.certificates().is_empty()
        {
            return invalid(format!(
                "schemaRegistrySslCaLocation: {file} has no certificate; name a file of certificates in PEM"
            ));
        }
        Ok(registry)
    }

    /// The schema of an id.
    pub(super) fn schema(&self, framing: ValueFraming, id: u64) -> Result<String> {
        let base = self.url.trim_end_matches('/');
        if framing == ValueFraming::Apicurio {
            return self.get(
                &format!("{base}/apis/registry/v2/ids/globalIds/{id}"),
                &format!("schema id {id}"),
            );
        }
        let answer = self.get(&format!("{base}/schemas/ids/{id}"), &format!("schema id {id}"))?;
        self.text_of(&answer)
    }

    /// The latest schema of a subject.
    pub(super) fn latest(&self, subject: &str) -> Result<String> {
        let base = self.url.trim_end_matches('/');
        let path: String = subject.bytes().map(escaped).collect();
        let answer = self.get(
            &format!("{base}/subjects/{path}/versions/latest"),
            &format!("subject {subject}"),
        )?;
        self.text_of(&answer)
    }

    fn text_of(&self, answer: &str) -> Result<String> {
        let parsed: Option<Value> = serde_json::from_str(answer).ok();
        let schema = parsed.as_ref().and_then(|it| it["schema"].as_str());
        schema.map(str::to_owned).ok_or_else(|| {
            ValueError::Registry(format!(
                "schemaRegistryUrl: {} answered without a schema; is it the address of a schema registry?",
                self.url
            ))
        })
    }

    fn get(&self, address: &str, what: &str) -> Result<String> {
        let url = &self.url;
        let unreachable = |error: ureq::Error| {
            ValueError::Registry(format!(
                "schemaRegistryUrl: {url} cannot be asked for {what} ({error}); is the registry running, and reachable \
                 from here?"
            ))
        };
        let mut request = self.agent().get(address);
        if let Some(user_info) = &self.user_info {
            request = request.header("Authorization", format!("Basic {}", STANDARD.encode(user_info)));
        }
        let mut response = request.call().map_err(unreachable)?;
        let refused = match response.status().as_u16() {
            200 => {
                let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES);
                return body.read_to_string().map_err(unreachable);
            }
            404 => format!("has no {what}; name the registry that the values were written with"),
            status @ (401 | 403) => format!(
                "refuses the question for {what} with the HTTP status {status}; set schemaRegistryBasicAuthUserInfo \
                 to <user>:<password>"
            ),
            status => format!("answered the question for {what} with the HTTP status {status}"),
        };
        Err(ValueError::Registry(format!("schemaRegistryUrl: {url} {refused}")))
    }

    fn agent(&self) -> ureq::Agent {
        let roots = match &self.authorities {
            Some(_) => RootCerts::Specific(Arc::new(self.certificates())),
            None => RootCerts::WebPki,
        };
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .https_only(self.url.starts_with(HTTPS)) // no redirect leaves it
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .http_status_as_error(false);
        ureq::Agent::new_with_config(config.build())
    }

    fn certificates(&self) -> Vec<Certificate<'static>> {
        let items = parse_pem(self.authorities.as_deref().unwrap_or_default().as_bytes());
        items
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect()
    }
}

fn read_authorities(file: &str) -> Result<String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|it| it.take(MAX_AUTHORITIES_BYTES).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => invalid(format!(
            "schemaRegistrySslCaLocation: {file} cannot be read ({error}); name a file of certificates in PEM"
        )),
    }
}

/// A byte of a path, in per cent where it has a meaning in one.
fn escaped(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
