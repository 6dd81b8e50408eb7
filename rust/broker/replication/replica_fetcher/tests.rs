use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Next, ReplicaFetcher};
use crate::testing::{Fixture, batch, lease, request, row};
use crate::{Api, Event, Fetch, Lease, ListOffsets, Place, Proposal, Request, Rest, Scratch, Served, Splice};
use ::io::Fault;
use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use record::{BatchBuilder, Codec, Origin};
use storage::LogConfig;

mod divergence;
mod durable;
mod readers;
mod throttles;

const TOPIC: &str = "t";
const ID: [u8; 16] = [7; 16];

/// Brokers 1 and 2 with one partition, one of them following the other.
struct Pair {
    brokers: [Fixture; 2],
    fetchers: [ReplicaFetcher; 2],
    now: Instant,
    leader_epoch: i32,
}

impl Pair {
    fn new(config: &[(&str, &str)]) -> Self {
        let brokers = [Fixture::replica(1), Fixture::replica(2)];
        let config = std::sync::Arc::new(LogConfig::from_pairs(config.iter().copied()).unwrap());
        for fixture in &brokers {
            let placed = [(0, fixture.dirs[0].clone())];
            assert_eq!(fixture.broker.create_logs(TOPIC, ID, &config, &placed), [None]);
            fixture.broker.image.publish_topics(vec![row(TOPIC, ID, 1)]);
        }
        let mut pair = Self {
            brokers,
            fetchers: [ReplicaFetcher::new(2), ReplicaFetcher::new(1)],
            now: Instant::now(),
            leader_epoch: -1,
        };
        pair.elect(1, &[1, 2]);
        pair
    }

    fn at(&self, node: i32) -> &Fixture {
        &self.brokers[node as usize - 1]
    }

    fn lease(&self, leader: i32, in_sync: &[i32]) -> Lease {
        Lease {
            leader,
            ..lease(self.leader_epoch, &[1, 2], in_sync)
        }
    }

    /// A new leader epoch, which both learn.
    fn elect(&mut self, leader: i32, in_sync: &[i32]) {
        self.leader_epoch += 1;
        for node in [1, 2] {
            self.tell(node, leader, in_sync);
        }
    }

    fn tell(&mut self, node: i32, leader: i32, in_sync: &[i32]) {
        let lease = self.lease(leader, in_sync);
        let broker = &self.brokers[node as usize - 1].broker;
        broker.publish_leases(TOPIC, vec![(0, lease)], self.now);
        let sources = broker.fetchers.sources();
        let changes = sources.iter().flat_map(|source| source.take().unwrap()).collect();
        self.fetchers[node as usize - 1].apply(changes);
    }

    fn append(&self, node: i32) {
        let partition = self.at(node).partition(TOPIC, 0);
        partition.append(&mut batch(1_000), 1, Origin::Client, 0).unwrap();
    }

    /// One request of `node` to the other broker, answered; false when it has nothing to ask.
    fn fetch(&mut self, node: i32) -> bool {
        let at = node as usize - 1;
        match self.fetchers[at].next(&self.brokers[at].broker, self.now) {
            Next::Idle(_) => false,
            Next::Ask(ask) => {
                let answer = serve(&self.brokers[1 - at], ask.api_key, ask.api_version, &ask.body, self.now);
                self.fetchers[at]
                    .complete(&self.brokers[at].broker, &answer, self.now)
                    .unwrap();
                true
            }
        }
    }

    /// One request of broker 2, whose answer comes with a changed bit.
    fn fetch_corrupt(&mut self) {
        let broker = &self.brokers[1].broker;
        let Next::Ask(ask) = self.fetchers[1].next(broker, self.now) else {
            panic!("nothing asked")
        };
        let mut answer = serve(&self.brokers[0], ask.api_key, ask.api_version, &ask.body, self.now);
        let middle = answer.len() - 8;
        answer[middle] ^= 1;
        self.fetchers[1].complete(broker, &answer, self.now).unwrap();
    }

    /// Until several fetches change nothing more: ends may be equal by chance while the first fetch only opens a
    /// session.
    fn fetch_until_equal(&mut self, node: i32) {
        let mut quiet = 0;
        for _ in 0..50 {
            let before = self.ends();
            self.fetch(node);
            self.now += Duration::from_secs(2);
            let is_quiet = before == self.ends() && before[0] == before[1];
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet == 3 {
                return;
            }
        }
        panic!("{:?}", self.ends());
    }

    fn ends(&self) -> [i64; 2] {
        [1, 2].map(|node| self.at(node).partition(TOPIC, 0).offsets().log_end.get())
    }

    fn high_watermarks(&self) -> [i64; 2] {
        [1, 2].map(|node| self.at(node).partition(TOPIC, 0).offsets().high_watermark.get())
    }

    /// What stands in the segments, in order.
    fn bytes(&self, node: i32) -> Vec<u8> {
        let dir = self.at(node).dirs[0].join("t-0");
        let Ok(entries) = std::fs::read_dir(dir) else {
            return Vec::new();
        };
        let mut segments: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        segments.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        segments.sort();
        segments.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    }

    fn proposals(&self, node: i32) -> Vec<Proposal> {
        let events = self.at(node).broker.events.take(100);
        let proposal = |event| match event {
            Event::IsrChange { proposal, .. } => Some(proposal),
            _ => None,
        };
        events.into_iter().filter_map(proposal).collect()
    }
}

fn batch_of(records: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None);
    for _ in 0..records {
        builder.append(1_000, Some(b"key"), Some(b"value"), &[]);
    }
    builder.build(Offset(0), LeaderEpoch::NONE)
}

fn serve(fixture: &Fixture, api_key: i16, version: i16, body: &[u8], now: Instant) -> Vec<u8> {
    let (mut body, mut out) = (body.to_vec(), Vec::new());
    let scratch = &mut Scratch::default();
    let asked = Request {
        now,
        ..request(&fixture.broker, version, &mut body, scratch)
    };
    if api_key == 2 {
        let place = Place::Elsewhere;
        ListOffsets.serve(Request { place, ..asked }, &mut out).unwrap();
        return out;
    }
    let Served::Answered(rest) = Fetch.serve(asked, &mut out).unwrap() else {
        panic!("it was told not to wait")
    };
    let Rest::Files(splices) = rest else { return out };
    for Splice { at, slice } in splices.into_iter().rev() {
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        out.splice(at..at, bytes);
    }
    out
}

#[test]
fn follower_copies_byte_for_byte_and_learns_the_high_watermark_one_fetch_later() {
    let mut pair = Pair::new(&[("segment.bytes", "1048576")]);
    for _ in 0..600 {
        pair.append(1);
    }
    assert!(pair.fetch(2));
    assert_eq!((pair.ends(), pair.high_watermarks()), ([600, 600], [0, 0]));
    assert!(pair.fetch(2));
    assert_eq!(pair.high_watermarks(), [600, 600]);
    assert_eq!(pair.bytes(1), pair.bytes(2));
    let epochs = |node| pair.at(node).partition(TOPIC, 0).log().epochs().entries().to_vec();
    assert_eq!(epochs(1), epochs(2));
}

#[test]
fn acks_all_waits_for_the_follower() {
    let mut pair = Pair::new(&[]);
    let partition = pair.at(1).partition(TOPIC, 0);
    let (_, awaited) = partition.append(&mut batch(1_000), -1, Origin::Client, 0).unwrap();
    pair.fetch(2);
    assert!(
        !partition.is_satisfied(awaited).unwrap(),
        "the leader does not know yet that it arrived"
    );
    pair.fetch(2);
    assert!(partition.is_satisfied(awaited).unwrap());
}

#[test]
fn follower_out_of_sync_is_proposed_once_when_it_has_caught_up() {
    let mut pair = Pair::new(&[]);
    pair.elect(1, &[1]);
    for _ in 0..20 {
        pair.append(1);
    }
    pair.fetch(2);
    assert!(pair.proposals(1).is_empty(), "its log was empty when it asked");
    pair.fetch(2);
    pair.fetch(2);
    let proposals = pair.proposals(1);
    assert_eq!(proposals.len(), 1);
    assert_eq!(proposals[0].in_sync_replicas, [(1, -1), (2, -1)]);
}

#[test]
fn follower_that_stops_fetching_is_proposed_to_leave() {
    let pair = Pair::new(&[]);
    pair.append(1);
    let broker = &pair.at(1).broker;
    broker.shrink_isrs(pair.now + Duration::from_secs(30));
    assert!(pair.proposals(1).is_empty());
    broker.shrink_isrs(pair.now + Duration::from_secs(31));
    broker.shrink_isrs(pair.now + Duration::from_secs(32));
    let proposals = pair.proposals(1);
    assert_eq!(proposals.len(), 1, "one change at a time");
    assert_eq!(proposals[0].in_sync_replicas, [(1, -1)]);
}

#[test]
fn log_that_ends_before_the_leaders_start_begins_again_there() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    pair.elect(1, &[1]);
    for _ in 0..9 {
        pair.append(1);
    }
    assert_eq!(
        pair.at(1).partition(TOPIC, 0).delete_records(Offset(-1)).unwrap(),
        Offset(10)
    );
    pair.append(1);
    pair.fetch_until_equal(2);
    let follower = pair.at(2).partition(TOPIC, 0).offsets();
    assert_eq!((follower.log_start, follower.log_end), (Offset(10), Offset(11)));
}

// H16: DeleteRecords may leave the start within a batch, which comes whole.
#[test]
fn new_replica_of_a_log_that_starts_within_a_batch_copies_it() {
    let mut pair = Pair::new(&[]);
    pair.elect(1, &[1]);
    let leader = pair.at(1).partition(TOPIC, 0);
    for _ in 0..3 {
        leader.append(&mut batch_of(10), 1, Origin::Client, 0).unwrap();
    }
    assert_eq!(leader.delete_records(Offset(13)).unwrap(), Offset(13));
    pair.fetch_until_equal(2);
    let follower = pair.at(2).partition(TOPIC, 0);
    let (copied, given) = (follower.offsets(), leader.offsets());
    assert_eq!((copied.log_start, copied.log_end), (Offset(13), Offset(30)));
    assert_eq!(copied.log_end, given.log_end);
    assert_eq!(
        follower
            .fetch_position(LeaderEpoch(pair.leader_epoch))
            .unwrap()
            .last_epoch
            .get(),
        pair.leader_epoch
    );
    assert!(pair.bytes(1).ends_with(&pair.bytes(2)), "two of the three batches");
    assert_eq!(pair.bytes(2).len() * 3, pair.bytes(1).len() * 2);
}

// What is deleted on the leader is deleted on its followers.
#[test]
fn followers_take_over_the_log_start() {
    let mut pair = Pair::new(&[]);
    for _ in 0..5 {
        pair.append(1);
    }
    pair.fetch_until_equal(2);
    pair.fetch(2);
    assert_eq!(
        pair.at(1).partition(TOPIC, 0).delete_records(Offset(3)).unwrap(),
        Offset(3)
    );
    pair.fetch(2);
    assert_eq!(pair.at(2).partition(TOPIC, 0).offsets().log_start, Offset(3));
}

// KIP-107: the answer to whoever deleted them waits for this.
#[test]
fn follower_reports_a_new_log_start_with_its_next_fetch() {
    let mut pair = Pair::new(&[]);
    (0..5).for_each(|_| pair.append(1));
    pair.fetch_until_equal(2);
    let leader = pair.at(1).partition(TOPIC, 0);
    leader.delete_records(Offset(3)).unwrap();
    let low_watermark = || leader.low_watermark(|_| true).unwrap();
    pair.fetch(2);
    assert_eq!(low_watermark(), Offset(0));
    pair.fetch(2);
    assert_eq!(low_watermark(), Offset(3));
}

#[test]
fn lost_connection_opens_another_session_and_misses_nothing() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch(2);
    let Next::Ask(_lost) = pair.fetchers[1].next(&pair.brokers[1].broker, pair.now) else {
        panic!("nothing asked")
    };
    pair.fetchers[1].lost();
    pair.append(1);
    pair.fetch_until_equal(2);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

// KIP-227
#[test]
fn session_that_the_leader_forgot_is_opened_again() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch(2);
    pair.fetch(2);
    pair.fetchers[1].session_id += 1;
    pair.append(1);
    pair.fetch_until_equal(2);
    assert_eq!(pair.bytes(1), pair.bytes(2));
}

// KIP-227: an epoch of 0 would open another session.
#[test]
fn session_goes_on_with_epoch_1_after_the_greatest() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch(2);
    let session_id = pair.fetchers[1].session_id;
    let broker = pair.brokers[1].broker.clone();
    let Next::Ask(ask) = pair.fetchers[1].next(&broker, pair.now) else {
        panic!("nothing asked")
    };
    let answer = serve(&pair.brokers[0], ask.api_key, ask.api_version, &ask.body, pair.now);
    pair.fetchers[1].session_epoch = i32::MAX; // as after so many fetches
    pair.fetchers[1].complete(&broker, &answer, pair.now).unwrap();
    assert_ne!(session_id, 0);
    assert_eq!(
        (pair.fetchers[1].session_id, pair.fetchers[1].session_epoch),
        (session_id, 1)
    );
}

#[test]
fn topic_that_acknowledges_from_disk_is_flushed_before_the_next_fetch() {
    let mut pair = Pair::new(&[("flush.messages", "1")]);
    pair.append(1);
    pair.fetch(2);
    assert_eq!(pair.at(2).partition(TOPIC, 0).log().recovery_point(), Offset(1));
    let mut lazy = Pair::new(&[]);
    lazy.append(1);
    lazy.fetch(2);
    assert_eq!(lazy.at(2).partition(TOPIC, 0).log().recovery_point(), Offset(0));
}

#[test]
fn bytes_that_are_no_batches_are_refused_and_asked_again() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_corrupt();
    assert_eq!(pair.ends(), [1, 0], "its checksum was wrong");
    pair.fetch_until_equal(2);
    assert!(
        pair.fetchers[1]
            .complete(&pair.brokers[1].broker, &[0; 3], pair.now)
            .is_ok(),
        "nothing was under way"
    );
}

#[test]
fn wait_after_a_refusal_is_short_again_once_records_were_taken() {
    let mut pair = Pair::new(&[]);
    for _ in 0..2 {
        pair.append(1);
        pair.fetch_corrupt();
        let Next::Idle(Some(until)) = pair.fetchers[1].next(&pair.brokers[1].broker, pair.now) else {
            panic!("it does not wait")
        };
        assert_eq!((until - pair.now).as_millis(), 10);
        pair.fetch_until_equal(2);
    }
}

#[test]
fn failing_disk_of_a_follower_takes_its_directory_offline() {
    let mut pair = Pair::new(&[]);
    pair.append(1);
    pair.fetch_until_equal(2);
    pair.append(1);
    pair.at(2).faults.arm("write:.log", 1, Fault::InputOutput);
    pair.fetch(2);
    let code = pair
        .at(2)
        .partition(TOPIC, 0)
        .fetch_position(LeaderEpoch(0))
        .unwrap_err()
        .code();
    assert_eq!(code, ErrorCode::KAFKA_STORAGE_ERROR);
    assert_eq!(pair.at(2).broker.failed_log_dirs().len(), 1);
}
