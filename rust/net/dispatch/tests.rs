use std::io::Read;
use std::net::TcpStream;

use super::*;
use crate::apis::serve_all;
use crate::connection::tests::connected;
use crate::framing::framed;
use crate::outbox::{Outbox, SendProgress};
use base::place::{Offset, Position};
use broker::testing::Fixture;
use broker::{BodyTail, Splice};
use protocol::{ApiRange, Writer};
use storage::FileSlice;

/// A connection and its client's end.
fn connection() -> (Connection, TcpStream) {
    connected(1, Instant::now())
}

/// What a client gets of an outbox.
fn outbox_bytes(mut outbox: Outbox) -> Vec<u8> {
    let (mut connection, mut client) = connection();
    let sent = outbox.flush(&mut connection.transport).unwrap();
    assert!(matches!(sent, SendProgress::All));
    drop(connection);
    let mut arrived = Vec::new();
    client.read_to_end(&mut arrived).unwrap();
    arrived
}

fn fixture() -> Fixture {
    let range = |key, min, max, flexible_from| ApiRange {
        key,
        min,
        max,
        flexible_from,
        is_advertised: true,
    };
    let fixture = Fixture::new(1);
    serve_all(&fixture.broker);
    fixture.broker.publish_apis(ApiTable::new(vec![
        range(ApiTable::METADATA, 0, 13, 9),
        range(ApiTable::API_VERSIONS, 0, 4, 3),
        range(19, 2, 7, 5),
    ]));
    fixture
}

fn request(key: i16, version: i16, flexible: bool, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.i16(key);
    w.i16(version);
    w.i32(42);
    w.nullable_string(Some("me"));
    let mut w = Writer::new(&mut out, flexible);
    w.no_tags();
    write(&mut w);
    out
}

fn serve_one(fixture: &Fixture, connection: &mut Connection, mut frame: Vec<u8>) -> Result<(), CloseReason> {
    let poll = mio::Poll::new().unwrap();
    let mailbox = Mailbox::new(0, mio::Waker::new(poll.registry(), mio::Token(0)).unwrap());
    let mut context = Context {
        broker: &fixture.broker,
        proof: &Proof::new(&fixture.broker.options(), None).unwrap(),
        credentials: &Credentials::default(),
        refusals: &ClientRefusals::default(),
        operations: &mut ParkedOperations::new(0, 1),
        scratch: &mut Scratch::default(),
        mailbox: &mailbox,
        now_ms: 0,
        now: Instant::now(),
    };
    serve(RequestFrame::Shared(&mut frame), connection, &mut context)
}

#[test]
fn what_is_not_served_or_not_understood_is_named() {
    let fixture = fixture();
    let (mut connection, _client) = connection();
    let unsupported = serve_one(&fixture, &mut connection, request(19, 8, true, |_| {}));
    assert_eq!(
        unsupported.unwrap_err().to_string(),
        "unsupported request: api key 19 version 8"
    );
    let malformed = serve_one(&fixture, &mut connection, request(3, 4, false, |_| {}));
    let text = malformed.unwrap_err().to_string();
    assert!(
        text.starts_with("malformed request with api key 3 version 4: "),
        "{text}"
    );
    assert!(serve_one(&fixture, &mut connection, vec![0, 3, 0]).is_err());
    assert!(connection.outbox.is_empty(), "no half an answer is left");
}

// KIP-511
#[test]
fn the_client_s_software_is_remembered_if_its_name_is_good() {
    let fixture = fixture();
    let (mut connection, _client) = connection();
    let software = |name: &'static str| {
        request(ApiTable::API_VERSIONS, 3, true, move |w| {
            w.string(name);
            w.string("1.2");
            w.no_tags();
        })
    };
    serve_one(&fixture, &mut connection, software("good-client")).unwrap();
    let known = connection.client.clone();
    assert_eq!(
        (&*known.software_name, &*known.software_version),
        ("good-client", "1.2")
    );
    serve_one(&fixture, &mut connection, software("bad name!")).unwrap();
    assert_eq!(connection.client.software_name, "good-client");
}

#[test]
fn a_request_for_the_control_plane_mutes_its_connection() {
    let fixture = fixture();
    let (mut connection, _client) = connection();
    serve_one(&fixture, &mut connection, request(19, 5, true, |w| w.raw(b"body"))).unwrap();
    assert!(connection.is_muted() && connection.has_gap());
    let events = fixture.broker.events().take(9);
    let [Event::Request(queued)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (
            queued.correlation_id,
            queued.client.client_id.as_deref(),
            &queued.body[..]
        ),
        (42, Some("me"), &b"body"[..])
    );
}

#[test]
fn metadata_of_a_topic_to_be_created_goes_to_the_control_plane_with_its_body() {
    let fixture = fixture();
    fixture.broker.image().publish_cluster(Vec::new(), 1);
    let (mut connection, _client) = connection();
    let ask = |may_create| {
        request(ApiTable::METADATA, 4, false, move |w| {
            w.length(Some(1));
            w.string("new");
            w.boolean(may_create);
        })
    };
    serve_one(&fixture, &mut connection, ask(false)).unwrap();
    assert!(!connection.is_muted() && !connection.outbox.is_empty());
    serve_one(&fixture, &mut connection, ask(true)).unwrap();
    assert!(connection.is_muted());
    assert_eq!(fixture.broker.events().take(9).len(), 1);
}

#[test]
fn response_that_is_not_complete_leaves_nothing_behind_what_waits_to_be_sent() {
    let framing = Framing {
        correlation_id: 7,
        is_flexible: true,
        throttle_at: None,
    };
    let mut outbox = Outbox::default();
    outbox.tail().extend_from_slice(b"before");
    let refused = framed(&mut outbox, framing, |out| {
        out.extend_from_slice(b"half");
        Err("no more")
    });
    assert_eq!((refused, &outbox.tail()[..]), (Err("no more"), &b"before"[..]));
    for rest in [
        BodyTail::Bytes(b"abc".to_vec()),
        BodyTail::Shared(Arc::new(b"abc".to_vec())),
    ] {
        let mut outbox = Outbox::default();
        framed::<()>(&mut outbox, framing, |_| Ok(rest)).unwrap();
        assert_eq!(outbox.buffered_bytes(), 4 + 5 + 3);
        assert_eq!(outbox_bytes(outbox), b"\0\0\0\x08\0\0\0\x07\0abc");
    }
}

#[test]
fn a_response_s_size_counts_its_files_and_they_come_where_they_belong() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.log");
    std::fs::write(&path, b"0123456789").unwrap();
    let file = ::io::FileSystem::open(&::io::OsFileSystem, &path, ::io::OpenMode::Read).unwrap();
    let slice = |position, len| FileSlice {
        file: Arc::clone(&file),
        position,
        len,
        base_offset: Offset(0),
    };
    let mut outbox = Outbox::default();
    outbox.tail().extend_from_slice(b"before");
    let framing = Framing {
        correlation_id: 7,
        is_flexible: true,
        throttle_at: None,
    };
    let whole: Result<(), ()> = framed(&mut outbox, framing, |out| {
        out.extend_from_slice(b"abc");
        let at = out.len();
        let splices = [(at - 2, slice(Position(1), 2)), (at, slice(Position(5), 3))];
        Ok(BodyTail::Files(splices.map(|(at, slice)| Splice { at, slice }).into()))
    });
    whole.unwrap();
    assert_eq!(outbox_bytes(outbox), b"before\0\0\0\x0d\0\0\0\x07\0a12bc567");
}
