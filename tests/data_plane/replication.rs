//! Two brokers over TCP: the leader serves clients, the follower fetches by itself.

use base::error::ErrorCode;
use base::place::Offset;

use crate::fixture::{FOLLOWER, NODE, TOPIC, TOPIC_ID, TestBroker, wait_until};
use crate::requests::{Produce, batch};

/// Both know each other and a topic that broker 1 leads and both keep.
fn pair(partitions: i32, config: &[(&str, &str)]) -> (TestBroker, TestBroker) {
    let (leader, follower) = (TestBroker::start(), TestBroker::start_as(FOLLOWER));
    introduce(&leader, &follower);
    for broker in [&leader, &follower] {
        broker.create_topic(TOPIC, TOPIC_ID, partitions, config, &[NODE, FOLLOWER]);
    }
    (leader, follower)
}

fn introduce(leader: &TestBroker, follower: &TestBroker) {
    for broker in [leader, follower] {
        let rows = vec![leader.row(), follower.row()];
        broker.broker().image.publish_cluster(rows, NODE);
    }
}

fn end_of(broker: &TestBroker, index: i32) -> i64 {
    broker.partition(index).offsets().log_end.get()
}

#[test]
fn acks_all_is_answered_when_the_follower_has_it() {
    let (leader, follower) = pair(1, &[("min.insync.replicas", "2")]);
    let mut client = leader.connect();
    for offset in 0..200 {
        let answer = client.produce(&Produce::one(-1, batch(100)));
        assert_eq!(answer.outcomes(), [(ErrorCode::NONE.0, offset)]);
        assert!(end_of(&follower, 0) > offset, "it was acknowledged before it was there");
    }
    assert_eq!(leader.partition(0).offsets().high_watermark, Offset(200));
    wait_until("the follower knows", || {
        follower.partition(0).offsets().high_watermark == Offset(200)
    });
}

#[test]
fn many_partitions_and_large_batches_are_copied_byte_for_byte() {
    let (leader, follower) = pair(8, &[("segment.bytes", "4194304"), ("max.message.bytes", "3145728")]);
    let mut client = leader.connect();
    for round in 0..30 {
        let size = [10, 5_000, 900_000, 40_000, 2_500_000][round % 5];
        let index = (round % 8) as i32;
        let request = Produce::of(1, vec![(index, Some(batch(size)))]);
        assert_eq!(client.produce(&request).partitions[0].error, ErrorCode::NONE.0);
    }
    for index in 0..8 {
        wait_until("everything is copied", || {
            end_of(&leader, index) == end_of(&follower, index)
        });
        assert!(
            leader.log_bytes(index) == follower.log_bytes(index),
            "partition {index}"
        );
    }
}

// H26: a bit of the leader's file changed by itself
#[test]
fn follower_refuses_records_with_a_changed_bit_and_logs_it() {
    let (leader, follower) = (TestBroker::start(), TestBroker::start_as(FOLLOWER));
    introduce(&leader, &follower);
    leader.create_topic(TOPIC, TOPIC_ID, 2, &[], &[NODE, FOLLOWER]);
    let mut client = leader.connect();
    client.produce(&Produce::one(1, batch(1000)));
    let path = leader.dirs[0].join(format!("{TOPIC}-0/00000000000000000000.log"));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[500] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    follower.create_topic(TOPIC, TOPIC_ID, 2, &[], &[NODE, FOLLOWER]);
    let mut lines = Vec::new();
    wait_until("the follower says so", || {
        lines.extend(follower.log_lines());
        lines
            .iter()
            .any(|line| line.contains("flights-0: what the leader sent is refused"))
    });
    client.produce(&Produce::of(1, vec![(1, Some(batch(10)))]));
    wait_until("the other partition is copied", || end_of(&follower, 1) == 1);
    assert_eq!(end_of(&follower, 0), 0);
    assert_eq!(
        leader.partition(0).offsets().high_watermark,
        Offset(0),
        "it is not committed"
    );
}

#[test]
fn leader_that_comes_back_elsewhere_is_found() {
    let (leader, follower) = pair(1, &[]);
    let mut client = leader.connect();
    client.produce(&Produce::one(1, batch(10)));
    wait_until("it is copied", || end_of(&follower, 0) == 1);
    let leader = leader.restart();
    introduce(&leader, &follower);
    leader.lease(TOPIC, 0, 1, &[NODE, FOLLOWER], &[NODE, FOLLOWER]);
    follower.lease(TOPIC, 0, 1, &[NODE, FOLLOWER], &[NODE, FOLLOWER]);
    leader.connect().produce(&Produce::one(1, batch(10)));
    wait_until("it goes on", || end_of(&follower, 0) == 2);
}

#[test]
fn stop_does_not_wait_for_a_leader_that_never_answers() {
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let follower = TestBroker::start_as(FOLLOWER);
    let mut row = follower.row();
    row.node_id = NODE;
    row.endpoints[0].2 = deaf.local_addr().unwrap().port();
    let rows = vec![row, follower.row()];
    follower.broker().image.publish_cluster(rows, NODE);
    follower.create_topic(TOPIC, TOPIC_ID, 1, &[], &[NODE, FOLLOWER]);
    let (_held, _) = deaf.accept().unwrap();
    let start = std::time::Instant::now();
    drop(follower);
    assert!(start.elapsed() < std::time::Duration::from_secs(5));
}

/// Whose queue of new connections is full: the system leaves a further one without an answer.
fn full_listener() -> (std::os::fd::OwnedFd, std::net::SocketAddr, Vec<std::net::TcpStream>) {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &std::net::SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    listen(&listener, 0).unwrap();
    let address = std::net::SocketAddr::try_from(getsockname(&listener).unwrap()).unwrap();
    let connect = || std::net::TcpStream::connect_timeout(&address, std::time::Duration::from_millis(300)).ok();
    let queued = std::iter::from_fn(connect).collect();
    (listener, address, queued)
}

/// Whether a socket of this machine is connecting to the port.
fn is_connecting_to(port: u16) -> bool {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let (wanted, connecting) = (format!(":{port:04X}"), "02");
    sockets.lines().any(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        columns[2].ends_with(&wanted) && columns[3] == connecting
    })
}

#[test]
fn stop_does_not_wait_for_a_leader_that_cannot_be_reached() {
    let (_listener, address, _queued) = full_listener();
    let follower = TestBroker::start_as(FOLLOWER);
    let mut row = follower.row();
    row.node_id = NODE;
    row.endpoints[0].2 = address.port();
    follower.broker().image.publish_cluster(vec![row, follower.row()], NODE);
    wait_until("the port is quiet", || !is_connecting_to(address.port()));
    follower.create_topic(TOPIC, TOPIC_ID, 1, &[], &[NODE, FOLLOWER]);
    wait_until("it connects", || is_connecting_to(address.port()));
    let start = std::time::Instant::now();
    drop(follower);
    assert!(start.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn leader_that_cannot_be_reached_is_logged_once() {
    let follower = TestBroker::start_as(FOLLOWER);
    follower.create_topic(TOPIC, TOPIC_ID, 1, &[], &[NODE, FOLLOWER]);
    let told = follower.event(|event| format!("{event:?}").contains("cannot be fetched from"));
    assert!(format!("{told:?}").contains("broker 1 cannot be fetched from: it has no address on listener PLAINTEXT"));
}
