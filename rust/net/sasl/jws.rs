//! Signed tokens and the public keys that sign them: JWS in its compact form, and sets of JWKs (RFC 7515, 7517, 7518,
//! 8037).
//!
//! ```text
//! token  = base64url(header) "." base64url(claims) "." base64url(signature of the two parts before it)
//! header = {"alg": name of the algorithm, "kid": id of the key, "crit": extensions that must be known, ...}
//! set    = {"keys": [{"kty", "use", "alg", "kid", and "n" and "e", or "crv", "x" and "y"}, ...]}
//! ```
//! ring verifies. Only algorithms whose keys are public are known; RSA keys have 2,048 to 8,192 bits. Never: takes a
//! key from a token; knows what a claim means, which is `bearer.rs`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64_URL;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// Bytes of an RSA modulus that ring takes: 2,048 to 8,192 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
/// Bytes of a public key of Ed25519.
const ED25519_BYTES: usize = 32;

/// What kind of key an algorithm needs, by "kty" and "crv".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// How ring verifies.
#[derive(Debug)]
enum SignatureScheme {
    ByModulus(&'static RsaParameters),
    ByPoint(&'static dyn VerificationAlgorithm),
}

/// An algorithm whose keys are public (RFC 7518, section 3.1; RFC 8037).
#[derive(Debug)]
pub struct Algorithm {
    name: &'static str,
    kind: KeyKind,
    verifies: SignatureScheme,
}

const fn rsa(name: &'static str, parameters: &'static RsaParameters) -> Algorithm {
    Algorithm {
        name,
        kind: KeyKind::Rsa,
        verifies: SignatureScheme::ByModulus(parameters),
    }
}

const fn curve(name: &'static str, kind: KeyKind, algorithm: &'static dyn VerificationAlgorithm) -> Algorithm {
    Algorithm {
        name,
        kind,
        verifies: SignatureScheme::ByPoint(algorithm),
    }
}

static ALGORITHMS: [Algorithm; 9] = [
    rsa("RS256", &signature::RSA_PKCS1_2048_8192_SHA256),
    rsa("RS384", &signature::RSA_PKCS1_2048_8192_SHA384),
    rsa("RS512", &signature::RSA_PKCS1_2048_8192_SHA512),
    rsa("PS256", &signature::RSA_PSS_2048_8192_SHA256),
    rsa("PS384", &signature::RSA_PSS_2048_8192_SHA384),
    rsa("PS512", &signature::RSA_PSS_2048_8192_SHA512),
    curve("ES256", KeyKind::P256, &signature::ECDSA_P256_SHA256_FIXED),
    curve("ES384", KeyKind::P384, &signature::ECDSA_P384_SHA384_FIXED),
    curve("EdDSA", KeyKind::Ed25519, &signature::ED25519),
];

/// The algorithm with this name; `None` where its keys are secrets, where it signs nothing, and where it is not known.
pub fn algorithm(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
}

/// A public key.
enum Material {
    Modulus(RsaPublicKeyComponents<Vec<u8>>),
    Point(Vec<u8>),
}

/// A key of a set.
pub struct PublicKey {
    id: Option<String>,
    kind: KeyKind,
    /// The only algorithm that it may sign by, where the set says so.
    algorithm: Option<&'static str>,
    material: Material,
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({:?}, {:?})", self.id, self.kind)
    }
}

/// The keys of a set that sign tokens. A key that is malformed, of another kind or for another use is left out, as
/// RFC 7517 (section 5) says.
///
/// # Errors
/// When the text is no set.
pub fn public_keys(text: &str) -> Result<Vec<PublicKey>, String> {
    let no_set = |reason: &dyn fmt::Display| format!("it is no JWK set ({reason})");
    let set: Value = serde_json::from_str(text).map_err(|error| no_set(&error))?;
    let keys = set.get("keys").and_then(Value::as_array);
    let keys = keys.ok_or_else(|| no_set(&"it has no list of keys"))?;
    Ok(keys.iter().filter_map(PublicKey::of_jwk).collect())
}

impl PublicKey {
    /// A key that may sign tokens; `None` for others, as sets have them.
    fn of_jwk(jwk: &Value) -> Option<Self> {
        // a member that is there and is no text makes the key malformed
        let text = |name| match jwk.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(value) => value.as_str().map(Some),
        };
        let bytes = |name| BASE64_URL.decode(text(name).flatten()?).ok();
        if text("use")?.is_some_and(|used| used != "sig") {
            return None;
        }
        let (kind, material) = match (text("kty")??, text("crv")?) {
            ("RSA", _) => (KeyKind::Rsa, modulus(&bytes("n")?, &bytes("e")?)?),
            ("EC", Some("P-256")) => (KeyKind::P256, point(32, &bytes("x")?, &bytes("y")?)?),
            ("EC", Some("P-384")) => (KeyKind::P384, point(48, &bytes("x")?, &bytes("y")?)?),
            ("OKP", Some("Ed25519")) => {
                let key = bytes("x").filter(|key| key.len() == ED25519_BYTES)?;
                (KeyKind::Ed25519, Material::Point(key))
            }
            _ => return None,
        };
        let algorithm = match text("alg")? {
            Some(name) => Some(algorithm(name).filter(|algorithm| algorithm.kind == kind)?.name),
            None => None,
        };
        Some(Self {
            id: text("kid")?.map(str::to_owned),
            kind,
            algorithm,
            material,
        })
    }

    /// Whether the header of the token fits the key.
    pub fn may_have_signed(&self, token: &JsonWebToken<'_>) -> bool {
        self.kind == token.algorithm.kind
            && self.algorithm.is_none_or(|name| name == token.algorithm.name)
            && (token.key_id.is_none() || self.id == token.key_id)
    }

    /// Whether the key has signed the token.
    pub fn has_signed(&self, token: &JsonWebToken<'_>) -> bool {
        let (signed, signature) = (token.signed.as_bytes(), &token.signature);
        let verified = match (&self.material, &token.algorithm.verifies) {
            _ if !self.may_have_signed(token) => return false,
            (Material::Modulus(key), SignatureScheme::ByModulus(parameters)) => {
                key.verify(parameters, signed, signature)
            }
            (Material::Point(key), SignatureScheme::ByPoint(algorithm)) => {
                UnparsedPublicKey::new(*algorithm, key).verify(signed, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

/// An RSA key. Some authorization servers write zeros before it, which ring does not take.
fn modulus(n: &[u8], e: &[u8]) -> Option<Material> {
    let [n, e] = [n, e].map(|number| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        number[zeros..].to_vec()
    });
    MODULUS_BYTES
        .contains(&n.len())
        .then_some(Material::Modulus(RsaPublicKeyComponents { n, e }))
}

/// A key on a curve whose coordinates have `size` bytes, uncompressed (SEC 1, section 2.3.3).
fn point(size: usize, x: &[u8], y: &[u8]) -> Option<Material> {
    (x.len() == size && y.len() == size).then(|| Material::Point([&[4], x, y].concat()))
}

/// A token that nobody has verified.
#[derive(Debug)]
pub struct JsonWebToken<'a> {
    algorithm: &'static Algorithm,
    key_id: Option<String>,
    signed: &'a str,
    claims: Vec<u8>,
    signature: Vec<u8>,
}

/// Why a text is no token that can be verified.
#[derive(Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Not three parts, no base64url, no header that is an object.
    Malformed,
    /// Its algorithm has no public keys.
    NoPublicKey,
    /// It has extensions that must be known, and none is.
    Extended,
}

impl<'a> JsonWebToken<'a> {
    /// Reads the parts and the header.
    pub fn parse(token: &'a str) -> Result<Self, TokenError> {
        let bytes = |part: &str| BASE64_URL.decode(part).map_err(|_| TokenError::Malformed);
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let (signature, claims) = (bytes(signature)?, bytes(claims)?);
        let header = object(&bytes(header)?).ok_or(TokenError::Malformed)?;
        let name = header.get("alg").and_then(Value::as_str).ok_or(TokenError::Malformed)?;
        let algorithm = algorithm(name).ok_or(TokenError::NoPublicKey)?;
        if header.get("crit").is_some_and(|extensions| !extensions.is_null()) {
            return Err(TokenError::Extended);
        }
        let key_id = match header.get("kid") {
            None | Some(Value::Null) => None,
            Some(id) => Some(id.as_str().ok_or(TokenError::Malformed)?.to_owned()),
        };
        Ok(Self {
            algorithm,
            key_id,
            signed,
            claims,
            signature,
        })
    }

    /// What the token claims, verified or not; `None` where that is no object.
    pub fn claims(&self) -> Option<Map<String, Value>> {
        object(&self.claims)
    }
}

/// An object of JSON. None of its names may stand twice: readers differ in which of the two counts.
fn object(text: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice::<Members>(text).ok().map(|members| members.0)
}

struct Members(Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Distinct;

        impl<'de> Visitor<'de> for Distinct {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Members, A::Error> {
                let mut members = Map::new();
                while let Some((name, value)) = access.next_entry::<String, Value>()? {
                    if members.insert(name, value).is_some() {
                        return Err(A::Error::custom("a name stands twice"));
                    }
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Distinct)
    }
}

#[cfg(test)]
#[path = "jws_tests.rs"]
mod tests;
