//! When the certificates of a listener end, and for which hosts one is: what `kafkastore security` and the warnings of
//! a broker are made of. Never: decides whether a certificate is valid.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use client::tls::material::{certificates, identity};
use client::tls::principal;
use client::tls::settings::Settings;

/// A certificate of a listener.
#[derive(Debug, PartialEq, Eq)]
pub struct CertificateEnd {
    /// The beginning of the keys that give it.
    pub key: &'static str,
    /// Whose it is.
    pub subject: String,
    /// Its end, in seconds since 1970.
    pub ends_s: i64,
}

/// The certificates that a listener shows and those of the authorities that it trusts, with their ends.
///
/// # Errors
/// A sentence that names the key, when a store cannot be read.
pub fn endings(settings: &Settings<'_>) -> Result<Vec<CertificateEnd>, String> {
    let stores = [
        ("ssl.keystore", identity(settings, "ssl.keystore")?.chain),
        ("ssl.truststore", certificates(settings, "ssl.truststore")?),
    ];
    let each = stores
        .iter()
        .flat_map(|(key, chain)| chain.iter().map(move |one| (*key, one)));
    Ok(each.filter_map(|(key, one)| ending(key, one)).collect())
}

fn ending(key: &'static str, certificate: &CertificateDer<'_>) -> Option<CertificateEnd> {
    let (_, read) = X509Certificate::from_der(certificate).ok()?;
    Some(CertificateEnd {
        key,
        subject: principal::subject(certificate)?,
        ends_s: read.validity().not_after.timestamp(),
    })
}

/// The names and addresses that the first certificate in PEM is for; `None` when there is no certificate.
pub fn hosts(pem: &[u8]) -> Option<Vec<String>> {
    let certificate = CertificateDer::from_pem_slice(pem).ok()?;
    let (_, read) = X509Certificate::from_der(&certificate).ok()?;
    let names = read.subject_alternative_name().ok()?;
    Some(names.map_or_else(Vec::new, |names| {
        names.value.general_names.iter().filter_map(host).collect()
    }))
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let of_four = <[u8; 4]>::try_from(*bytes).map(|it| IpAddr::from(Ipv4Addr::from(it)));
            let of_sixteen = <[u8; 16]>::try_from(*bytes).map(|it| IpAddr::from(Ipv6Addr::from(it)));
            of_four.or(of_sixteen).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "validity_tests.rs"]
mod tests;
