//! What a password opens in a PKCS#12 store: its MAC, and what is encrypted (RFC 7292, appendix B and C).
//!
//! New stores encrypt by PBES2, which `pkcs8` decrypts. The MAC, and the encryption of old stores, have a way of their
//! own from a password to a key, by hashes that ring does not have, and by ciphers that nothing else here uses.

use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt, KeyInit, KeyIvInit};
use des::TdesEde3;
use hmac::{Mac as _, SimpleHmac};
use pkcs8::der::asn1::{AnyRef, ObjectIdentifier, OctetStringRef};
use pkcs8::der::{self, Decode, Reader, SliceReader};
use pkcs8::pkcs5::{self, pbes2};
use pkcs8::spki::AlgorithmIdentifierRef;
use rc2::Rc2;
use sha1::Sha1;
use sha2::digest::block_api::BlockSizeUser;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

use super::Error;

const TRIPLE_DES: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.3");
const RC2_40: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.1.6");
const SHA_1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
const SHA_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const SHA_384: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2");
const SHA_512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");
const SHA_224: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.4");
const SHA_512_224: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.5");
const SHA_512_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.6");

/// The most iterations that are hashed: some seconds. OpenSSL writes 2,048, Java 10,000 or, in old stores, 100,000.
const MAX_ITERATIONS: u32 = 1_000_000;
/// The most memory that scrypt may ask for, and the most lanes.
const MAX_SCRYPT_BYTES: u64 = 1 << 30;
const MAX_SCRYPT_LANES: u16 = 16;
/// Bytes of a block of Triple DES and of RC2.
const OLD_BLOCK_BYTES: usize = 8;

/// What a key that is derived is for.
#[derive(Clone, Copy)]
enum Purpose {
    Encryption = 1,
    InitialVector = 2,
    Mac = 3,
}

/// The MAC over the contents of a store.
pub struct Mac<'a> {
    hash: ObjectIdentifier,
    digest: &'a [u8],
    salted: Salted<'a>,
}

impl<'a> Mac<'a> {
    /// Reads the MAC.
    pub fn read(reader: &mut SliceReader<'a>) -> Result<Self, Error> {
        reader.sequence(|mac| {
            let (hash, digest) = mac.sequence(|info| {
                let hash = AlgorithmIdentifierRef::decode(info)?.oid;
                Ok::<_, der::Error>((hash, <&OctetStringRef>::decode(info)?.as_bytes()))
            })?;
            Ok(Self {
                hash,
                digest,
                salted: Salted::read(mac)?,
            })
        })
    }

    /// Whether it is the MAC of these contents by this password.
    pub fn is_of(&self, contents: &[u8], password: &str) -> Result<bool, Error> {
        let check = match self.hash {
            SHA_1 => Self::is_by::<Sha1>,
            SHA_224 => Self::is_by::<Sha224>,
            SHA_256 => Self::is_by::<Sha256>,
            SHA_384 => Self::is_by::<Sha384>,
            SHA_512 => Self::is_by::<Sha512>,
            SHA_512_224 => Self::is_by::<Sha512_224>,
            SHA_512_256 => Self::is_by::<Sha512_256>,
            other => return Err(Error::Unknown(other)),
        };
        Ok(check(self, contents, password))
    }

    fn is_by<D: Digest + BlockSizeUser>(&self, contents: &[u8], password: &str) -> bool {
        let key = self
            .salted
            .key::<D>(Purpose::Mac, password, <D as Digest>::output_size());
        let mac = SimpleHmac::<D>::new_from_slice(&key);
        mac.is_ok_and(|mac| mac.chain_update(contents).verify_slice(self.digest).is_ok())
    }
}

/// Decrypts what a password protects.
pub fn decrypt(algorithm: &AlgorithmIdentifierRef<'_>, data: &[u8], password: &str) -> Result<Vec<u8>, Error> {
    let parameters = algorithm.parameters.unwrap_or(AnyRef::NULL);
    if algorithm.oid == pbes2::PBES2_OID {
        let parameters = pbes2::Parameters::try_from(parameters)?;
        if is_costly(&parameters.kdf) {
            return Err(Error::Costly);
        }
        return parameters.decrypt(password, data).map_err(|error| match error {
            pkcs5::Error::UnsupportedAlgorithm { oid } => Error::Unknown(oid),
            _ => Error::Password,
        });
    }
    let decrypt = match algorithm.oid {
        TRIPLE_DES => decrypt_old::<TdesEde3, 24>,
        RC2_40 => decrypt_old::<Rc2, 5>,
        other => return Err(Error::Unknown(other)),
    };
    decrypt(&parameters.sequence(Salted::read)?, data, password)
}

fn is_costly(hash: &pbes2::Kdf) -> bool {
    match hash {
        pbes2::Kdf::Pbkdf2(hash) => hash.iteration_count > MAX_ITERATIONS,
        pbes2::Kdf::Scrypt(hash) => {
            let bytes = hash.cost_parameter.saturating_mul(128 * u64::from(hash.block_size));
            bytes > MAX_SCRYPT_BYTES || hash.parallelization > MAX_SCRYPT_LANES
        }
        _ => false,
    }
}

/// By a cipher of old stores, whose key has `KEY_BYTES`.
fn decrypt_old<C: BlockCipherDecrypt + KeyInit, const KEY_BYTES: usize>(
    salted: &Salted<'_>,
    data: &[u8],
    password: &str,
) -> Result<Vec<u8>, Error> {
    let key = salted.key::<Sha1>(Purpose::Encryption, password, KEY_BYTES);
    let vector = salted.key::<Sha1>(Purpose::InitialVector, password, OLD_BLOCK_BYTES);
    let cipher = Decryptor::<C>::new_from_slices(&key, &vector).map_err(|_| Error::Password)?;
    cipher.decrypt_padded_vec::<Pkcs7>(data).map_err(|_| Error::Password)
}

/// A salt, and how often a password is hashed with it.
struct Salted<'a> {
    salt: &'a [u8],
    iterations: u32,
}

impl<'a> Salted<'a> {
    /// `OCTET STRING salt, INTEGER iterations DEFAULT 1`
    fn read(reader: &mut SliceReader<'a>) -> Result<Self, Error> {
        let salt = <&OctetStringRef>::decode(reader)?.as_bytes();
        let iterations = if reader.is_finished() { 1 } else { reader.decode()? };
        if iterations > MAX_ITERATIONS {
            return Err(Error::Costly);
        }
        Ok(Self { salt, iterations })
    }

    /// The key of a password (RFC 7292, appendix B.2). The password counts as letters of two bytes with a zero after
    /// them, as Java and OpenSSL have it, also where it is empty.
    fn key<D: Digest + BlockSizeUser>(&self, purpose: Purpose, password: &str, size: usize) -> Vec<u8> {
        let block = D::block_size();
        let password: Vec<u8> = password.encode_utf16().chain([0]).flat_map(u16::to_be_bytes).collect();
        let mut mixed = [filled(self.salt, block), filled(&password, block)].concat();
        let mut key = Vec::new();
        loop {
            let diversifier = vec![purpose as u8; block];
            let mut hash = D::new().chain_update(diversifier).chain_update(&mixed).finalize();
            for _ in 1..self.iterations {
                hash = D::digest(&hash);
            }
            key.extend_from_slice(&hash);
            if key.len() >= size {
                key.truncate(size);
                return key;
            }
            for part in mixed.chunks_mut(block) {
                add(part, &hash);
            }
        }
    }
}

/// The bytes again and again, until a block is full.
fn filled(bytes: &[u8], block: usize) -> Vec<u8> {
    let size = bytes.len().div_ceil(block) * block;
    bytes.iter().copied().cycle().take(size).collect()
}

/// Adds a hash that is repeated, and one, to a number of as many bytes as a block.
fn add(number: &mut [u8], hash: &[u8]) {
    let mut carry = 1;
    for (at, byte) in number.iter_mut().enumerate().rev() {
        let [over, sum] = (u16::from(*byte) + u16::from(hash[at % hash.len()]) + carry).to_be_bytes();
        (*byte, carry) = (sum, u16::from(over));
    }
}
