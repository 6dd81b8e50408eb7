//! How a client's connections are protected, and how the client proves who it is: the keys `security.protocol`, `ssl.*`
//! and `sasl.*`, under the names of Kafka's Java client.
//!
//! | `security.protocol` | TLS | login |
//! |---|---|---|
//! | `PLAINTEXT` | | |
//! | `SSL` | `ssl.*`; a certificate of `ssl.keystore` where the broker asks for it | |
//! | `SASL_PLAINTEXT` | | `sasl.mechanism` with `sasl.jaas.config` |
//! | `SASL_SSL` | `ssl.*` | `sasl.mechanism` with `sasl.jaas.config` |
//!
//! Without a truststore the authorities of the system are trusted. Never: shows a password or a token, in an error or
//! by `Debug`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::bearer::TokenSource;
use crate::jaas::{self, LoginModule};
use crate::login::Login;
use crate::tls::material::certificates;
use crate::tls::outgoing::{NAME_KEY, OutgoingTls};
use crate::tls::settings::Settings;
use protocol::scram::Secret;

const PROTOCOLS: &str = "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL";
const MECHANISMS: &str = "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER";
const JAAS_KEY: &str = "sasl.jaas.config";
const PREFIX: &str = "kafka.";
/// How long what was read is used again: many tasks begin with the same options, and share a token of OAUTHBEARER.
/// Renewed certificates are read after that.
const KEPT: Duration = Duration::from_mins(1);

struct Kept {
    properties: HashMap<String, String>,
    security: Security,
    until: Instant,
}

static KNOWN: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// See the module. What is `None` is not used.
#[derive(Clone, Default)]
pub struct Security {
    /// TLS of new connections.
    pub tls: Option<Arc<OutgoingTls>>,
    /// What proves who this end is.
    pub login: Option<Arc<Login>>,
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (&self.tls, &self.login) {
            (None, None) => "PLAINTEXT",
            (Some(_), None) => "SSL",
            (None, Some(_)) => "SASL_PLAINTEXT",
            (Some(_), Some(_)) => "SASL_SSL",
        })
    }
}

impl Security {
    /// Neither TLS nor a login.
    pub fn plaintext() -> Self {
        Self::default()
    }

    /// As [`Self::kept`], of options whose names begin with `kafka.` in any case, as those of Spark; the sentences name
    /// them so.
    pub fn of_kafka_options<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let named = options.into_iter().filter_map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let key = name.strip_prefix(PREFIX).filter(|key| is_key(key))?;
            Some((key.to_owned(), value.to_owned()))
        });
        Self::kept(named.collect()).map_err(|sentence| {
            if is_key(&sentence) {
                format!("{PREFIX}{sentence}")
            } else {
                sentence
            }
        })
    }

    /// As [`Self::of`]; what was read is used again for [`KEPT`].
    pub fn kept(properties: HashMap<String, String>) -> Result<Self, String> {
        let mut known = KNOWN.lock();
        let now = Instant::now();
        known.retain(|kept| now < kept.until);
        if let Some(kept) = known.iter().find(|kept| kept.properties == properties) {
            return Ok(kept.security.clone());
        }
        let security = Self::of(&properties)?;
        known.push(Kept {
            properties,
            security: security.clone(),
            until: now + KEPT,
        });
        Ok(security)
    }

    /// Whether both are the same objects: of the same keys, read at the same time.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same_tls = match (&self.tls, &other.tls) {
            (Some(own), Some(theirs)) => Arc::ptr_eq(own, theirs),
            (own, theirs) => own.is_none() && theirs.is_none(),
        };
        let is_same_login = match (&self.login, &other.login) {
            (Some(own), Some(theirs)) => Arc::ptr_eq(own, theirs),
            (own, theirs) => own.is_none() && theirs.is_none(),
        };
        is_same_tls && is_same_login
    }

    /// Whether it has neither TLS nor a login.
    pub fn is_plaintext(&self) -> bool {
        self.tls.is_none() && self.login.is_none()
    }

    /// What the keys of a client say; keys of other matters are left alone. An error is one sentence that begins with
    /// a key.
    pub fn of(properties: &HashMap<String, String>) -> Result<Self, String> {
        let named = properties.get("security.protocol").map_or("", |text| text.trim());
        let (has_tls, has_login) = match named.to_ascii_uppercase().as_str() {
            "" | "PLAINTEXT" => (false, false),
            "SSL" => (true, false),
            "SASL_PLAINTEXT" => (false, true),
            "SASL_SSL" => (true, true),
            _ => return Err(format!("security.protocol={named} is not a protocol; give {PROTOCOLS}")),
        };
        let tls = has_tls.then(|| tls_of(properties)).transpose()?;
        let login = has_login.then(|| login_of(properties)).transpose()?;
        Ok(Self {
            tls: tls.map(Arc::new),
            login: login.map(Arc::new),
        })
    }
}

/// Whether a key says how connections are protected.
pub fn is_key(name: &str) -> bool {
    name.starts_with("security.protocol") || name.starts_with("ssl.") || name.starts_with("sasl.")
}

/// The keys that have an effect.
const USED: [&str; 20] = [
    "security.protocol",
    "sasl.jaas.config",
    "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

/// Whether a key that says how connections are protected has no effect: it is misspelled, or another client's.
pub fn is_unused(key: &str) -> bool {
    is_key(key) && !USED.contains(&key)
}

fn tls_of(properties: &HashMap<String, String>) -> Result<OutgoingTls, String> {
    let mut pairs: HashMap<String, String> = properties
        .iter()
        .filter(|(key, _)| key.starts_with("ssl."))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    pairs.entry(NAME_KEY.to_owned()).or_insert_with(|| "https".to_owned());
    OutgoingTls::of_client(&Settings(&pairs))
}

fn login_of(properties: &HashMap<String, String>) -> Result<Login, String> {
    let get = |key: &str| {
        let value = properties.get(key).map(|text| text.trim());
        value.filter(|text| !text.is_empty())
    };
    let Some(mechanism) = get("sasl.mechanism") else {
        return Err(format!(
            "sasl.mechanism is not set, and Kafka's default, GSSAPI, is not served; give {MECHANISMS}"
        ));
    };
    let module = get(JAAS_KEY).map(jaas::parse).transpose();
    let module = module.map_err(|reason| format!("{JAAS_KEY} has a value that is not read: {reason}"))?;
    let option = |name: &str| {
        let value = module
            .as_ref()
            .and_then(|module: &LoginModule| module.options.get(name));
        value.map(String::as_str).filter(|text| !text.is_empty())
    };
    if mechanism == "OAUTHBEARER" {
        let pairs = module.as_ref().map(|module| &module.options).into_iter().flatten();
        let pairs: HashMap<String, String> = pairs.map(|(key, value)| (key.clone(), value.clone())).collect();
        let trusted = certificates(&Settings(&pairs), "ssl.truststore")?;
        return Ok(Login::of_bearer(TokenSource::of(&get, &option, &trusted)?));
    }
    let (Some(user), Some(password)) = (option("username"), option("password")) else {
        return Err(format!(
            "{JAAS_KEY} has no username and password; give them as \
             org.apache.kafka.common.security.{} required username=\"...\" password=\"...\";",
            if mechanism == "PLAIN" {
                "plain.PlainLoginModule"
            } else {
                "scram.ScramLoginModule"
            }
        ));
    };
    let is_token = option("tokenauth").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let login = if is_token {
        Login::of_token(mechanism, user, Secret::new(password))
    } else {
        Login::of_user(mechanism, user, Secret::new(password))
    };
    login.ok_or_else(|| format!("sasl.mechanism={mechanism} is not served; give {MECHANISMS}"))
}

#[cfg(test)]
#[path = "security_tests.rs"]
mod tests;
