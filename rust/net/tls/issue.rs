//! Makes the certificates of a small private authority, for `kafkastore security`. Keys are on P-256.
//!
//! Never: writes a file; keeps a key.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use x509_parser::time::ASN1Time;

/// A certificate and its private key, in PEM.
pub struct CertificatePair {
    /// The certificate.
    pub certificate: String,
    /// The key (PKCS#8).
    pub key: String,
}

/// What an authority has issued.
pub struct IssuedCertificates {
    /// The authority itself.
    pub authority: CertificatePair,
    /// The broker's.
    pub broker: CertificatePair,
    /// Of each user, in their order.
    pub users: Vec<CertificatePair>,
}

/// A certificate for a broker at `hosts` (names or addresses) and one for each user, of an authority that is new, or
/// whose `key` in PEM was made here before: then its certificate has another end, and what it has signed stays valid.
///
/// # Errors
/// One sentence.
pub fn issue(
    hosts: &[String],
    users: &[String],
    now_s: i64,
    days: i64,
    authority: Option<&str>,
) -> Result<IssuedCertificates, String> {
    let failed = |error: rcgen::Error| format!("a certificate cannot be made ({error})");
    let ends = now_s.saturating_add(days.saturating_mul(86_400));
    let (begins, ends) = (date(now_s - 3600)?, date(ends)?);
    let named = |name: &str, hosts: Vec<String>| -> Result<CertificateParams, String> {
        let mut params = CertificateParams::new(hosts).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = (begins.to_datetime(), ends.to_datetime());
        Ok(params)
    };
    let mut params = named("kafkastore private authority", Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = match authority {
        Some(pem) => KeyPair::from_pem(pem).map_err(|error| format!("it is no private key ({error})"))?,
        None => KeyPair::generate().map_err(failed)?,
    };
    let authority = CertificatePair {
        certificate: params.self_signed(&key).map_err(failed)?.pem(),
        key: key.serialize_pem(),
    };
    let issuer = Issuer::new(params, key);
    let sign =
        |mut params: CertificateParams, purposes: &[ExtendedKeyUsagePurpose]| -> Result<CertificatePair, String> {
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = purposes.to_vec();
            params.use_authority_key_identifier_extension = true;
            let key = KeyPair::generate().map_err(failed)?;
            Ok(CertificatePair {
                certificate: params.signed_by(&key, &issuer).map_err(failed)?.pem(),
                key: key.serialize_pem(),
            })
        };
    let first = hosts.first().map_or("localhost", String::as_str);
    // a broker is the client of other brokers, too
    let both = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let broker = sign(named(first, hosts.to_vec())?, &both)?;
    let users = users
        .iter()
        .map(|user| sign(named(user, Vec::new())?, &[ExtendedKeyUsagePurpose::ClientAuth]))
        .collect::<Result<_, _>>()?;
    Ok(IssuedCertificates {
        authority,
        broker,
        users,
    })
}

fn date(seconds: i64) -> Result<ASN1Time, String> {
    ASN1Time::from_timestamp(seconds).map_err(|_| "the end of a certificate is out of range".to_owned())
}

#[cfg(test)]
#[path = "issue_tests.rs"]
mod tests;
