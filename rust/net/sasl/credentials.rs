//! What users prove themselves with by SCRAM, as the control plane has published it: credentials of users, and
//! delegation tokens (KIP-48). Whole and immutable, swapped at once.
//!
//! A token's name is its id and its password is its HMAC; whoever proves to know it is its owner, until the token ends.
//! Never: a password of a user; a credential in a message or a log.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::wire::scram::server::{ScramCredential, ScramMechanism};

/// Random bytes from which salts are made.
const SECRET_BYTES: usize = 32;

type Users = HashMap<(ScramMechanism, String), ScramCredential>;

/// A delegation token.
pub struct DelegationToken {
    /// The user that a client is who shows the token.
    pub owner: String,
    /// When it ends, in milliseconds since 1970.
    pub ends_ms: i64,
    password: String,
    /// By mechanism; made when a client first shows the token.
    credentials: [OnceLock<ScramCredential>; 2],
}

impl DelegationToken {
    /// A token with a password.
    pub const fn new(owner: String, password: String, ends_ms: i64) -> Self {
        Self {
            owner,
            ends_ms,
            password,
            credentials: [OnceLock::new(), OnceLock::new()],
        }
    }
}

impl fmt::Debug for DelegationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DelegationToken({}, hidden)", self.owner)
    }
}

/// See the module.
pub struct Credentials {
    users: Arc<Users>,
    tokens: Arc<HashMap<String, DelegationToken>>,
    secret: [u8; SECRET_BYTES],
}

impl Default for Credentials {
    /// No users. Without random bytes the salts of users who do not exist can be told; nobody is let in by that.
    fn default() -> Self {
        let mut secret = [0; SECRET_BYTES];
        let _ = rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty());
        Self {
            users: Arc::default(),
            tokens: Arc::default(),
            secret,
        }
    }
}

impl Credentials {
    /// Other users; the salts of those who do not exist stay.
    #[must_use]
    pub fn with_users(&self, users: &Arc<Users>) -> Self {
        Self {
            users: Arc::clone(users),
            tokens: Arc::clone(&self.tokens),
            secret: self.secret,
        }
    }

    /// Other tokens.
    #[must_use]
    pub fn with_tokens(&self, tokens: &Arc<HashMap<String, DelegationToken>>) -> Self {
        Self {
            users: Arc::clone(&self.users),
            tokens: Arc::clone(tokens),
            secret: self.secret,
        }
    }

    /// The user's credential; one that no password fits for a user who does not exist.
    pub fn find(&self, mechanism: ScramMechanism, user: &str) -> ScramCredential {
        // one allocation in a handshake
        let found = self.users.get(&(mechanism, user.to_owned()));
        found
            .cloned()
            .unwrap_or_else(|| ScramCredential::nobody(mechanism, user, &self.secret))
    }

    /// The token with an id, and its credential; `None` when it does not exist or has ended.
    pub fn token(
        &self,
        mechanism: ScramMechanism,
        id: &str,
        now_ms: i64,
    ) -> Option<(&DelegationToken, ScramCredential)> {
        let token = self.tokens.get(id).filter(|token| token.ends_ms > now_ms)?;
        let made = match mechanism {
            ScramMechanism::Sha256 => &token.credentials[0],
            ScramMechanism::Sha512 => &token.credentials[1],
        };
        let credential = made.get_or_init(|| {
            let salt = ScramCredential::nobody(mechanism, id, &self.secret).salt;
            ScramCredential::of_password(mechanism, &token.password, salt)
        });
        Some((token, credential.clone()))
    }
}

#[cfg(test)]
mod tests;
