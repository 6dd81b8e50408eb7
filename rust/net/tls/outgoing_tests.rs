//! Connections to other brokers against this broker's own listener.

use std::collections::HashMap;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use super::context::TlsContext;
use super::issue::{Issued, Pair, issue};
use super::{Shaken, TlsLayer};
use client::tls::outgoing::{NAME_KEY, OutgoingTls};
use client::tls::settings::Settings;

/// 2026-01-01, in seconds.
const NOW_S: i64 = 1_767_225_600;

fn pem(Pair { certificate, key }: &Pair, authority: &Pair, more: &[(&str, &str)]) -> HashMap<String, String> {
    let mut pairs = HashMap::from([
        ("ssl.keystore.certificate.chain".to_owned(), certificate.clone()),
        ("ssl.keystore.key".to_owned(), key.clone()),
        ("ssl.truststore.certificates".to_owned(), authority.certificate.clone()),
    ]);
    pairs.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    pairs
}

fn issued(host: &str) -> Issued {
    let now_s = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(NOW_S, |since| since.as_secs() as i64);
    issue(&[host.to_owned()], &["kafka".to_owned()], now_s, 30, None).unwrap()
}

/// What becomes of a handshake at 127.0.0.1 between brokers with these certificates.
fn shake(client: &Issued, server: &Issued, names: &str) -> Result<(), String> {
    let theirs = TlsContext::new(&Settings(&pem(&server.broker, &server.authority, &[]))).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut layer = TlsLayer::new(Arc::clone(&theirs.config)).unwrap();
        while matches!(layer.shake(&socket), Ok(Shaken::Waits)) {}
    });
    let pairs = pem(&client.broker, &client.authority, &[(NAME_KEY, names)]);
    let ours = OutgoingTls::new(&Settings(&pairs)).unwrap();
    let shaken = ours.shake("127.0.0.1", TcpStream::connect(address).unwrap());
    let outcome = shaken.map(drop).map_err(|error| error.to_string());
    serving.join().unwrap();
    outcome
}

#[test]
fn a_certificate_of_the_host_is_taken_and_of_another_host_only_where_names_do_not_count() {
    let (here, elsewhere) = (issued("127.0.0.1"), issued("elsewhere.example"));
    assert_eq!(shake(&here, &here, "https"), Ok(()));
    let refused = shake(&elsewhere, &elsewhere, "https").unwrap_err();
    assert!(refused.contains("not valid for name"));
    assert_eq!(shake(&elsewhere, &elsewhere, ""), Ok(()));
}

#[test]
fn an_authority_that_is_not_trusted_is_refused_whether_names_count_or_not() {
    let (ours, theirs) = (issued("127.0.0.1"), issued("127.0.0.1"));
    for names in ["https", ""] {
        assert!(shake(&ours, &theirs, names).is_err());
    }
}

#[test]
fn settings_that_cannot_be_used_are_named_in_one_sentence() {
    let issued = issued("127.0.0.1");
    let refused = |more: &[(&str, &str)]| {
        let pairs = pem(&issued.broker, &issued.authority, more);
        OutgoingTls::new(&Settings(&pairs)).err().unwrap()
    };
    assert!(refused(&[("ssl.truststore.certificates", "")]).starts_with("ssl.truststore.location is not set"));
    assert!(refused(&[(NAME_KEY, "LDAPS")]).starts_with("ssl.endpoint.identification.algorithm=LDAPS is not served"));
    let pairs = pem(&issued.users[0], &issued.authority, &[]);
    assert_eq!(
        OutgoingTls::new(&Settings(&pairs)).unwrap().user.as_deref(),
        Some("CN=kafka")
    );
}
