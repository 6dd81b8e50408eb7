//! The users' credentials of SCRAM, as the control plane has published them: whole and immutable, swapped at once.
//!
//! Never: a password; a credential in a message or a log.

use std::collections::HashMap;

use crate::wire::scram::server::{ScramCredential, ScramMechanism};

/// Random bytes from which the salts of users are made who do not exist.
const SECRET_BYTES: usize = 32;

/// See the module.
pub struct Credentials {
    users: HashMap<(ScramMechanism, String), ScramCredential>,
    secret: [u8; SECRET_BYTES],
}

impl Default for Credentials {
    /// No users. Without random bytes the salts of users who do not exist can be told; nobody is let in by that.
    fn default() -> Self {
        let mut secret = [0; SECRET_BYTES];
        let _ = rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty());
        Self {
            users: HashMap::new(),
            secret,
        }
    }
}

impl Credentials {
    /// Other users; the salts of those who do not exist stay.
    #[must_use]
    pub fn replaced(&self, users: HashMap<(ScramMechanism, String), ScramCredential>) -> Self {
        Self {
            users,
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
}
