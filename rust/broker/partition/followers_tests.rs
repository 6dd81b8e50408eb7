use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{FollowerFetch, Followers, Proposal};
use crate::Lease;
use crate::testing::{NODE, lease};
use base::place::{LeaderEpoch, Offset};

const LAG: Duration = Duration::from_secs(30);
const A: i32 = 2;
const B: i32 = 3;

fn at(partition_epoch: i32, in_sync: &[i32]) -> Lease {
    Lease {
        partition_epoch,
        ..lease(5, &[NODE, A, B], in_sync)
    }
}

/// In the seventh life of its broker, from a log that starts at 0.
const fn fetch_of(node_id: i32, log_end: i64) -> FollowerFetch {
    FollowerFetch {
        node_id,
        broker_epoch: 7,
        leader_epoch: LeaderEpoch::NONE,
        log_start: Offset(0),
        log_end: Offset(log_end),
    }
}

struct Leader {
    followers: Followers,
    start: Instant,
    end: i64,
    high_watermark: i64,
    min_in_sync: usize,
}

impl Leader {
    fn new(in_sync: &[i32], epoch_start: i64) -> Self {
        let start = Instant::now();
        Self {
            followers: Followers::new(NODE, &at(0, in_sync), Offset(epoch_start), LAG, start),
            start,
            end: epoch_start,
            high_watermark: epoch_start,
            min_in_sync: 1,
        }
    }

    fn fetch(&mut self, node: i32, offset: i64, after_s: u64) -> i64 {
        let now = self.start + Duration::from_secs(after_s);
        assert!(self.followers.note_fetch(fetch_of(node, offset), Offset(self.end), now));
        self.watermark(after_s)
    }

    fn watermark(&mut self, after_s: u64) -> i64 {
        let now = self.start + Duration::from_secs(after_s);
        assert!(
            !self.followers.note_fetch(fetch_of(99, 0), Offset(self.end), now),
            "time goes on"
        );
        self.high_watermark = self
            .followers
            .high_watermark(Offset(self.high_watermark), Offset(self.end), self.min_in_sync)
            .get();
        self.high_watermark
    }
}

fn members(proposal: Option<Proposal>) -> Vec<i32> {
    proposal
        .unwrap()
        .in_sync_replicas
        .into_iter()
        .map(|(id, _)| id)
        .collect()
}

#[test]
fn high_watermark_is_the_lowest_end_of_the_in_sync_set() {
    let mut leader = Leader::new(&[NODE, A, B], 10);
    leader.end = 20;
    assert_eq!(leader.watermark(0), 10, "nobody has fetched");
    assert_eq!(leader.fetch(A, 20, 1), 10, "one is still unknown");
    assert_eq!(leader.fetch(B, 15, 1), 15);
    assert_eq!(leader.fetch(B, 20, 1), 20);
    assert_eq!(leader.fetch(B, 12, 1), 20, "it never moves back");
}

#[test]
fn followers_out_of_sync_do_not_hold_the_high_watermark() {
    let mut leader = Leader::new(&[NODE, A], 0);
    leader.end = 50;
    leader.fetch(B, 3, 1);
    leader.fetch(A, 50, 1);
    assert_eq!(leader.watermark(60), 50);
}

/// KIP-966: what is acknowledged is on `min.insync.replicas` brokers, or the watermark waits.
/// A broker that died had everything a moment ago; the produces that wait must not wait for its lag to grow.
#[test]
fn follower_that_is_taken_out_holds_nothing_up_until_it_fetches_again() {
    let mut leader = Leader::new(&[NODE, A, B], 10);
    leader.fetch(A, 10, 1);
    leader.fetch(B, 10, 1);
    leader.end = 15;
    assert_eq!(leader.fetch(A, 15, 1), 10, "B is in sync");
    leader.followers.renew(&at(1, &[NODE, A]), leader.start);
    assert_eq!(leader.watermark(1), 15);
    leader.end = 20;
    leader.fetch(A, 20, 2);
    assert_eq!(leader.high_watermark, 20);
    leader.fetch(B, 20, 3);
    leader.end = 25;
    assert_eq!(
        leader.fetch(A, 25, 3),
        20,
        "B is back and nearly there: it is waited for"
    );
    assert_eq!(members(leader.followers.propose_joining(B, Offset(20))), [NODE, A, B]);
}

#[test]
fn high_watermark_waits_while_the_set_is_below_the_minimum() {
    let mut leader = Leader::new(&[NODE], 0);
    leader.min_in_sync = 2;
    leader.end = 9;
    assert_eq!(leader.watermark(60), 0);
    leader.followers.renew(&at(1, &[NODE, A]), leader.start);
    assert_eq!(leader.fetch(A, 9, 61), 9);
    let sole = Followers::new(NODE, &lease(0, &[NODE], &[NODE]), Offset(0), LAG, leader.start);
    assert_eq!(
        sole.high_watermark(Offset(0), Offset(9), 2),
        Offset(9),
        "never more than there are replicas"
    );
}

#[test]
fn follower_joins_at_the_high_watermark_and_the_epochs_start() {
    let mut leader = Leader::new(&[NODE, A], 10);
    leader.end = 20;
    leader.fetch(A, 20, 1);
    leader.fetch(B, 9, 40);
    leader.watermark(80);
    assert_eq!(
        leader.followers.propose_joining(B, Offset(20)),
        None,
        "below the high watermark"
    );
    assert_eq!(
        leader.followers.propose_joining(B, Offset(0)),
        None,
        "below the start of the epoch"
    );
    leader.fetch(B, 19, 80);
    assert_eq!(
        leader.followers.propose_joining(B, Offset(20)),
        None,
        "lacks one committed record"
    );
    leader.fetch(B, 20, 81);
    let proposal = leader.followers.propose_joining(B, Offset(20)).unwrap();
    assert_eq!(proposal.in_sync_replicas, [(NODE, -1), (A, 7), (B, 7)]);
    assert_eq!((proposal.leader_epoch.get(), proposal.partition_epoch), (5, 0));
}

#[test]
fn brokers_that_are_not_assigned_are_not_counted() {
    let mut leader = Leader::new(&[NODE, A], 0);
    assert!(!leader.followers.note_fetch(fetch_of(9, 100), Offset(0), leader.start));
    assert_eq!(leader.followers.propose_joining(9, Offset(0)), None);
}

#[test]
fn follower_that_lags_for_too_long_leaves() {
    let mut leader = Leader::new(&[NODE, A, B], 0);
    let after = |s| leader.start + Duration::from_secs(s);
    let (soon, late) = (after(29), after(31));
    leader.end = 100;
    leader.fetch(A, 100, 5);
    assert_eq!(leader.followers.propose_leaving(Offset(100), soon), None);
    assert_eq!(
        members(leader.followers.propose_leaving(Offset(100), late)),
        [NODE, A],
        "B never fetched"
    );
}

/// A follower that keeps up with a log that grows is never quite at its end.
#[test]
fn follower_that_reaches_the_end_of_its_previous_fetch_is_caught_up() {
    let mut leader = Leader::new(&[NODE, A, B], 0);
    for second in 1..=100 {
        leader.end += 10;
        leader.fetch(A, leader.end - 10, second);
        leader.fetch(B, leader.end, second);
    }
    let now = leader.start + Duration::from_secs(100);
    assert_eq!(leader.followers.propose_leaving(Offset(leader.end), now), None);
}

/// It was caught up at that fetch, not at this one; else a follower that fetches only once in a lag time
/// would be in sync for ever.
#[test]
fn follower_that_fetches_too_seldom_leaves_though_it_reaches_the_end_of_its_previous_fetch() {
    let mut leader = Leader::new(&[NODE, A], 0);
    leader.end = 10;
    leader.fetch(A, 0, 20);
    leader.end = 20;
    leader.fetch(A, 10, 50);
    let after = |s| leader.start + Duration::from_secs(s);
    let (soon, late) = (after(50), after(51));
    assert_eq!(leader.followers.propose_leaving(Offset(20), soon), None);
    assert_eq!(members(leader.followers.propose_leaving(Offset(20), late)), [NODE]);
}

/// Maximal ISR: both sets count until the change is decided.
#[test]
fn high_watermark_waits_for_a_member_that_is_only_proposed() {
    let mut leader = Leader::new(&[NODE, A], 0);
    leader.end = 10;
    leader.fetch(A, 10, 1);
    leader.fetch(B, 10, 1);
    assert_eq!(members(leader.followers.propose_joining(B, Offset(10))), [NODE, A, B]);
    leader.end = 30;
    leader.fetch(A, 30, 90);
    assert_eq!(leader.watermark(90), 10, "B may be in sync by now");
    leader.followers.withdraw(0);
    assert_eq!(leader.watermark(90), 30, "refused");
}

/// A member that is to leave counts until the controller has agreed.
#[test]
fn high_watermark_waits_for_a_member_until_it_has_left() {
    let mut leader = Leader::new(&[NODE, A, B], 0);
    leader.end = 10;
    leader.fetch(A, 10, 40);
    let late = leader.start + Duration::from_secs(40);
    assert_eq!(members(leader.followers.propose_leaving(Offset(10), late)), [NODE, A]);
    assert_eq!(leader.watermark(40), 0);
    leader.followers.renew(&at(1, &[NODE, A]), late);
    assert_eq!(leader.watermark(40), 10);
}

#[test]
fn high_watermark_does_not_wait_for_a_follower_that_is_refused() {
    // KIP-841, H20: a broker that stops fetches once more after it was taken out, and then never again
    let mut leader = Leader::new(&[NODE, A, B], 0);
    leader.end = 10;
    leader.fetch(A, 10, 1);
    leader
        .followers
        .renew(&at(1, &[NODE, A]), leader.start + Duration::from_secs(1));
    leader.fetch(B, 10, 1);
    assert_eq!(members(leader.followers.propose_joining(B, Offset(10))), [NODE, A, B]);
    leader.end = 20;
    assert_eq!(leader.fetch(A, 20, 1), 10, "it may have been taken in");
    leader.followers.withdraw(1);
    assert_eq!(leader.watermark(1), 20);
    assert_eq!(leader.followers.propose_joining(B, Offset(10)), None);
    leader.fetch(B, 20, 2);
    assert_eq!(
        members(leader.followers.propose_joining(B, Offset(20))),
        [NODE, A, B],
        "after a while"
    );
}

#[test]
fn one_change_is_under_way_at_a_time() {
    let mut leader = Leader::new(&[NODE], 0);
    leader.fetch(A, 0, 1);
    leader.fetch(B, 0, 1);
    assert!(leader.followers.propose_joining(A, Offset(0)).is_some());
    assert_eq!(leader.followers.propose_joining(B, Offset(0)), None);
    leader.followers.withdraw(3);
    assert_eq!(
        leader.followers.propose_joining(B, Offset(0)),
        None,
        "that answer was to another change"
    );
    leader.followers.renew(&at(1, &[NODE, A]), leader.start);
    assert_eq!(members(leader.followers.propose_joining(B, Offset(0))), [NODE, A, B]);
}

// KIP-392
#[test]
fn consumer_is_sent_to_a_replica_in_sync_that_holds_the_offset() {
    let mut leader = Leader::new(&[NODE, A], 0);
    leader.end = 10;
    let closest = |leader: &Leader, near: &[i32], offset| leader.followers.closest(near, offset);
    assert_eq!(closest(&leader, &[A], Offset(0)), None, "nobody has fetched");
    leader.fetch(A, 5, 1);
    leader.fetch(B, 10, 1);
    assert_eq!(
        closest(&leader, &[A, B], Offset(5)),
        Some(A),
        "the other is not in sync"
    );
    assert_eq!(closest(&leader, &[A], Offset(6)), None, "it does not have that yet");
    assert_eq!(
        closest(&leader, &[NODE, 9], Offset(0)),
        None,
        "a broker without a replica"
    );
    let late_start = FollowerFetch {
        log_start: Offset(3),
        ..fetch_of(A, 10)
    };
    leader.followers.note_fetch(late_start, Offset(10), leader.start);
    assert_eq!([2, 3].map(|at| closest(&leader, &[A], Offset(at))), [None, Some(A)]);
}

// KIP-392
#[test]
fn of_several_near_replicas_the_longest_is_chosen_then_the_one_caught_up_last() {
    let mut leader = Leader::new(&[NODE, A, B], 0);
    leader.end = 10;
    leader.fetch(B, 8, 1);
    leader.fetch(A, 10, 2);
    assert_eq!(leader.followers.closest(&[A, B], Offset(0)), Some(A));
    leader.fetch(B, 10, 3);
    assert_eq!(leader.followers.closest(&[A, B], Offset(0)), Some(B));
    leader.fetch(A, 10, 4);
    assert_eq!(leader.followers.closest(&[A, B], Offset(0)), Some(A));
}

proptest! {
    /// Whatever is below the watermark is on every member of the set in force.
    #[test]
    fn nothing_below_the_high_watermark_is_missing_in_sync(
        steps in prop::collection::vec((0..4_u8, 0..2_usize, 0..8_i64), 1..80),
    ) {
        let mut leader = Leader::new(&[NODE, A, B], 0);
        let mut in_sync = vec![NODE, A, B];
        let mut ends = [0_i64; 2];
        let mut epoch = 0;
        let mut proposal: Option<Vec<i32>> = None;
        for (second, (kind, which, more)) in steps.into_iter().enumerate() {
            let second = second as u64 * 7;
            let now = leader.start + Duration::from_secs(second);
            match kind {
                0 => leader.end += more,
                1 => {
                    ends[which] = (ends[which] + more).min(leader.end);
                    leader.fetch([A, B][which], ends[which], second);
                    let joined = leader.followers.propose_joining([A, B][which], Offset(leader.high_watermark));
                    proposal = joined.map(|p| members(Some(p))).or(proposal);
                }
                2 => {
                    let left = leader.followers.propose_leaving(Offset(leader.end), now);
                    proposal = left.map(|p| members(Some(p))).or(proposal);
                }
                _ => if let Some(decided) = proposal.take() {
                    epoch += 1;
                    in_sync = decided;
                    leader.followers.renew(&at(epoch, &in_sync), now);
                }
            }
            let before = leader.high_watermark;
            let watermark = leader.watermark(second);
            prop_assert!(before <= watermark && watermark <= leader.end);
            for (node, end) in [A, B].into_iter().zip(ends) {
                prop_assert!(!in_sync.contains(&node) || watermark <= end.max(before));
                let is_proposed = proposal.as_ref().is_some_and(|set| set.contains(&node));
                prop_assert!(!is_proposed || watermark <= end.max(before));
            }
        }
    }
}

/// KIP-903: a fetch that was on its way when its broker died, or its leader changed, tells of a log that may have lost
/// its end since.
#[test]
fn late_fetch_with_a_stale_broker_or_leader_epoch_is_not_noted() {
    let mut leader = Leader::new(&[NODE, A], 0);
    leader.end = 20;
    assert_eq!(leader.fetch(A, 10, 1), 10);
    let late = fetch_of(A, 20);
    for (leader_epoch, broker_epoch, is_noted) in [(-1, 6, false), (4, 7, false), (5, 7, true), (5, -1, true)] {
        let fetch = FollowerFetch {
            broker_epoch,
            leader_epoch: LeaderEpoch(leader_epoch),
            ..late
        };
        assert_eq!(leader.followers.note_fetch(fetch, Offset(20), leader.start), is_noted);
        assert_eq!(leader.watermark(1), if is_noted { 20 } else { 10 });
    }
}

// KIP-107
#[test]
fn low_watermark_is_the_least_start_of_the_leader_and_of_the_followers_that_live() {
    let mut leader = Leader::new(&[NODE, A, B], 0);
    let now = leader.start;
    let starting = |node, log_start| FollowerFetch {
        log_start,
        ..fetch_of(node, 9)
    };
    let all = |_| true;
    assert_eq!(
        leader.followers.low_watermark(Offset(5), all),
        Offset::NONE,
        "nobody has fetched"
    );
    for (node, log_start) in [(A, 5), (B, 3)] {
        assert!(
            leader
                .followers
                .note_fetch(starting(node, Offset(log_start)), Offset(9), now)
        );
    }
    assert_eq!(leader.followers.low_watermark(Offset(5), all), Offset(3));
    assert_eq!(leader.followers.low_watermark(Offset(5), |node| node != B), Offset(5));
    assert_eq!(leader.followers.low_watermark(Offset(2), all), Offset(2));
    assert_eq!(leader.followers.log_start_of(B), Some(Offset(3)));
    assert_eq!(leader.followers.log_start_of(99), None);
}
