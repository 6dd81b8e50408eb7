//! Who a client's certificate is signed by, and whether that one may sign.

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::UnixTime;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::*;

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = named(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// The certificate that these make, signed by itself, and another one that its key signs.
fn signs(params: CertificateParams) -> (Certificate, Certificate) {
    let key = KeyPair::generate().unwrap();
    let own = params.self_signed(&key).unwrap();
    let signed = named("admin")
        .signed_by(&KeyPair::generate().unwrap(), &Issuer::new(params, key))
        .unwrap();
    (own, signed)
}

fn is_taken(trusted: &[&Certificate], shown: &Certificate, above: &[&Certificate]) -> bool {
    let der = |one: &&Certificate| one.der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let anchors = Anchors::<dyn ClientCertVerifier>::new(trusted.iter().map(der).collect(), |roots| {
        let built = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        built
            .map(|one| one as Arc<dyn ClientCertVerifier>)
            .map_err(|error| error.to_string())
    });
    let anchors = anchors.unwrap().unwrap();
    assert_eq!(anchors.names().len(), trusted.len(), "a client learns of each");
    let above: Vec<_> = above.iter().map(der).collect();
    let checked = anchors.check(shown.der(), &above, |verifier, above| {
        verifier.verify_client_cert(shown.der(), above, UnixTime::now())
    });
    checked.is_ok()
}

#[test]
fn certificate_that_is_trusted_as_it_is_signs_no_other() {
    let (bob, admin) = signs(named("bob"));
    let (ca, of_ca) = signs(authority("ca"));
    assert!(is_taken(&[&bob], &bob, &[]));
    assert!(!is_taken(&[&bob], &admin, &[]));
    assert!(!is_taken(&[&bob], &admin, &[&bob]), "shown above its own");
    assert!(is_taken(&[&ca, &bob], &bob, &[]));
    assert!(is_taken(&[&bob, &ca], &of_ca, &[]));
    assert!(!is_taken(&[&ca, &bob], &admin, &[&bob]));
    let (other, _) = signs(named("bob"));
    assert!(!is_taken(&[&bob], &other, &[]), "another certificate with the name");
}

#[test]
fn authority_whose_key_is_not_for_certificates_signs_none() {
    let mut params = authority("ca");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let (ca, signed) = signs(params);
    assert!(!is_taken(&[&ca], &signed, &[]));
    let mut params = authority("ca");
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let (ca, signed) = signs(params);
    assert!(is_taken(&[&ca], &signed, &[]));
}

#[test]
fn nothing_that_is_trusted_is_no_verifier() {
    let none = Anchors::<dyn ClientCertVerifier>::new(Vec::new(), |_| Err("asked for".to_owned()));
    assert!(none.unwrap().is_none());
}
