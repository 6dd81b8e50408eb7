//! OAUTHBEARER: a client shows a token that an authorization server has signed (RFC 7628, RFC 7519; KIP-255, KIP-768).
//!
//! ```text
//! n,[a=identity],  %x01 auth=Bearer <token> %x01 (name=value %x01)*  %x01
//! ```
//! `jws.rs` verifies the signature; this file says which claims count. Only signatures by private keys are taken: a
//! token without a signature, or with one by a shared secret, is refused whatever it says. Without keys every token is
//! refused. Never: reads a file or a socket (`server/token_keys.py` fetches the keys); logs a token or a part
//! of one.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::{Map, Value};

use protocol::scram::Refused;

use super::jws::{JsonWebToken, PublicKey, TokenError, public_keys};

/// What a client is told whose token is refused.
pub const INVALID_TOKEN: &str = r#"{"status":"invalid_token"}"#;

const MAX_MESSAGE_BYTES: usize = 64 << 10;

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

/// The tokens of a listener: the rules, and the keys that sign them, which may be replaced.
pub struct Bearer {
    rules: TokenRules,
    keys: ArcSwap<Vec<PublicKey>>,
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
        let keys = public_keys(text)?;
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
        let token = JsonWebToken::parse(message.token).map_err(|why| match why {
            TokenError::Malformed => Refused("its token is malformed"),
            TokenError::NoPublicKey => Refused("its token is not signed by a public key"),
            TokenError::Extended => Refused("its token needs an extension that is not known"),
        })?;
        let keys = self.keys.load();
        let mut found = keys.iter().filter(|key| key.may_have_signed(&token)).peekable();
        if found.peek().is_none() {
            self.unknown.fetch_add(1, Ordering::Relaxed);
            return Err(Refused("the key of its token is not known"));
        }
        if !found.any(|key| key.has_signed(&token)) {
            return Err(Refused("its token is not valid"));
        }
        let claims = token.claims().ok_or(Refused("its token is not valid"))?;
        let ends = self.end_of(&claims, now_s)?;
        if !self.is_for_us(&claims) {
            return Err(Refused("its token is for another audience"));
        }
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

    /// When a token with these claims ends, if it counts now.
    fn end_of(&self, claims: &Map<String, Value>, now_s: u64) -> Result<u64, Refused> {
        const ANOTHER_TIME: Refused = Refused("its token is not of this time");
        let skew = self.rules.clock_skew.as_secs();
        let seconds = |claim: &Value| claim.as_f64().filter(|at| *at >= 0.0 && *at < 1e12);
        let [ends, issued] = ["exp", "iat"].map(|name| claims.get(name).and_then(seconds));
        let (Some(ends), Some(issued)) = (ends, issued) else {
            return Err(Refused("its token does not say when it was issued and when it ends"));
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 10^12"
        )]
        let (ends, issued) = (ends as u64, issued as u64);
        let latest_s = now_s.saturating_add(skew);
        if issued > latest_s || ends.saturating_add(skew) <= now_s || ends < issued {
            return Err(ANOTHER_TIME);
        }
        if let Some(begins) = claims.get("nbf") {
            let begins = seconds(begins).filter(|begins| *begins <= latest_s as f64);
            begins.ok_or(ANOTHER_TIME)?;
        }
        Ok(ends)
    }

    /// Whether one of the audiences is ours. A list that has something else than text names none.
    fn is_for_us(&self, claims: &Map<String, Value>) -> bool {
        let ours = |name: &str| self.rules.audiences.iter().any(|audience| audience == name);
        self.rules.audiences.is_empty()
            || match claims.get("aud") {
                Some(Value::String(name)) => ours(name),
                Some(Value::Array(names)) => {
                    names.iter().all(Value::is_string) && names.iter().filter_map(Value::as_str).any(ours)
                }
                _ => false,
            }
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
