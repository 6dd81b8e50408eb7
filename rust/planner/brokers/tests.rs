//! What a broker's answers mean, and that no answer is trusted. The broker is a socket with prepared answers.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use proptest::prelude::*;

use super::answers::{read_epoch_end, read_metadata, read_offsets, read_sizes, read_topics};
use super::{Ask, Brokers, Live, PlanError, Refusal};
use crate::testing::{metadata, offset};
use base::place::{LeaderEpoch, Offset};
use client::Security;

const TIMEOUT: Duration = Duration::from_secs(5);

/// A broker that answers each request of each connection with the next of `answers`, made with its port.
fn broker(connections: usize, answers: impl Fn(u16) -> Vec<Vec<u8>>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut answers = answers(port).into_iter();
    let served = thread::spawn(move || {
        for _ in 0..connections {
            let (mut stream, _) = listener.accept().unwrap();
            let mut size = [0; 4];
            while stream.read_exact(&mut size).is_ok() {
                let mut request = vec![0; i32::from_be_bytes(size) as usize];
                stream.read_exact(&mut request).unwrap();
                let Some(answer) = answers.next() else { return };
                let mut sent = ((answer.len() + 4) as i32).to_be_bytes().to_vec();
                sent.extend(&request[4..8]);
                sent.extend(answer);
                stream.write_all(&sent).unwrap();
            }
        }
    });
    (format!("127.0.0.1:{port}"), served)
}

fn partitions(servers: &str, partitions: Option<&[i32]>) -> Result<BTreeMap<i32, Live>, PlanError> {
    Brokers::parse(servers, Security::plaintext(), TIMEOUT)?.partitions("t", partitions)
}

fn sentence(answers: impl Fn(u16) -> Vec<Vec<u8>>) -> PlanError {
    let (address, served) = broker(1, answers);
    let error = partitions(&address, None).err().unwrap();
    served.join().unwrap();
    error
}

#[test]
fn three_offsets_are_asked_of_the_leader() {
    let (address, served) = broker(2, |port| {
        vec![metadata(port, 0, 7, 3), offset(0, 5), offset(0, 9), offset(0, 2)]
    });
    let found = partitions(&format!(" {address}"), Some(&[0])).unwrap();
    assert_eq!((found[&0].leader, found[&0].leader_epoch), (7, LeaderEpoch(3)));
    assert_eq!(found[&0].hosts, ["127.0.0.1"]);
    let offsets = found[&0].watermarks;
    assert_eq!(
        (
            offsets.log_start_offset,
            offsets.last_stable_offset,
            offsets.high_watermark
        ),
        (Offset(2), Offset(5), Offset(9))
    );
    served.join().unwrap();
}

#[test]
fn a_log_start_beyond_the_other_offsets_moves_them() {
    let (address, served) = broker(2, |port| {
        vec![metadata(port, 0, 7, 3), offset(0, 5), offset(0, 9), offset(0, 12)]
    });
    let found = partitions(&address, None).unwrap()[&0].watermarks;
    assert_eq!(
        (found.last_stable_offset, found.high_watermark),
        (Offset(12), Offset(12))
    );
    served.join().unwrap();
}

#[test]
fn a_leader_that_moves_is_asked_again() {
    let (address, served) = broker(3, |port| {
        vec![
            metadata(port, 0, -1, 3),
            metadata(port, 0, 7, 3),
            offset(0, 1),
            offset(0, 1),
            offset(0, 0),
        ]
    });
    assert_eq!(partitions(&address, None).unwrap().len(), 1);
    served.join().unwrap();
}

#[test]
fn a_leader_that_is_not_there_is_looked_for_again() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (address, served) = broker(3, move |port| {
        vec![
            metadata(free.port(), 0, 7, 3),
            metadata(port, 0, 7, 3),
            offset(0, 1),
            offset(0, 1),
            offset(0, 0),
        ]
    });
    assert_eq!(partitions(&address, None).unwrap().len(), 1);
    served.join().unwrap();
}

#[test]
fn refusals_are_one_sentence() {
    let unknown = sentence(|port| vec![metadata(port, 3, 7, 3)]);
    assert!(matches!(unknown, PlanError::NotFound(_)));
    assert_eq!(
        unknown.to_string(),
        "topic t is not known to the broker; check the topic and bootstrap_servers"
    );
    let forbidden = sentence(|port| vec![metadata(port, 29, 7, 3)]);
    assert!(matches!(forbidden, PlanError::Forbidden(_)));
    assert_eq!(
        forbidden.to_string(),
        "topic t: the broker's ACLs do not let this client describe it; allow READ on the topic"
    );
    let other = sentence(|port| vec![metadata(port, 99, 7, 3)]);
    assert!(matches!(other, PlanError::Unreachable(_)));
    assert_eq!(
        other.to_string(),
        "bootstrap_servers: the broker answered error 99 for t; its log says why"
    );
    let garbage = sentence(|_| vec![vec![0xff; 30]]);
    assert!(
        garbage
            .to_string()
            .contains("cannot be asked (its answer is not Kafka's protocol); name a running broker"),
        "{garbage}"
    );
}

#[test]
fn a_partition_that_the_broker_does_not_have_is_named() {
    let (address, served) = broker(1, |port| vec![metadata(port, 0, 7, 3)]);
    let error = partitions(&address, Some(&[4])).err().unwrap();
    assert_eq!(
        error.to_string(),
        "topic t has no partition 4 at the broker; it has only 0"
    );
    served.join().unwrap();
}

#[test]
fn a_partition_without_a_leader_is_asked_again_until_the_time_is_up() {
    for (topic_error, leader, what) in [(5, -1, "t"), (0, -1, "t-0")] {
        let (address, served) = broker(1, |port| vec![metadata(port, topic_error, leader, 3)]);
        let brokers = Brokers::parse(&address, Security::plaintext(), TIMEOUT).unwrap();
        let refusal = brokers.live("t", None).err().unwrap();
        let Refusal::Passing(reason) = refusal else {
            panic!("{refusal:?}")
        };
        assert_eq!(reason, format!("partition {what} has no leader"));
        served.join().unwrap();
    }
}

#[test]
fn a_server_that_is_not_there_is_named_and_the_next_one_is_asked() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = partitions(&free.to_string(), None).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "bootstrap_servers: {free} cannot be asked (Connection refused); name a running broker, or leave \
             bootstrap_servers out to go by the files alone"
        )
    );
    let (address, served) = broker(2, |port| {
        vec![metadata(port, 0, 7, 3), offset(0, 5), offset(0, 9), offset(0, 2)]
    });
    assert!(partitions(&format!("{free},{address}"), None).is_ok());
    served.join().unwrap();
}

#[test]
fn a_server_that_is_none_is_quoted_with_the_fix() {
    assert_eq!(
        Brokers::parse("a:1,::1:2", Security::plaintext(), TIMEOUT)
            .err()
            .unwrap()
            .to_string(),
        "bootstrap_servers: '::1:2' is no server; an IPv6 address stands in brackets, as [::1]:9092"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_metadata(&bytes, "t");
        let _ = read_offsets(&bytes, "t");
        let _ = read_topics(&bytes);
        let _ = read_sizes(&bytes, "t");
        let _ = read_epoch_end(&bytes, "t");
    }

    #[test]
    fn a_truncated_answer_is_malformed(cut in 0_usize..1000) {
        let whole = metadata(9092, 0, 7, 3);
        prop_assert!(read_metadata(&whole[..cut % whole.len()], "t").is_err());
        let whole = offset(0, 5);
        prop_assert!(read_offsets(&whole[..cut % whole.len()], "t").is_err());
    }
}
