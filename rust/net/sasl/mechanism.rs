//! The mechanisms of SASL by which clients prove who they are, and what a listener has of them.
//!
//! PLAIN (RFC 4616): `[identity] NUL user NUL password`. Passwords are kept and compared as hashes with a random salt,
//! in the same time for every user and every password; a user who does not exist costs as much.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ring::hmac;

use super::bearer::Bearer;
use base::system::fill_random;
use protocol::scram::server::{ScramMechanism, is_equal};

/// Largest message of PLAIN: a name and a password of thousands of letters.
const MAX_PLAIN_BYTES: usize = 16 << 10;
const SALT_BYTES: usize = 32;

/// A mechanism that a listener may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// A name and a password as they are.
    Plain,
    /// A proof that the client knows the password.
    Scram(ScramMechanism),
    /// A token that an authorization server has signed.
    OauthBearer,
}

impl Mechanism {
    /// The mechanisms that are served.
    pub const ALL: [Self; 4] = [
        Self::Plain,
        Self::Scram(ScramMechanism::Sha256),
        Self::Scram(ScramMechanism::Sha512),
        Self::OauthBearer,
    ];

    /// The mechanism's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Scram(scram) => scram.name(),
            Self::OauthBearer => "OAUTHBEARER",
        }
    }

    /// The mechanism with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }
}

/// The users of PLAIN on a listener.
pub struct PlainUsers {
    salt: [u8; SALT_BYTES],
    hashes: HashMap<String, Vec<u8>>,
}

impl fmt::Debug for PlainUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainUsers(hidden)")
    }
}

impl PlainUsers {
    /// The users by name, with their passwords.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn new(passwords: &HashMap<String, String>) -> io::Result<Self> {
        let mut salt = [0; SALT_BYTES];
        fill_random(&mut salt)?;
        let hashes = passwords
            .iter()
            .map(|(user, password)| (user.clone(), hash(&salt, password)));
        Ok(Self {
            hashes: hashes.collect(),
            salt,
        })
    }

    /// The user whom the message names, if its password is right; else why it is not taken.
    pub fn check(&self, message: &[u8]) -> Result<String, &'static str> {
        const MALFORMED: &str = "the message of PLAIN is malformed";
        if message.len() > MAX_PLAIN_BYTES {
            return Err(MALFORMED);
        }
        let message = std::str::from_utf8(message).map_err(|_| MALFORMED)?;
        let parts: Vec<&str> = message.split('\0').collect();
        let [identity, user, password] = parts[..] else {
            return Err(MALFORMED);
        };
        if user.is_empty() || password.is_empty() {
            return Err(MALFORMED);
        }
        if !identity.is_empty() && identity != user {
            return Err("it asks for the identity of another user");
        }
        let given = hash(&self.salt, password);
        let known = self.hashes.get(user);
        let is_right = is_equal(&given, known.unwrap_or(&given));
        if known.is_none() || !is_right {
            return Err("the user or the password is wrong");
        }
        Ok(user.to_owned())
    }
}

fn hash(salt: &[u8], password: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, salt);
    hmac::sign(&key, password.as_bytes()).as_ref().to_vec()
}

/// What a listener does with SASL.
#[derive(Debug)]
pub struct SaslSettings {
    /// `sasl.enabled.mechanisms`, in their order.
    pub mechanisms: Vec<Mechanism>,
    /// The users of PLAIN.
    pub plain: PlainUsers,
    /// The tokens of OAUTHBEARER.
    pub bearer: Arc<Bearer>,
    /// `connections.max.reauth.ms`; `None` when a session has no end.
    pub max_session: Option<Duration>,
    /// `sasl.server.max.receive.size`: the largest frame before a client has proven who it is.
    pub max_frame_bytes: usize,
    /// `connection.failed.authentication.delay.ms`.
    pub failure_delay: Duration,
}
