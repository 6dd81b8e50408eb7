//! The client's side of SCRAM (RFC 5802, RFC 7677): how a broker proves a password, or the secret of the brokers, to
//! another broker, and checks that the other knows it, too.
//!
//! The messages are those of the parent module. State without I/O; no error has a part of what the server sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use parking_lot::Mutex;

use super::server::{MIN_ITERATIONS, ScramMechanism, is_equal};
use super::{Refused, Secret, field, text};

/// The most iterations that a client accepts: a server that asks for more only wants to keep the client busy.
const MAX_ITERATIONS: u32 = 1 << 17;
/// "n,,": no channel binding, the user is the one who authenticates.
const GS2_HEADER: &str = "n,,";
/// [`GS2_HEADER`] in base64.
const BINDING: &str = "biws";

/// A key with the salt and the iterations that it was made with.
type Salted = (Vec<u8>, u32, Vec<u8>);

/// A user and the password. The key of the last salt is kept, so that connecting again costs no hashing.
pub struct ScramClient {
    mechanism: ScramMechanism,
    /// With "=2C" for a comma and "=3D" for an equals sign.
    user: String,
    password: Secret,
    /// Whether the user is the id of a delegation token, and the password its HMAC.
    pub is_token: bool,
    last: Mutex<Option<Salted>>,
}

impl ScramClient {
    /// Nothing is hashed yet.
    pub fn new(mechanism: ScramMechanism, user: &str, password: Secret) -> Self {
        Self {
            mechanism,
            user: user.replace('=', "=3D").replace(',', "=2C"),
            password,
            is_token: false,
            last: Mutex::default(),
        }
    }

    /// Begins a proof; `nonce` is random, without commas.
    pub fn begin(&self, nonce: &str) -> ClientExchange {
        ClientExchange {
            bare: format!(
                "n={},r={nonce}{}",
                self.user,
                if self.is_token { ",tokenauth=true" } else { "" }
            ),
            nonce: nonce.to_owned(),
        }
    }

    fn salted(&self, salt: Vec<u8>, iterations: u32) -> Vec<u8> {
        let mut last = self.last.lock();
        if let Some((known, times, key)) = &*last
            && (known, *times) == (&salt, iterations)
        {
            return key.clone();
        }
        let key = self.mechanism.salted(self.password.expose(), &salt, iterations);
        *last = Some((salt, iterations, key.clone()));
        key
    }
}

/// A client that has begun.
pub struct ClientExchange {
    nonce: String,
    bare: String,
}

/// The signature that server-final must contain.
pub struct Expected(Vec<u8>);

impl ClientExchange {
    /// client-first.
    pub fn first(&self) -> String {
        format!("{GS2_HEADER}{}", self.bare)
    }

    /// Reads server-first; gives client-final, and the expected signature of the server.
    pub fn reply(&self, server_first: &[u8], client: &ScramClient) -> Result<(String, Expected), Refused> {
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
        if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
            return Err(Refused("its iteration count is out of range"));
        }
        let mechanism = client.mechanism;
        let salted = client.salted(salt, iterations);
        let without_proof = format!("c={BINDING},r={nonce}");
        let bound = format!("{},{server_first},{without_proof}", self.bare);
        let proof = mechanism.proof(&salted, bound.as_bytes());
        let (_, server_key) = mechanism.keys(&salted);
        let expected = Expected(mechanism.mac(&server_key, bound.as_bytes()));
        Ok((format!("{without_proof},p={}", BASE64.encode(proof)), expected))
    }
}

impl Expected {
    /// Whether the server knows the password.
    pub fn check(&self, server_final: &[u8]) -> Result<(), Refused> {
        let signature = field(Some(text(server_final)?), "v=")?;
        let signature = BASE64
            .decode(signature)
            .map_err(|_| Refused("its proof is malformed"))?;
        if is_equal(&signature, &self.0) {
            return Ok(());
        }
        Err(Refused("it does not know the secret"))
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
