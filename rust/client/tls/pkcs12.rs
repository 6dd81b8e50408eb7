//! PKCS#12 stores as Java's keytool and OpenSSL write them (RFC 7292), in DER.
//!
//! ```text
//! PFX       = SEQUENCE { INTEGER 3, Content of data: Contents, MacData OPTIONAL }
//! Contents  = SEQUENCE OF Content of Bags
//! Content   = SEQUENCE { OBJECT IDENTIFIER data, [0] OCTET STRING }
//!           | SEQUENCE { OBJECT IDENTIFIER encryptedData, [0] SEQUENCE { INTEGER 0, Encrypted } }
//! Encrypted = SEQUENCE { OBJECT IDENTIFIER data, Algorithm, [0] IMPLICIT OCTET STRING }
//! Bags      = SEQUENCE OF SEQUENCE { OBJECT IDENTIFIER kind, [0] value, SET OF Attribute OPTIONAL }
//! MacData   = SEQUENCE { SEQUENCE { Algorithm, OCTET STRING }, OCTET STRING salt, INTEGER iterations DEFAULT 1 }
//! ```
//! Keys and certificates are read; other bags are passed over. PBES2 is decrypted, and what older programs write:
//! Triple DES, and RC2 with 40 bits (`pkcs12/passwords.rs`). What makes a password dear to hash has limits. Never:
//! trusts a certificate without a key that lacks Java's mark; writes a store.

mod passwords;

use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::asn1::{AnyRef, ObjectIdentifier, OctetStringRef};
use pkcs8::der::{self, Decode, Reader, SliceReader, Tag, TagNumber, Tagged};
use pkcs8::spki::AlgorithmIdentifierRef;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use x509_parser::parse_x509_certificate;

use passwords::{Mac, decrypt};

const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");
const ENCRYPTED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.6");
const KEY_BAG: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.10.1.1");
const ENCRYPTED_KEY_BAG: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.10.1.2");
const CERTIFICATE_BAG: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.12.10.1.3");
const X509_CERTIFICATE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.22.1");
const FRIENDLY_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.20");
const LOCAL_KEY_ID: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.21");
/// Java's mark on a certificate that is trusted, and the only value of it that is read: for every purpose.
const TRUSTED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.113894.746875.1.1");
const ANY_PURPOSE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// The only version of a PFX.
const VERSION: u8 = 3;

/// Why a store cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("it is malformed ({0})")]
    Malformed(#[from] der::Error),
    #[error("it has a certificate that is malformed")]
    Certificate,
    #[error("it has a private key that is malformed")]
    Key,
    #[error("it has {0}, which is not read")]
    Unknown(ObjectIdentifier),
    #[error("it has a version that is not read")]
    Version,
    #[error("hashing its password takes too long; write it with 1,000,000 iterations at most")]
    Costly,
    #[error("the password is wrong")]
    Password,
}

/// A private key as PKCS#8, with what finds its certificate.
struct Key {
    name: Option<String>,
    id: Option<Vec<u8>>,
    der: Vec<u8>,
}

struct Certificate {
    id: Option<Vec<u8>>,
    is_trusted: bool,
    subject: String,
    issuer: String,
    der: CertificateDer<'static>,
}

/// The keys and certificates of a store, in its order.
#[derive(Default)]
pub struct Store {
    keys: Vec<Key>,
    certificates: Vec<Certificate>,
}

impl Store {
    /// Reads a store.
    pub fn read(bytes: &[u8], password: &str) -> Result<Self, Error> {
        let mut store = Self::default();
        let (safe, mac) = AnyRef::from_der(bytes)?.sequence(|pfx| {
            if pfx.decode::<u8>()? != VERSION {
                return Err(Error::Version);
            }
            let (kind, content) = pfx.sequence(content_of)?;
            if kind != DATA {
                return Err(Error::Unknown(kind));
            }
            let mac = (!pfx.is_finished()).then(|| Mac::read(pfx)).transpose()?;
            Ok((octets(content)?, mac))
        })?;
        if let Some(mac) = mac
            && !mac.is_of(safe, password)?
        {
            return Err(Error::Password);
        }
        each_of(safe, |reader| {
            let (kind, content) = reader.sequence(content_of)?;
            match kind {
                DATA => store.add_bags(octets(content)?, password),
                ENCRYPTED_DATA => store.add_bags(&decrypted(content, password)?, password),
                _ => Err(Error::Unknown(kind)),
            }
        })?;
        Ok(store)
    }

    /// The first key by its name that has a certificate, with the certificates from its own up to the root. Java and
    /// OpenSSL name a key's certificate by the same id.
    pub fn identity(&self) -> Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let pairs = self
            .keys
            .iter()
            .filter_map(|key| Some((key, self.certificate_of(key)?)));
        let (key, own) = pairs.min_by_key(|(key, own)| key.name.as_ref().unwrap_or(&own.subject))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.der.clone()));
        Some((self.chain(own), key))
    }

    /// Certificates with Java's mark, and those of private keys, but not those above them.
    pub fn trusted(&self) -> Vec<CertificateDer<'static>> {
        let marked = self
            .certificates
            .iter()
            .filter(|one| one.is_trusted && one.id.is_none());
        let of_keys = self.keys.iter().filter_map(|key| self.certificate_of(key));
        marked.chain(of_keys).map(|one| one.der.clone()).collect()
    }

    fn certificate_of(&self, key: &Key) -> Option<&Certificate> {
        let of_key = |one: &&Certificate| one.id.is_some() && one.id == key.id;
        self.certificates.iter().find(of_key)
    }

    /// A certificate and those above it, each once: stores may have circles.
    fn chain(&self, own: &Certificate) -> Vec<CertificateDer<'static>> {
        let mut chain = vec![own.der.clone()];
        let mut last = own;
        while last.issuer != last.subject {
            let is_above = |one: &&Certificate| one.subject == last.issuer && !one.is_trusted;
            let Some(issuer) = self.certificates.iter().find(is_above) else {
                break;
            };
            if chain.contains(&issuer.der) {
                break;
            }
            chain.push(issuer.der.clone());
            last = issuer;
        }
        chain
    }

    fn add_bags(&mut self, bags: &[u8], password: &str) -> Result<(), Error> {
        each_of(bags, |reader| reader.sequence(|bag| self.add(bag, password)))
    }

    fn add(&mut self, bag: &mut SliceReader<'_>, password: &str) -> Result<(), Error> {
        let (kind, value) = content_of(bag)?;
        let attributes = Attributes::read(bag)?;
        match kind {
            CERTIFICATE_BAG => self.certificates.push(certificate(value, attributes)?),
            KEY_BAG => self.keys.push(key(value.to_vec(), attributes)?),
            ENCRYPTED_KEY_BAG => {
                let (algorithm, data) = AnyRef::from_der(value)?.sequence(|info| {
                    let algorithm = AlgorithmIdentifierRef::decode(info)?;
                    Ok::<_, der::Error>((algorithm, <&OctetStringRef>::decode(info)?.as_bytes()))
                })?;
                self.keys.push(key(decrypt(&algorithm, data, password)?, attributes)?);
            }
            _ => {}
        }
        Ok(())
    }
}

fn key(der: Vec<u8>, attributes: Attributes) -> Result<Key, Error> {
    PrivateKeyInfoRef::try_from(der.as_slice()).map_err(|_| Error::Key)?;
    Ok(Key {
        name: attributes.name,
        id: attributes.id,
        der,
    })
}

fn certificate(value: &[u8], attributes: Attributes) -> Result<Certificate, Error> {
    let (kind, der) = AnyRef::from_der(value)?.sequence(content_of)?;
    if kind != X509_CERTIFICATE {
        return Err(Error::Unknown(kind));
    }
    let der = CertificateDer::from(octets(der)?.to_vec());
    let (_, parsed) = parse_x509_certificate(&der).map_err(|_| Error::Certificate)?;
    let (subject, issuer) = (parsed.subject().to_string(), parsed.issuer().to_string());
    Ok(Certificate {
        id: attributes.id,
        is_trusted: attributes.is_trusted,
        subject,
        issuer,
        der,
    })
}

/// The attributes of a bag that are read.
#[derive(Default)]
struct Attributes {
    name: Option<String>,
    id: Option<Vec<u8>>,
    is_trusted: bool,
}

impl Attributes {
    fn read(bag: &mut SliceReader<'_>) -> Result<Self, Error> {
        let mut attributes = Self::default();
        if bag.is_finished() {
            return Ok(attributes);
        }
        let set = AnyRef::decode(bag)?;
        set.tag().assert_eq(Tag::Set)?;
        let mut set = SliceReader::new(set.value())?;
        while !set.is_finished() {
            set.sequence(|attribute| attributes.add(attribute))?;
        }
        Ok(attributes)
    }

    /// Takes the first value of an attribute. A value of another type is none.
    fn add(&mut self, attribute: &mut SliceReader<'_>) -> Result<(), Error> {
        let kind = ObjectIdentifier::decode(attribute)?;
        let values = AnyRef::decode(attribute)?;
        values.tag().assert_eq(Tag::Set)?;
        let mut values = SliceReader::new(values.value())?;
        if values.is_finished() {
            return Ok(());
        }
        let value = AnyRef::decode(&mut values)?;
        match (kind, value.tag()) {
            (FRIENDLY_NAME, Tag::BmpString) => self.name = Some(text(value.value())),
            (LOCAL_KEY_ID, Tag::OctetString) => self.id = Some(value.value().to_vec()),
            (TRUSTED_KEY_USAGE, Tag::ObjectIdentifier) => self.is_trusted = value.value() == ANY_PURPOSE.as_bytes(),
            _ => {}
        }
        Ok(())
    }
}

/// Letters of two bytes.
fn text(bmp: &[u8]) -> String {
    let letters: Vec<u16> = bmp
        .chunks_exact(2)
        .map(|two| u16::from_be_bytes([two[0], two[1]]))
        .collect();
    String::from_utf16_lossy(&letters)
}

/// The elements of a sequence.
fn each_of<'a>(
    sequence: &'a [u8],
    mut read: impl FnMut(&mut SliceReader<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    AnyRef::from_der(sequence)?.sequence(|reader| {
        while !reader.is_finished() {
            read(reader)?;
        }
        Ok(())
    })
}

/// A kind, and what stands under the tag [0] after it.
fn content_of<'a>(reader: &mut SliceReader<'a>) -> Result<(ObjectIdentifier, &'a [u8]), Error> {
    let kind = ObjectIdentifier::decode(reader)?;
    let content = AnyRef::decode(reader)?;
    content.tag().assert_eq(tag_0(true))?;
    Ok((kind, content.value()))
}

const fn tag_0(constructed: bool) -> Tag {
    Tag::ContextSpecific {
        constructed,
        number: TagNumber(0),
    }
}

fn octets(string: &[u8]) -> Result<&[u8], Error> {
    Ok(<&OctetStringRef>::from_der(string)?.as_bytes())
}

/// The bags of what is encrypted as a whole.
fn decrypted(content: &[u8], password: &str) -> Result<Vec<u8>, Error> {
    AnyRef::from_der(content)?.sequence(|data| {
        if data.decode::<u8>()? != 0 {
            return Err(Error::Version);
        }
        data.sequence(|encrypted| {
            let _: ObjectIdentifier = encrypted.decode()?;
            let algorithm = AlgorithmIdentifierRef::decode(encrypted)?;
            let bytes = AnyRef::decode(encrypted)?;
            bytes.tag().assert_eq(tag_0(false))?;
            decrypt(&algorithm, bytes.value(), password)
        })
    })
}

#[cfg(test)]
#[path = "pkcs12_tests.rs"]
mod tests;
