//! Certificates, keys and lists of revoked certificates from files and from the configuration: PEM and PKCS#12.
//!
//! Kafka's keys: `ssl.keystore.location` with its type and password, or PEM in `ssl.keystore.certificate.chain` and
//! `ssl.keystore.key`; `ssl.truststore.location`, or PEM in `ssl.truststore.certificates`. What a file is, its first
//! bytes tell; a type in the configuration must not contradict them. Java's own store, JKS, is not read.

use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::pkcs12;
use super::settings::Settings;

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// How a file of Java's own store begins.
const JKS_MAGIC: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];
/// The file of revoked certificates; Kafka has no key of its own for it.
const CRL_KEY: &str = "kafkastore.ssl.crl.location";

/// A private key with its certificates, its own first.
pub struct Identity {
    /// The certificates.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key.
    pub key: PrivateKeyDer<'static>,
}

/// A store, as its first bytes tell it.
enum Store {
    Pem(Vec<u8>),
    Pkcs12(pkcs12::Store),
}

/// The key of this end. `prefix` is `ssl.keystore`.
pub fn identity(settings: &Settings<'_>, prefix: &str) -> Result<Identity, String> {
    let key_password = settings.get("ssl.key.password");
    if let Some(chain) = settings.get(&format!("{prefix}.certificate.chain")) {
        let key_name = format!("{prefix}.key");
        let key = settings
            .get(&key_name)
            .ok_or_else(|| format!("{prefix}.certificate.chain is set and {key_name} is not; set both"))?;
        return Ok(Identity {
            chain: pem_certificates(chain.as_bytes(), &format!("{prefix}.certificate.chain"))?,
            key: pem_key(key.as_bytes(), key_password, &key_name)?,
        });
    }
    let named = located(settings, prefix)?
        .ok_or_else(|| format!("{prefix}.location is not set; a listener with TLS needs a certificate and its key"))?;
    let (name, store) = named;
    match store {
        Store::Pem(bytes) => Ok(Identity {
            chain: pem_certificates(&bytes, &name)?,
            key: pem_key(&bytes, key_password, &name)?,
        }),
        Store::Pkcs12(store) => {
            let (chain, key) = store
                .identity()
                .ok_or_else(|| format!("{name} has no private key; put the key of this broker into it"))?;
            Ok(Identity { chain, key })
        }
    }
}

/// The authorities that this end trusts. `prefix` is `ssl.truststore`.
pub fn certificates(settings: &Settings<'_>, prefix: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let inline = format!("{prefix}.certificates");
    if let Some(text) = settings.get(&inline) {
        return pem_certificates(text.as_bytes(), &inline);
    }
    let Some((name, store)) = located(settings, prefix)? else {
        return Ok(Vec::new());
    };
    match store {
        Store::Pem(bytes) => pem_certificates(&bytes, &name),
        // as in Java: what has its mark, and the certificate of a key, but not those above it
        Store::Pkcs12(store) => Ok(store.trusted()),
    }
}

/// The lists of revoked certificates, if there are any.
pub fn revocations(settings: &Settings<'_>) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let Some(path) = settings.get(CRL_KEY) else {
        return Ok(Vec::new());
    };
    let said = format!("{CRL_KEY}={path}");
    CertificateRevocationListDer::pem_slice_iter(&read(path, &said)?)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{said} has no lists of revoked certificates in PEM: {error:?}"))
}

/// The store that a location names, with the words for messages about it.
fn located(settings: &Settings<'_>, prefix: &str) -> Result<Option<(String, Store)>, String> {
    let key = format!("{prefix}.location");
    let Some(path) = settings.get(&key) else {
        return Ok(None);
    };
    let said = format!("{key}={path}");
    let bytes = read(path, &said)?;
    let kind = settings.get(&format!("{prefix}.type")).map(str::to_ascii_uppercase);
    if bytes.starts_with(&JKS_MAGIC) {
        return Err(format!(
            "{said} is a JKS store, which is not read; make it PKCS12 with: keytool -importkeystore -srckeystore \
             {path} -destkeystore {path}.p12 -deststoretype PKCS12"
        ));
    }
    let is_der = bytes.first() == Some(&0x30);
    match kind.as_deref() {
        Some("PEM") if is_der => return Err(format!("{said} is not PEM as {prefix}.type says; set PKCS12")),
        Some("PKCS12") if !is_der => return Err(format!("{said} is not PKCS12 as {prefix}.type says; set PEM")),
        // JKS is Kafka's default, and Java reads a PKCS12 store under that name, too
        None | Some("PEM" | "PKCS12" | "JKS") => {}
        Some(other) => return Err(format!("{prefix}.type={other} is not read; choose PEM or PKCS12")),
    }
    if !is_der {
        return Ok(Some((said, Store::Pem(bytes))));
    }
    let password = settings.get(&format!("{prefix}.password"));
    let store = pkcs12::Store::read(&bytes, password.unwrap_or_default()).map_err(|error| match (error, password) {
        (pkcs12::Error::Password, None) => format!("{said} has a password; set {prefix}.password"),
        (error, _) => format!("{said} cannot be opened with {prefix}.password: {error}"),
    })?;
    Ok(Some((said, Store::Pkcs12(store))))
}

fn read(path: &str, name: &str) -> Result<Vec<u8>, String> {
    let unread = |error: std::io::Error| format!("{name} cannot be read: {error}; give one that this process may read");
    let about = std::fs::metadata(path).map_err(unread)?;
    if !about.is_file() || about.len() > MAX_FILE_BYTES {
        return Err(format!("{name} is no file of certificates; give a PEM or PKCS12 file"));
    }
    std::fs::read(path).map_err(unread)
}

fn pem_certificates(bytes: &[u8], name: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{name} is not PEM: {error}"))?;
    if found.is_empty() {
        return Err(format!(
            "{name} has no certificate in PEM, which would begin with -----BEGIN CERTIFICATE-----"
        ));
    }
    Ok(found)
}

fn pem_key(bytes: &[u8], password: Option<&str>, name: &str) -> Result<PrivateKeyDer<'static>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| format!("{name} is not PEM"))?;
    if let Some(at) = text.find(ENCRYPTED_BEGIN) {
        let password = password.ok_or_else(|| format!("the key of {name} is encrypted; set ssl.key.password"))?;
        return decrypted(&text[at..], password, name);
    }
    PrivateKeyDer::from_pem_slice(bytes)
        .map_err(|_| format!("{name} has no private key in PEM, which would begin with -----BEGIN PRIVATE KEY-----"))
}

const ENCRYPTED_BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const ENCRYPTED_END: &str = "-----END ENCRYPTED PRIVATE KEY-----";

fn decrypted(text: &str, password: &str, name: &str) -> Result<PrivateKeyDer<'static>, String> {
    let malformed = || format!("the key of {name} is not PEM");
    let end = text.find(ENCRYPTED_END).ok_or_else(malformed)? + ENCRYPTED_END.len();
    let (_, document) = SecretDocument::from_pem(&text[..end]).map_err(|_| malformed())?;
    let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|_| malformed())?;
    let key = info
        .decrypt(password)
        .map_err(|error| format!("the key of {name} cannot be decrypted with ssl.key.password: {error}"))?;
    Ok(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec())))
}
