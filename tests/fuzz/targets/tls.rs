//! What a client sends in place of the handshake of TLS.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};

use client::tls::settings::Settings;
use net::{HandshakeProgress, TlsContext, TlsLayer, issue};

use super::take::Take;

/// Bytes of an alert that is not encrypted.
const ALERT: [u8; 3] = [21, 3, 3];

/// Listeners for TLS 1.2 and 1.3 that ask clients for certificates.
fn context(version: &str) -> Arc<TlsContext> {
    let Ok(issued) = issue(&["localhost".into()], &[], 1_700_000_000, 36_500, None) else {
        unreachable!("no certificate was made")
    };
    let settings = [
        ("ssl.keystore.certificate.chain", issued.broker.certificate.as_str()),
        ("ssl.keystore.key", &issued.broker.key),
        ("ssl.truststore.certificates", &issued.authority.certificate),
        ("ssl.client.auth", "requested"),
        ("ssl.enabled.protocols", version),
    ];
    let settings: HashMap<String, String> = settings.map(|(key, value)| (key.into(), value.into())).into();
    match TlsContext::new(&Settings(&settings)) {
        Ok(context) => Arc::new(context),
        Err(reason) => unreachable!("{reason}"),
    }
}

/// A version, and what arrives at the socket, in parts with their lengths.
pub fn tls(data: &[u8]) {
    static CONTEXTS: OnceLock<[Arc<TlsContext>; 2]> = OnceLock::new();
    let contexts = CONTEXTS.get_or_init(|| ["TLSv1.2", "TLSv1.2,TLSv1.3"].map(context));
    let mut take = Take(data);
    let context = &contexts[usize::from(take.byte() % 2)];
    let Ok(mut layer) = TlsLayer::new(Arc::clone(&context.config)) else {
        unreachable!("the configuration cannot be used")
    };
    let Ok((ours, theirs)) = UnixStream::pair() else {
        unreachable!("no sockets")
    };
    let _ = (ours.set_nonblocking(true), theirs.set_nonblocking(true));
    let mut is_refused = false;
    while !take.0.is_empty() && !is_refused {
        let length = u16::from_be_bytes(take.array());
        let _ = (&theirs).write_all(take.slice(usize::from(length).max(1)));
        is_refused = match layer.shake(&ours) {
            Ok(HandshakeProgress::Waits) => false,
            Ok(HandshakeProgress::Done) => unreachable!("a handshake was guessed"),
            Err(_) => true,
        };
        assert!(
            layer.peer_certificates().is_empty() || is_refused,
            "a certificate without a proof"
        );
    }
    if is_refused {
        assert!(layer.shake(&ours).is_err(), "a refused client goes on");
    }
    layer.close(&ours);
    drop((layer, ours));
    let mut answer = Vec::new();
    let _ = (&theirs).read_to_end(&mut answer);
    let alerts = answer.windows(ALERT.len()).filter(|window| **window == ALERT).count();
    assert!(alerts <= 1 || answer.len() > 100, "{alerts} alerts");
}
