//! Where a client of OAUTHBEARER has its token from: a file, or an authorization server that gives it for the client's
//! credentials (RFC 6749, 4.4; KIP-768).
//!
//! A token is kept until most of its time is over, and shared by the connections of one cluster. Never: shows a token
//! or a secret; checks a token, which the broker does.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use protocol::scram::Secret;
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

const URL_KEY: &str = "sasl.oauthbearer.token.endpoint.url";
const ID_KEY: &str = "sasl.oauthbearer.client.credentials.client.id";
const SECRET_KEY: &str = "sasl.oauthbearer.client.credentials.client.secret";
const SCOPE_KEY: &str = "sasl.oauthbearer.scope";
/// How long the authorization server may take, as Kafka's `sasl.login.connect.timeout.ms` and `read.timeout.ms`
/// together have it.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The part of a token's time after which another is fetched, as `sasl.login.refresh.window.factor`.
const REFRESH_PART: f64 = 0.8;
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// See the module.
pub struct TokenSource {
    place: Place,
    last: Mutex<Option<(Secret, Instant)>>,
}

enum Place {
    File(String),
    Endpoint {
        url: String,
        /// `Basic` and the credentials.
        authorization: Secret,
        scope: Option<String>,
        roots: RootCerts,
    },
}

impl TokenSource {
    /// Of a client's keys, and of the options of its login module, which are older. An error is one sentence that
    /// begins with a key. `trusted`: the authorities of the token endpoint; none are the public ones.
    pub fn of<'a>(
        get: &impl Fn(&str) -> Option<&'a str>,
        option: &impl Fn(&str) -> Option<&'a str>,
        trusted: &[CertificateDer<'_>],
    ) -> Result<Self, String> {
        let url = get(URL_KEY).ok_or_else(|| {
            format!("{URL_KEY} is not set; give the address of the token endpoint, or file:/path of a token")
        })?;
        let place = if let Some(path) = url.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            Place::File(path.to_owned())
        } else if url.starts_with("https://") || url.starts_with("http://") {
            let id = get(ID_KEY).or_else(|| option("clientId"));
            let secret = get(SECRET_KEY).or_else(|| option("clientSecret"));
            let (Some(id), Some(secret)) = (id, secret) else {
                return Err(format!(
                    "{URL_KEY}={url} needs the client's credentials; give {ID_KEY} and {SECRET_KEY}, or clientId and \
                     clientSecret in sasl.jaas.config"
                ));
            };
            Place::Endpoint {
                url: url.to_owned(),
                authorization: Secret::new(&format!("Basic {}", BASE64.encode(format!("{id}:{secret}")))),
                scope: get(SCOPE_KEY).or_else(|| option("scope")).map(str::to_owned),
                roots: if trusted.is_empty() {
                    RootCerts::WebPki
                } else {
                    RootCerts::new_with_certs(
                        &trusted
                            .iter()
                            .map(|one| Certificate::from_der(one).to_owned())
                            .collect::<Vec<_>>(),
                    )
                },
            }
        } else {
            return Err(format!(
                "{URL_KEY}={url} is no address; give https://..., http://... or file:/..."
            ));
        };
        Ok(Self {
            place,
            last: Mutex::default(),
        })
    }

    /// A token that is valid for some time yet; else why there is none, as the end of a sentence.
    pub fn token(&self) -> Result<Secret, String> {
        let mut last = self.last.lock();
        if let Some((token, until)) = &*last
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        match &self.place {
            // a file is read each time: whoever renews the token writes it there
            Place::File(path) => {
                let text = read_file(path).map_err(|reason| format!("the token in {path} cannot be read: {reason}"))?;
                Ok(Secret::new(text.trim()))
            }
            Place::Endpoint {
                url,
                authorization,
                scope,
                roots,
            } => {
                let (token, lifetime) = fetch(url, authorization, scope.as_deref(), roots)
                    .map_err(|reason| format!("the token endpoint {url} gave no token: {reason}"))?;
                *last = Some((token.clone(), Instant::now() + lifetime.mul_f64(REFRESH_PART)));
                Ok(token)
            }
        }
    }
}

fn read_file(path: &str) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() || about.len() > MAX_TOKEN_BYTES {
        return Err("it is no file of a token".to_owned());
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// The token and its time.
fn fetch(
    url: &str,
    authorization: &Secret,
    scope: Option<&str>,
    roots: &RootCerts,
) -> Result<(Secret, Duration), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .max_redirects(0)
        .tls_config(TlsConfig::builder().root_certs(roots.clone()).build())
        .http_status_as_error(false)
        .build()
        .into();
    let mut form = vec![("grant_type", "client_credentials")];
    form.extend(scope.map(|scope| ("scope", scope)));
    let mut answer = agent
        .post(url)
        .header("Authorization", authorization.expose())
        .send_form(form)
        .map_err(|error| error.to_string())?;
    let status = answer.status().as_u16();
    if status != 200 {
        return Err(format!("it answered {status}"));
    }
    let body = answer.body_mut().with_config().limit(MAX_TOKEN_BYTES).read_to_string();
    let body = body.map_err(|error| error.to_string())?;
    let told: serde_json::Value = serde_json::from_str(&body).map_err(|_| "its answer is not JSON".to_owned())?;
    let token = told.get("access_token").and_then(serde_json::Value::as_str);
    let token = token
        .filter(|token| !token.is_empty())
        .ok_or("its answer has no access_token")?;
    let seconds = told.get("expires_in").and_then(serde_json::Value::as_u64).unwrap_or(0);
    Ok((Secret::new(token), Duration::from_secs(seconds.min(86_400))))
}
