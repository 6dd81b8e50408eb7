//! What users prove themselves with by SCRAM, as the control plane has published it: credentials of users, and
//! delegation tokens (KIP-48). A proof that has begun goes on with what there was.
//!
//! A token's name is its id and its password is its HMAC; whoever proves to know it is its owner, until the token ends.
//! Never: a password of a user; a credential in a message or a log.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use base::system::fill_random;
use protocol::scram::server::{ScramCredential, ScramMechanism};

/// Random bytes from which salts are made.
const SECRET_BYTES: usize = 32;

/// A user with a mechanism.
pub type UserKey = (ScramMechanism, String);

type Users = HashMap<UserKey, ScramCredential>;

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
    users: RwLock<Users>,
    tokens: RwLock<HashMap<String, Arc<DelegationToken>>>,
    secret: [u8; SECRET_BYTES],
}

impl Default for Credentials {
    /// No users. Without random bytes the salts of users who do not exist can be told; nobody is let in by that.
    fn default() -> Self {
        let mut secret = [0; SECRET_BYTES];
        let _ = fill_random(&mut secret);
        Self {
            users: RwLock::default(),
            tokens: RwLock::default(),
            secret,
        }
    }
}

impl Credentials {
    /// Replaces the credentials of some users (`None`: it has none), or of all.
    pub fn publish_users(&self, changed: Vec<(UserKey, Option<ScramCredential>)>, is_whole: bool) {
        replace(&mut self.users.write(), changed, is_whole);
    }

    /// Replaces some tokens (`None`: it is gone), or all.
    pub fn publish_tokens(&self, changed: Vec<(String, Option<DelegationToken>)>, is_whole: bool) {
        let changed = changed.into_iter().map(|(id, token)| (id, token.map(Arc::new)));
        replace(&mut self.tokens.write(), changed, is_whole);
    }

    /// The user's credential; one that no password fits for a user who does not exist.
    pub fn find(&self, mechanism: ScramMechanism, user: &str) -> ScramCredential {
        // one allocation in a handshake
        let found = self.users.read().get(&(mechanism, user.to_owned())).cloned();
        found.unwrap_or_else(|| ScramCredential::nobody(mechanism, user, &self.secret))
    }

    /// The token with an id, and its credential; `None` when it does not exist or has ended.
    pub fn token(
        &self,
        mechanism: ScramMechanism,
        id: &str,
        now_ms: i64,
    ) -> Option<(Arc<DelegationToken>, ScramCredential)> {
        let found = self.tokens.read().get(id).cloned();
        let token = found.filter(|token| token.ends_ms > now_ms)?;
        let made = match mechanism {
            ScramMechanism::Sha256 => &token.credentials[0],
            ScramMechanism::Sha512 => &token.credentials[1],
        };
        let credential = made.get_or_init(|| {
            let salt = ScramCredential::nobody(mechanism, id, &self.secret).salt;
            ScramCredential::of_password(mechanism, &token.password, salt)
        });
        let credential = credential.clone();
        Some((token, credential))
    }
}

fn replace<K: Eq + Hash, V>(
    all: &mut HashMap<K, V>,
    changed: impl IntoIterator<Item = (K, Option<V>)>,
    is_whole: bool,
) {
    if is_whole {
        all.clear();
    }
    for (key, value) in changed {
        match value {
            Some(value) => {
                all.insert(key, value);
            }
            None => {
                all.remove(&key);
            }
        }
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
