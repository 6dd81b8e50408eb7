//! Followers that consumers read from (KIP-392): what they serve, and how soon they learn what they
//! may serve.

use proptest::prelude::*;

use super::*;
use crate::{Isolation, ReadRequest, ServedBy};
use protocol::FetchRequest;
use protocol::fetch::ABSENT_WATERMARK;

/// What a consumer at `node` is given from `offset` on; nothing when it is refused.
fn consume(pair: &Pair, node: i32, offset: i64) -> Vec<u8> {
    let partition = pair.at(node).partition(TOPIC, 0);
    let request = ReadRequest {
        offset: Offset(offset),
        current_leader_epoch: LeaderEpoch::NONE,
        last_fetched_epoch: LeaderEpoch::NONE,
        max_bytes: 1 << 20,
        at_least_one_batch: true,
        isolation: Isolation::ReadUncommitted,
        served_by: ServedBy::AnyReplica,
        wait: storage::Wait::Yes,
        nearer: &[],
    };
    let Ok(read) = partition.read(&request) else {
        return Vec::new();
    };
    if read.is_by_follower {
        partition.note_reader(pair.now);
    }
    let Some(slice) = read.slice else {
        return Vec::new();
    };
    let mut bytes = vec![0; slice.len];
    slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
    bytes
}

/// One fetch of broker 2, answered; the high watermarks that it told.
fn fetch_telling(pair: &mut Pair) -> Vec<i64> {
    let Next::Ask(ask) = pair.fetchers[1].next(&pair.brokers[1].broker, pair.now) else {
        panic!("it follows")
    };
    let mut request = FetchRequest::default();
    request.decode(ask.api_version, &ask.body).unwrap();
    let answer = serve(&pair.brokers[0], ask.api_key, ask.api_version, &ask.body, pair.now);
    pair.fetchers[1]
        .complete(&pair.brokers[1].broker, &answer, pair.now)
        .unwrap();
    request.partitions.iter().map(|p| p.high_watermark).collect()
}

#[test]
fn follower_sends_its_high_watermark_only_while_consumers_read_there() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    assert_eq!(fetch_telling(&mut pair), [ABSENT_WATERMARK], "the full request");
    assert_eq!(fetch_telling(&mut pair), [ABSENT_WATERMARK], "it has a record more");
    assert_eq!(fetch_telling(&mut pair), [0; 0]);
    assert!(!consume(&pair, 2, 0).is_empty());
    pair.append(1);
    fetch_telling(&mut pair);
    assert_eq!(
        fetch_telling(&mut pair),
        [1],
        "one of two is committed as far as it knows"
    );
    assert_eq!(pair.high_watermarks(), [2, 2]);
    assert_eq!(fetch_telling(&mut pair), [2]);
    assert_eq!(fetch_telling(&mut pair), [0; 0], "nothing is new");
    pair.now += Duration::from_mins(1);
    pair.append(1);
    fetch_telling(&mut pair);
    assert_eq!(
        fetch_telling(&mut pair),
        [ABSENT_WATERMARK],
        "nobody reads there any more"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whichever replica served it, whoever led: what a consumer saw stays in the log, and stays the same.
    #[test]
    fn what_a_consumer_saw_at_any_replica_is_never_taken_back(
        steps in prop::collection::vec((0..9_u8, 1..=2_i32, 0..20_i64), 1..80),
    ) {
        let mut pair = Pair::new(&[]);
        let mut leader = 1;
        let mut seen = Vec::new();
        let mut made = 0;
        for (kind, node, offset) in steps {
            match kind {
                0 => {
                    leader = node;
                    pair.elect(node, &[1, 2]);
                }
                1 => {
                    leader = node; // the other learns late
                    pair.leader_epoch += 1;
                    pair.tell(node, node, &[1, 2]);
                }
                2 => pair.fetchers[node as usize - 1].lost(),
                3 | 4 => {
                    made += 1;
                    let partition = pair.at(leader).partition(TOPIC, 0);
                    partition.append(&mut batch(made), 1, Origin::Client, 0).unwrap();
                }
                5 => seen.push((offset, consume(&pair, node, offset))),
                _ => {
                    pair.fetch(3 - leader);
                    pair.now += Duration::from_millis(700);
                }
            }
            prop_assert!(pair.high_watermarks().iter().zip(pair.ends()).all(|(watermark, end)| *watermark <= end));
        }
        pair.elect(leader, &[1, 2]);
        pair.append(leader);
        pair.fetch_until_equal(3 - leader);
        let log = pair.bytes(leader);
        let size = batch(0).len();
        for (offset, bytes) in seen {
            let from = offset as usize * size;
            prop_assert!(bytes.is_empty() || log[from..].starts_with(&bytes), "from {}", offset);
        }
    }
}
