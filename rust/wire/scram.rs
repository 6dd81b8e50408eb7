//! SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding: both ends prove that they know one secret, and neither
//! sends it.
//!
//! ```text
//! client-first  n,,n=USER,r=NONCE                   bare: without "n,,"
//! server-first  r=NONCE+MORE,s=SALT,i=ITERATIONS
//! client-final  c=biws,r=NONCE+MORE,p=PROOF          without proof: up to ",p="
//! server-final  v=SIGNATURE
//! ```
//! SALT, PROOF and SIGNATURE are base64. The messages are bound together by their text: bare, server-first and
//! client-final without proof, separated by commas. State without I/O: the caller brings nonces and salts, and carries
//! the messages.

pub mod server;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The user whose password is the secret: all brokers of a cluster are one user.
pub const USER: &str = "broker";
/// How often the password is hashed: the minimum of RFC 7677. The secret is random, so more would protect nothing.
pub const ITERATIONS: u32 = 4096;
/// The most iterations that a client accepts: a server that asks for more only wants to keep the client busy.
const MAX_ITERATIONS: u32 = 1 << 17;
/// Longest message that is read.
pub const MAX_MESSAGE_BYTES: usize = 1024;
/// "n,,": no channel binding, the user is the one who authenticates.
const GS2_HEADER: &str = "n,,";
/// [`GS2_HEADER`] in base64.
const BINDING: &str = "biws";

/// The block size of SHA-256: shorter keys of an HMAC are padded with zeros.
const BLOCK_BYTES: usize = 64;

type Key = [u8; 32];

/// Why a proof is refused; the reason contains no part of the peer's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub &'static str);

/// The secret that the brokers share. Its text is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The secret from the text of its file.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    fn salted(&self, salt: &[u8], iterations: u32) -> Key {
        pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(self.0.as_bytes(), salt, iterations)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// The keys with which a server checks proofs; made once.
pub struct Verifier {
    salt: String,
    stored_key: Key,
    server_key: Key,
}

impl Verifier {
    /// The verifier of a secret with a salt of random bytes.
    pub fn new(secret: &Secret, salt: &[u8]) -> Self {
        let salted = secret.salted(salt, ITERATIONS);
        Self {
            salt: BASE64.encode(salt),
            stored_key: Sha256::digest(client_key(&salted)).into(),
            server_key: server_key(&salted),
        }
    }
}

/// A server that has answered the client's first message.
pub struct ServerExchange {
    nonce: String,
    /// bare "," server-first ","
    bound: String,
}

impl ServerExchange {
    /// Reads client-first; gives server-first. `nonce` is random, without commas.
    pub fn begin(verifier: &Verifier, client_first: &[u8], nonce: &str) -> Result<(Self, String), Refused> {
        let bare = text(client_first)?.strip_prefix(GS2_HEADER).ok_or(Refused(
            "its first message asks for channel binding or another identity",
        ))?;
        let mut fields = bare.split(',');
        if field(fields.next(), "n=")? != USER {
            return Err(Refused("it is not the user that brokers are"));
        }
        let theirs = field(fields.next(), "r=")?;
        if theirs.is_empty() || fields.next().is_some() {
            return Err(Refused("its first message is malformed"));
        }
        let nonce = format!("{theirs}{nonce}");
        let answer = format!("r={nonce},s={},i={ITERATIONS}", verifier.salt);
        let bound = format!("{bare},{answer},");
        Ok((Self { nonce, bound }, answer))
    }

    /// Checks client-final; gives server-final, which proves that this end knows the secret, too.
    pub fn finish(self, verifier: &Verifier, client_final: &[u8]) -> Result<String, Refused> {
        let (without_proof, proof) = text(client_final)?
            .rsplit_once(",p=")
            .ok_or(Refused("its last message has no proof"))?;
        let mut fields = without_proof.split(',');
        if field(fields.next(), "c=")? != BINDING
            || field(fields.next(), "r=")? != self.nonce
            || fields.next().is_some()
        {
            return Err(Refused("its last message is malformed"));
        }
        let bound = self.bound + without_proof;
        let signature = mac(&verifier.stored_key, bound.as_bytes());
        let client_key = xor(&decoded(proof)?, &signature);
        if !is_equal(&Sha256::digest(client_key).into(), &verifier.stored_key) {
            return Err(Refused("it does not know the secret"));
        }
        let signature = mac(&verifier.server_key, bound.as_bytes());
        Ok(format!("v={}", BASE64.encode(signature)))
    }
}

/// The keys that a client derives from the secret; the keys of the last salt are kept, so that connecting again costs
/// no hashing.
pub struct ClientKeys {
    secret: Secret,
    last: Option<(Vec<u8>, u32, Key)>,
}

impl ClientKeys {
    /// The keys of `secret`, not derived yet.
    pub fn new(secret: Secret) -> Self {
        Self { secret, last: None }
    }

    fn salted(&mut self, salt: Vec<u8>, iterations: u32) -> Key {
        if let Some((known, times, key)) = &self.last
            && (known, *times) == (&salt, iterations)
        {
            return *key;
        }
        let key = self.secret.salted(&salt, iterations);
        self.last = Some((salt, iterations, key));
        key
    }
}

/// A client that has begun.
pub struct ClientExchange {
    nonce: String,
}

/// The signature that server-final must contain.
pub struct Expected(Key);

impl ClientExchange {
    /// `nonce` is random, without commas.
    pub fn new(nonce: String) -> Self {
        Self { nonce }
    }

    fn bare(&self) -> String {
        format!("n={USER},r={}", self.nonce)
    }

    /// client-first.
    pub fn first(&self) -> String {
        format!("{GS2_HEADER}{}", self.bare())
    }

    /// Reads server-first; gives client-final, and the expected signature of the server.
    pub fn reply(&self, server_first: &[u8], keys: &mut ClientKeys) -> Result<(String, Expected), Refused> {
        let server_first = text(server_first)?;
        let mut fields = server_first.split(',');
        let nonce = field(fields.next(), "r=")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(Refused("its nonce does not go on from ours"));
        }
        let salt = field(fields.next(), "s=")?;
        let salt = BASE64.decode(salt).map_err(|_| Refused("its salt is malformed"))?;
        let iterations = field(fields.next(), "i=")?
            .parse()
            .map_err(|_| Refused("its iteration count is malformed"))?;
        if !(ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
            return Err(Refused("its iteration count is out of range"));
        }
        let salted = keys.salted(salt, iterations);
        let client_key = client_key(&salted);
        let without_proof = format!("c={BINDING},r={nonce}");
        let bound = format!("{},{server_first},{without_proof}", self.bare());
        let stored_key: Key = Sha256::digest(client_key).into();
        let proof = xor(&client_key, &mac(&stored_key, bound.as_bytes()));
        let expected = Expected(mac(&server_key(&salted), bound.as_bytes()));
        Ok((format!("{without_proof},p={}", BASE64.encode(proof)), expected))
    }
}

impl Expected {
    /// Whether the server knows the secret.
    pub fn check(&self, server_final: &[u8]) -> Result<(), Refused> {
        let signature = field(Some(text(server_final)?), "v=")?;
        if is_equal(&decoded(signature)?, &self.0) {
            return Ok(());
        }
        Err(Refused("it does not know the secret"))
    }
}

fn client_key(salted: &Key) -> Key {
    mac(salted, b"Client Key")
}

fn server_key(salted: &Key) -> Key {
    mac(salted, b"Server Key")
}

fn mac(key: &Key, bytes: &[u8]) -> Key {
    let mut block = [0; BLOCK_BYTES];
    block[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(bytes);
    mac.finalize().into_bytes().into()
}

fn xor(a: &Key, b: &Key) -> Key {
    let mut out = *a;
    out.iter_mut().zip(b).for_each(|(x, y)| *x ^= y);
    out
}

/// Compares two keys in a time that does not depend on where they differ.
fn is_equal(a: &Key, b: &Key) -> bool {
    let difference = a
        .iter()
        .zip(b)
        .fold(0, |found, (x, y)| std::hint::black_box(found | (x ^ y)));
    difference == 0
}

fn text(message: &[u8]) -> Result<&str, Refused> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(Refused("its message is too long"));
    }
    std::str::from_utf8(message).map_err(|_| Refused("its message is no text"))
}

fn field<'a>(part: Option<&'a str>, prefix: &str) -> Result<&'a str, Refused> {
    part.and_then(|part| part.strip_prefix(prefix))
        .ok_or(Refused("its message lacks a field"))
}

fn decoded(given: &str) -> Result<Key, Refused> {
    let malformed = Refused("its proof is malformed");
    let bytes = BASE64.decode(given).map_err(|_| malformed)?;
    bytes.try_into().map_err(|_| malformed)
}

#[cfg(test)]
mod tests;
