//! The layer against rustls' own client, over sockets that take little at a time.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::context::TlsContext;
use super::*;
use client::tls::settings::Settings;

type Client = StreamOwned<ClientConnection, UnixStream>;

fn context(more: &[(&str, &str)]) -> (Arc<TlsContext>, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let mut pairs: HashMap<String, String> = more.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    pairs.insert("ssl.keystore.certificate.chain".to_owned(), cert.pem());
    pairs.insert("ssl.keystore.key".to_owned(), signing_key.serialize_pem());
    (
        Arc::new(TlsContext::new(&Settings(&pairs)).unwrap()),
        cert.der().clone(),
    )
}

fn client_config(trusted: CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A layer whose handshake is done, with its socket, and its client. The client's half runs on this thread's sockets by
/// turns, so nothing blocks.
fn pair(more: &[(&str, &str)]) -> (TlsLayer, UnixStream, Client) {
    let (context, certificate) = context(more);
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(client_config(certificate), name).unwrap();
    let mut client = StreamOwned::new(connection, theirs);
    let mut layer = TlsLayer::new(Arc::clone(&context.config)).unwrap();
    let shaking = std::thread::spawn(move || {
        client.flush().unwrap();
        while client.conn.is_handshaking() {
            client.conn.complete_io(&mut client.sock).unwrap();
        }
        client
    });
    while layer.shake(&ours).unwrap() == HandshakeProgress::Waits {
        std::thread::yield_now();
    }
    (layer, ours, shaking.join().unwrap())
}

fn received(layer: &mut TlsLayer, socket: &UnixStream, count: usize, at_a_time: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = vec![0; at_a_time];
    while all.len() < count {
        match layer.receive(socket, PlaintextSink::Slice(&mut buffer, 0)) {
            Ok(n) => all.extend_from_slice(&buffer[..n]),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
    all
}

fn noise(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 31 % 251) as u8).collect()
}

#[test]
fn received_bytes_are_what_the_client_sent_whatever_the_buffer_is() {
    for version in ["TLSv1.2", "TLSv1.3"] {
        for at_a_time in [1000, 16 << 10, 64 << 10] {
            let (mut layer, socket, mut client) = pair(&[("ssl.enabled.protocols", version)]);
            let sent = noise(300_000);
            let expected = sent.clone();
            let sending = std::thread::spawn(move || {
                client.write_all(&sent).unwrap();
                client.flush().unwrap();
                client
            });
            assert_eq!(received(&mut layer, &socket, expected.len(), at_a_time), expected);
            drop(sending.join().unwrap());
        }
    }
}

#[test]
fn sent_bytes_arrive_whole_over_a_socket_that_fills_up() {
    let (mut layer, socket, mut client) = pair(&[]);
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, 16 << 10).unwrap();
    let sent = noise(3_000_000);
    let mut at = layer.send(&socket, &sent, false).unwrap();
    assert!(at < sent.len(), "nobody reads, so the socket is full");
    let expected = sent.clone();
    let reading = std::thread::spawn(move || {
        let mut all = vec![0; expected.len()];
        client.read_exact(&mut all).unwrap();
        assert!(all == expected);
    });
    while at < sent.len() {
        at += layer.send(&socket, &sent[at..], false).unwrap();
        std::thread::yield_now();
    }
    while !layer.flush(&socket).unwrap() {
        std::thread::yield_now();
    }
    assert_eq!(layer.held_bytes(), 0, "an idle layer keeps nothing");
    reading.join().unwrap();
}

#[test]
fn peeked_bytes_are_received_again() {
    let (mut layer, socket, mut client) = pair(&[]);
    client.write_all(b"a request").unwrap();
    client.flush().unwrap();
    let mut front = [0; 5];
    while layer.peek(&socket, &mut front).is_err() {}
    assert_eq!(&front, b"a req");
    assert_eq!(received(&mut layer, &socket, 9, 100), b"a request");
}

#[test]
fn client_learns_that_the_stream_ends() {
    let (mut layer, socket, mut client) = pair(&[]);
    layer.close(&socket);
    drop(socket);
    let mut rest = Vec::new();
    assert_eq!(
        client.read_to_end(&mut rest).unwrap(),
        0,
        "without the alert this would be an error"
    );
}

#[test]
fn end_of_the_client_is_the_end_of_the_stream() {
    let (mut layer, socket, mut client) = pair(&[]);
    client.write_all(b"last").unwrap();
    client.conn.send_close_notify();
    client.flush().unwrap();
    drop(client);
    let mut buffer = [0; 100];
    assert_eq!(received(&mut layer, &socket, 4, 100), b"last");
    assert_eq!(layer.receive(&socket, PlaintextSink::Slice(&mut buffer, 0)).unwrap(), 0);
}

#[test]
fn garbage_in_place_of_a_handshake_is_refused_with_an_alert() {
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0x16, 3, 1, 0xff, 0xff, 1, 2, 3],
        &[0; 4096],
        // two messages in one record, the first of them malformed
        &[0x16, 3, 1, 0, 12, 1, 0, 0, 2, 9, 9, 1, 0, 0, 2, 9, 9],
        // a message that goes on in a second record, which is none
        &[0x16, 3, 1, 0, 6, 1, 0, 1, 0, 3, 3, 0x99, 9, 9, 0, 1, 0],
    ] {
        let (context, _) = context(&[]);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut layer = TlsLayer::new(Arc::clone(&context.config)).unwrap();
        theirs.write_all(garbage).unwrap();
        let error = layer.shake(&ours).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        drop((layer, ours));
        let mut answer = Vec::new();
        theirs.read_to_end(&mut answer).unwrap();
        assert_eq!(answer.first(), Some(&0x15), "an alert");
        assert_eq!(answer.len(), 7, "one alert");
    }
}

#[test]
fn record_changed_on_its_way_ends_the_connection() {
    let (mut layer, socket, mut client) = pair(&[]);
    client.conn.writer().write_all(b"a request").unwrap();
    let mut record = Vec::new();
    client.conn.write_tls(&mut record).unwrap();
    if let Some(last) = record.last_mut() {
        *last ^= 1;
    }
    client.sock.write_all(&record).unwrap();
    let mut buffer = [0; 100];
    let error = layer
        .receive(&socket, PlaintextSink::Slice(&mut buffer, 0))
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}
