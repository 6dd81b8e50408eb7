//! The server's side of SCRAM for users (RFC 5802, RFC 7677; KIP-84): SCRAM-SHA-256 and SCRAM-SHA-512.
//!
//! The messages are those of the parent module. Here the user's name comes from the client, the keys come from the
//! store, and an authorization identity, where one is given, must be the user's own (CVE-2017-12610). The nonce of the
//! last message must be the one that the server sent (CVE-2024-56128); librdkafka before 2.6.1 writes its own part
//! twice, which is taken, since the server's part proves that the message is new. A user who does not exist gets a salt
//! all the same, always the same, and is refused at the end like a user with a wrong password, so that nobody learns
//! who exists. State without I/O; no message has a part of what the client sent.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};

use super::{Refused, field, text};

/// The fewest iterations of a credential, as in Kafka.
pub const MIN_ITERATIONS: u32 = 4096;
/// Bytes of the salt that a user gets who does not exist. Kafka's tools write 130 random bits to the base of 36.
const SALT_BYTES: usize = 26;
const SALT_DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// A mechanism: the hash that its keys are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScramMechanism {
    /// SCRAM-SHA-256.
    Sha256,
    /// SCRAM-SHA-512.
    Sha512,
}

impl ScramMechanism {
    /// The mechanism's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    /// Kafka's number of the mechanism (KIP-554).
    pub const fn from_number(number: i8) -> Option<Self> {
        match number {
            1 => Some(Self::Sha256),
            2 => Some(Self::Sha512),
            _ => None,
        }
    }

    /// Bytes of a key.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// The stored key and the server's key of a salted password.
    pub fn keys(self, salted_password: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let client_key = self.mac(salted_password, b"Client Key");
        (self.hash(&client_key), self.mac(salted_password, b"Server Key"))
    }

    /// The password, hashed with a salt (PBKDF2). Takes a millisecond or two for the fewest iterations; no iterations
    /// are one.
    pub fn salted(self, password: &str, salt: &[u8], iterations: u32) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        };
        let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        let mut salted = vec![0; self.key_bytes()];
        pbkdf2::derive(algorithm, iterations, salt, password.as_bytes(), &mut salted);
        salted
    }

    /// The client's proof of an exchange: `bound` is its messages.
    pub fn proof(self, salted_password: &[u8], bound: &[u8]) -> Vec<u8> {
        let client_key = self.mac(salted_password, b"Client Key");
        let signature = self.mac(&self.hash(&client_key), bound);
        client_key.iter().zip(&signature).map(|(a, b)| a ^ b).collect()
    }

    /// The HMAC of a message.
    pub fn mac(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), message).as_ref().to_vec()
    }

    fn hash(self, message: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        };
        digest::digest(algorithm, message).as_ref().to_vec()
    }
}

/// What the store keeps of a user's password, for one mechanism. None of it is the password.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramCredential {
    /// Random bytes.
    pub salt: Vec<u8>,
    /// The hash of the client's key.
    pub stored_key: Vec<u8>,
    /// The server's key.
    pub server_key: Vec<u8>,
    /// How often the password was hashed.
    pub iterations: u32,
}

impl fmt::Debug for ScramCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScramCredential(hidden)")
    }
}

impl ScramCredential {
    /// The credential of a password, with the fewest iterations. Takes a millisecond or two.
    pub fn of_password(mechanism: ScramMechanism, password: &str, salt: Vec<u8>) -> Self {
        let (stored_key, server_key) = mechanism.keys(&mechanism.salted(password, &salt, MIN_ITERATIONS));
        Self {
            salt,
            stored_key,
            server_key,
            iterations: MIN_ITERATIONS,
        }
    }

    /// What a user gets who does not exist: the same salt for the same name as long as the process lives, and keys that
    /// no password has.
    pub fn nobody(mechanism: ScramMechanism, user: &str, secret: &[u8]) -> Self {
        let random = mechanism.mac(secret, user.as_bytes()).into_iter().take(SALT_BYTES);
        let salt: Vec<u8> = random
            .map(|byte| SALT_DIGITS[usize::from(byte) % SALT_DIGITS.len()])
            .collect();
        let stored_key = mechanism.mac(secret, &salt);
        Self {
            salt,
            server_key: stored_key.clone(),
            stored_key,
            iterations: MIN_ITERATIONS,
        }
    }
}

/// The client's first message.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientFirst<'a> {
    /// The user's name.
    pub user: String,
    /// Whether the name is the id of a delegation token (KIP-48).
    pub is_token: bool,
    header: &'a str,
    bare: &'a str,
    nonce: &'a str,
}

impl<'a> ClientFirst<'a> {
    /// Reads the message.
    pub fn parse(message: &'a [u8]) -> Result<Self, Refused> {
        let malformed = Refused("its first message is malformed");
        let message = text(message)?;
        let rest = message
            .strip_prefix("n,")
            .ok_or(Refused("its first message asks for channel binding"))?;
        let (identity, bare) = rest.split_once(',').ok_or(malformed)?;
        let header = &message[..message.len() - bare.len()];
        let mut fields = bare.split(',');
        let user = unescaped(field(fields.next(), "n=")?).ok_or(malformed)?;
        let nonce = field(fields.next(), "r=")?;
        let is_printable = nonce.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        if user.is_empty() || user.contains('\0') || nonce.is_empty() || !is_printable {
            return Err(malformed);
        }
        let own = match identity.strip_prefix("a=") {
            Some(identity) => unescaped(identity).ok_or(malformed)?,
            None if identity.is_empty() => String::new(),
            None => return Err(malformed),
        };
        if !own.is_empty() && own != user {
            return Err(Refused("it asks for the identity of another user"));
        }
        let mut is_token = false;
        for extension in fields {
            let (name, value) = extension.split_once('=').ok_or(malformed)?;
            if name == "m" || name.len() != 1 && name != "tokenauth" {
                return Err(malformed); // "m" is an extension that must be understood
            }
            is_token |= name == "tokenauth" && value == "true";
        }
        Ok(Self {
            user,
            is_token,
            header,
            bare,
            nonce,
        })
    }
}

/// "=2C" and "=3D" stand for a comma and an equals sign; no other "=" may stand in a name.
fn unescaped(name: &str) -> Option<String> {
    let mut parts = name.split('=');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (letter, rest) = match (part.strip_prefix("2C"), part.strip_prefix("3D")) {
            (Some(rest), _) => (',', rest),
            (_, Some(rest)) => ('=', rest),
            _ => return None,
        };
        out.push(letter);
        out.push_str(rest);
    }
    Some(out)
}

/// A server that has answered the client's first message.
pub struct ScramExchange {
    mechanism: ScramMechanism,
    credential: ScramCredential,
    nonce: String,
    /// The nonce as librdkafka before 2.6.1 repeats it.
    doubled: String,
    /// The client's header in base64, which its last message repeats.
    binding: String,
    /// bare "," server-first ","
    bound: String,
}

impl ScramExchange {
    /// Gives server-first. `nonce` is random, without commas.
    pub fn begin(
        mechanism: ScramMechanism,
        first: &ClientFirst<'_>,
        credential: ScramCredential,
        nonce: &str,
    ) -> (Self, String) {
        let nonce = format!("{}{nonce}", first.nonce);
        let answer = format!(
            "r={nonce},s={},i={}",
            BASE64.encode(&credential.salt),
            credential.iterations
        );
        let exchange = Self {
            mechanism,
            doubled: format!("{}{nonce}", first.nonce),
            binding: BASE64.encode(first.header),
            bound: format!("{},{answer},", first.bare),
            nonce,
            credential,
        };
        (exchange, answer)
    }

    /// Checks client-final; gives server-final.
    pub fn finish(self, client_final: &[u8]) -> Result<String, Refused> {
        let (without_proof, proof) = text(client_final)?
            .rsplit_once(",p=")
            .ok_or(Refused("its last message has no proof"))?;
        let mut fields = without_proof.split(',');
        let (binding, nonce) = (field(fields.next(), "c=")?, field(fields.next(), "r=")?);
        if binding != self.binding || nonce != self.nonce && nonce != self.doubled {
            return Err(Refused("its last message does not go on from its first"));
        }
        let proof = BASE64.decode(proof).map_err(|_| Refused("its proof is malformed"))?;
        let (mechanism, credential) = (self.mechanism, &self.credential);
        if proof.len() != mechanism.key_bytes() || credential.stored_key.len() != mechanism.key_bytes() {
            return Err(Refused("its proof is malformed"));
        }
        let bound = self.bound + without_proof;
        let signature = mechanism.mac(&credential.stored_key, bound.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        if !is_equal(&mechanism.hash(&client_key), &credential.stored_key) {
            return Err(Refused("the password is wrong"));
        }
        let signature = mechanism.mac(&credential.server_key, bound.as_bytes());
        Ok(format!("v={}", BASE64.encode(signature)))
    }
}

/// Compares bytes in a time that depends on their number alone.
pub fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let difference = a
        .iter()
        .zip(b)
        .fold(0, |found, (x, y)| std::hint::black_box(found | (x ^ y)));
    a.len() == b.len() && difference == 0
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
