//! OAUTHBEARER: a client shows a token that an authorization server has signed (RFC 7628, RFC 7519; KIP-255, KIP-768).
//!
//! ```text
//! n,[a=identity],  %x01 auth=Bearer <token> %x01 (name=value %x01)*  %x01
//! ```
//! The library checks the signature; this file says which keys and claims count. Only signatures by private keys are
//! taken: a token without a signature, or with one by a shared secret, is refused whatever it says. Without keys every
//! token is refused. Never: reads a file or a socket (`server/token_keys.py` fetches the keys); logs a token or a part
//! of one.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};

use protocol::scram::Refused;

/// What a client is told whose token is refused.
pub const INVALID_TOKEN: &str = r#"{"status":"invalid_token"}"#;

const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// The algorithms whose keys are public.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// What a token must say.
#[derive(Debug, Clone, Default)]
pub struct TokenRules {
    /// `sasl.oauthbearer.expected.audience`: one of them has to be named; empty: none has to.
    pub audiences: Vec<String>,
    /// `sasl.oauthbearer.expected.issuer`.
    pub issuer: Option<String>,
    /// `sasl.oauthbearer.clock.skew.seconds`.
    pub clock_skew: Duration,
    /// `sasl.oauthbearer.sub.claim.name`: the claim with the user's name.
    pub user_claim: String,
}

struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    verifies: DecodingKey,
}

/// The tokens of a listener: the rules, and the keys that sign them, which may be replaced.
pub struct Bearer {
    rules: TokenRules,
    keys: ArcSwap<Vec<Key>>,
    unknown: AtomicU64,
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bearer({} keys)", self.keys.load().len())
    }
}

impl Bearer {
    /// No keys yet: no token is taken.
    pub fn new(rules: TokenRules) -> Self {
        Self {
            rules,
            keys: ArcSwap::default(),
            unknown: AtomicU64::new(0),
        }
    }

    /// Replaces the keys by those of a JWK set (RFC 7517) that can sign tokens; returns how many.
    ///
    /// # Errors
    /// One sentence when the text is no JWK set, or has no such key; the keys stay as they are.
    pub fn set_keys(&self, text: &str) -> Result<usize, String> {
        let set: JwkSet = serde_json::from_str(text).map_err(|error| format!("it is no JWK set ({error})"))?;
        let keys: Vec<Key> = set.keys.iter().filter_map(usable).collect();
        if keys.is_empty() {
            return Err("it has no public key that signs tokens".to_owned());
        }
        let count = keys.len();
        self.keys.store(keys.into());
        Ok(count)
    }

    /// How many tokens named a key that is not known: the authorization server may have a new one.
    pub fn unknown_keys(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }

    /// The user of a token, and when the token ends, in seconds since 1970; else why it is refused.
    pub fn check(&self, message: &ClientMessage<'_>, now_s: u64) -> Result<(String, u64), Refused> {
        let header = decode_header(message.token).map_err(|_| Refused("its token is malformed"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(Refused("its token is not signed by a public key"));
        }
        if header.crit.is_some() {
            return Err(Refused("its token needs an extension that is not known"));
        }
        let keys = self.keys.load();
        let may_have_signed =
            |key: &&Key| key.algorithms.contains(&header.alg) && (header.kid.is_none() || key.id == header.kid);
        let mut found = keys.iter().filter(may_have_signed).peekable();
        if found.peek().is_none() {
            self.unknown.fetch_add(1, Ordering::Relaxed);
            return Err(Refused("the key of its token is not known"));
        }
        let validation = self.validation(header.alg);
        let claims = found.find_map(|key| decode::<Map<String, Value>>(message.token, &key.verifies, &validation).ok());
        let claims = claims.ok_or(Refused("its token is not valid"))?.claims;
        let skew = self.rules.clock_skew.as_secs();
        let seconds = |name| {
            claims
                .get(name)
                .and_then(Value::as_f64)
                .filter(|at| *at >= 0.0 && *at < 1e12)
        };
        let (Some(ends), Some(issued)) = (seconds("exp"), seconds("iat")) else {
            return Err(Refused("its token does not say when it was issued and when it ends"));
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 10^12"
        )]
        let (ends, issued) = (ends as u64, issued as u64);
        if issued > now_s.saturating_add(skew) || ends.saturating_add(skew) <= now_s || ends < issued {
            return Err(Refused("its token is not of this time"));
        }
        // the library also takes a list of issuers with one that fits
        if self.rules.issuer.is_some() && claims.get("iss").and_then(Value::as_str) != self.rules.issuer.as_deref() {
            return Err(Refused("its token is of another issuer"));
        }
        let user = claims.get(&self.rules.user_claim).and_then(Value::as_str);
        let user = user.filter(|user| !user.trim().is_empty() && !user.contains('\0'));
        let user = user.ok_or(Refused("its token names no user"))?;
        if message.identity.as_ref().is_some_and(|identity| identity != user) {
            return Err(Refused("it asks for the identity of another user"));
        }
        Ok((user.to_owned(), ends))
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.rules.clock_skew.as_secs();
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp"]);
        if self.rules.audiences.is_empty() {
            validation.validate_aud = false;
        } else {
            validation.set_audience(&self.rules.audiences);
            validation.required_spec_claims.insert("aud".to_owned());
        }
        if let Some(issuer) = &self.rules.issuer {
            validation.set_issuer(&[issuer]);
            validation.required_spec_claims.insert("iss".to_owned());
        }
        validation
    }
}

/// A key that may sign tokens; `None` for others, as sets have them.
fn usable(jwk: &Jwk) -> Option<Key> {
    let common = &jwk.common;
    if common
        .public_key_use
        .as_ref()
        .is_some_and(|used| *used != PublicKeyUse::Signature)
    {
        return None;
    }
    let key = DecodingKey::from_jwk(jwk).ok()?;
    let fitting = ALGORITHMS.into_iter().filter(|algorithm| match &common.key_algorithm {
        Some(named) => format!("{named:?}") == format!("{algorithm:?}"),
        None => true,
    });
    let algorithms = fitting.filter(|algorithm| is_of(jwk, *algorithm)).collect::<Vec<_>>();
    (!algorithms.is_empty()).then(|| Key {
        id: common.key_id.clone(),
        algorithms,
        verifies: key,
    })
}

/// Whether keys of this kind sign by the algorithm.
fn is_of(jwk: &Jwk, algorithm: Algorithm) -> bool {
    match (&jwk.algorithm, algorithm) {
        (AlgorithmParameters::RSA(_), algorithm) => {
            !matches!(algorithm, Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA)
        }
        (AlgorithmParameters::EllipticCurve(key), Algorithm::ES256) => key.curve == EllipticCurve::P256,
        (AlgorithmParameters::EllipticCurve(key), Algorithm::ES384) => key.curve == EllipticCurve::P384,
        (AlgorithmParameters::OctetKeyPair(key), Algorithm::EdDSA) => key.curve == EllipticCurve::Ed25519,
        _ => false,
    }
}

/// The client's message.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientMessage<'a> {
    identity: Option<String>,
    token: &'a str,
}

impl<'a> ClientMessage<'a> {
    /// Reads the message.
    pub fn parse(message: &'a [u8]) -> Result<Self, Refused> {
        const MALFORMED: Refused = Refused("the message of OAUTHBEARER is malformed");
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(MALFORMED);
        }
        let text = std::str::from_utf8(message).map_err(|_| MALFORMED)?;
        let (header, rest) = text.split_once('\x01').ok_or(MALFORMED)?;
        let identity = header.strip_prefix("n,").and_then(|rest| rest.strip_suffix(','));
        let identity = match identity.ok_or(MALFORMED)? {
            "" => None,
            given => Some(
                given
                    .strip_prefix("a=")
                    .filter(|name| !name.is_empty())
                    .ok_or(MALFORMED)?,
            ),
        };
        let pairs = rest.strip_suffix("\x01\x01").ok_or(MALFORMED)?;
        let mut token = None;
        for pair in pairs.split('\x01') {
            let (name, value) = pair.split_once('=').ok_or(MALFORMED)?;
            if name == "auth" {
                let (kind, given) = value.split_once(' ').ok_or(MALFORMED)?;
                if !kind.eq_ignore_ascii_case("bearer") || token.is_some() {
                    return Err(MALFORMED);
                }
                token = Some(given.trim());
            } else if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                return Err(MALFORMED);
            }
        }
        Ok(Self {
            identity: identity.map(|name| name.replace("=2C", ",").replace("=3D", "=")),
            token: token.ok_or(MALFORMED)?,
        })
    }
}

#[cfg(test)]
#[path = "bearer_tests.rs"]
mod tests;
