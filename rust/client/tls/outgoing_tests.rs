//! Which certificates of brokers are taken.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

use super::*;

/// As of `openssl req -x509`: signed by itself, and one of an authority.
fn own(ends: i32) -> CertificateDer<'static> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(ends, 1, 1));
    let key = KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().der().clone()
}

fn is_taken(trusted: &CertificateDer<'static>, shown: &CertificateDer<'_>, name: &str, checks_names: bool) -> bool {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let anchors = Anchors::new(vec![trusted.clone()], |roots| {
        let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        builder.build().map_err(|error| error.to_string())
    });
    let verifier = Verifier {
        trusted: anchors.unwrap().unwrap(),
        checks_names,
    };
    let name = ServerName::try_from(name.to_owned()).unwrap();
    verifier
        .verify_server_cert(shown, &[], &name, &[], UnixTime::now())
        .is_ok()
}

#[test]
fn a_broker_s_own_authority_is_taken_when_it_is_trusted_valid_and_named_so() {
    let (good, other, old) = (own(2100), own(2100), own(2021));
    assert!(is_taken(&good, &good, "localhost", true));
    assert!(!is_taken(&other, &good, "localhost", true));
    assert!(!is_taken(&good, &good, "elsewhere", true));
    assert!(is_taken(&good, &good, "elsewhere", false));
    assert!(!is_taken(&old, &old, "localhost", true));
}
