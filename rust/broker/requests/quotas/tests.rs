use std::time::Duration;

use super::*;
use crate::Principal;

const KB: usize = 1024;

struct World {
    quotas: Quotas,
    start: Instant,
}

impl World {
    fn new(rows: Vec<QuotaRow>) -> Self {
        let start = Instant::now();
        let quotas = Quotas::new(QuotaWindow::default(), start);
        quotas.publish(rows, true);
        Self { quotas, start }
    }

    fn account(&self, user: &str, client_id: &str) -> Option<Arc<Account>> {
        let held_back = self.quotas.not_held_back();
        self.quotas
            .account(&Principal::user(user), Some(client_id), &held_back, self.start)
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }
}

fn row(user: Option<&str>, client_id: Option<&str>, kind: QuotaKind, limit: f64) -> QuotaRow {
    QuotaRow {
        user: user.map(ToOwned::to_owned),
        client_id: client_id.map(ToOwned::to_owned),
        kind,
        limit: Some(limit),
    }
}

#[test]
fn client_without_quota_has_no_account_and_no_quotas_change_no_generation() {
    let world = World::new(Vec::new());
    assert_eq!((world.quotas.generation(), world.account("alice", "app")), (0, None));
    world
        .quotas
        .publish(vec![row(Some("bob"), None, QuotaKind::Produce, 1.0)], false);
    assert_eq!((world.quotas.generation(), world.account("alice", "app")), (1, None));
    world.quotas.publish(Vec::new(), true);
    assert_eq!(world.quotas.generation(), 2, "the end of all quotas is news");
}

#[test]
fn clients_of_a_user_share_the_user_s_quota_and_clients_by_default_have_one_each() {
    let kind = QuotaKind::Produce;
    let world = World::new(vec![
        row(Some("alice"), None, kind, KB as f64),
        row(None, Some(""), kind, KB as f64),
    ]);
    let full = 10 * KB;
    assert_eq!(
        world
            .account("alice", "a")
            .unwrap()
            .count_produce(full, true, world.at(0)),
        0
    );
    assert!(
        world
            .account("alice", "b")
            .unwrap()
            .count_produce(full, true, world.at(0))
            > 0
    );
    assert_eq!(
        world
            .account("bob", "a")
            .unwrap()
            .count_produce(full, true, world.at(0)),
        0
    );
    assert_eq!(
        world
            .account("bob", "b")
            .unwrap()
            .count_produce(full, true, world.at(0)),
        0
    );
    assert!(
        world
            .account("eve", "a")
            .unwrap()
            .count_produce(full, true, world.at(0))
            > 0
    );
}

// KIP-219
#[test]
fn throttle_time_is_kafka_s_and_the_connection_is_held_back_for_it() {
    let world = World::new(vec![row(None, Some(""), QuotaKind::Produce, KB as f64)]);
    let held_back = world.quotas.not_held_back();
    let account = world
        .quotas
        .account(&Principal::user("alice"), Some("a"), &held_back, world.start)
        .unwrap();
    assert_eq!(account.count_produce(10 * KB, true, world.at(0)), 0);
    assert!(!held_back.is_set());
    // 15 KB over a window of 10 s: half of the limit too much, so half of the window
    assert_eq!(account.count_produce(5 * KB, true, world.at(0)), 5000);
    assert!(held_back.is_set());
    assert_eq!(held_back.end(world.at(4999)), Some(world.at(5000)));
    assert!(held_back.is_set());
    assert_eq!(held_back.end(world.at(5000)), None);
    assert!(!held_back.is_set());
}

#[test]
fn fetch_above_the_quota_is_not_counted() {
    let world = World::new(vec![row(None, Some(""), QuotaKind::Fetch, KB as f64)]);
    let account = world.account("alice", "a").unwrap();
    assert_eq!(account.max_fetch_bytes(), 10 * KB);
    assert_eq!(account.count_fetch(10 * KB, world.at(0)), 0);
    assert!(account.count_fetch(KB, world.at(0)) > 0);
    assert!(account.count_fetch(KB, world.at(0)) > 0);
    // 10 KB over 11 s leave room for 1 KB
    assert_eq!(account.count_fetch(KB, world.at(11_000)), 0);
}

// KIP-124
#[test]
fn request_time_holds_a_client_back_for_a_sample_at_most_and_not_without_an_answer() {
    let world = World::new(vec![row(None, Some(""), QuotaKind::Request, 1.0)]);
    let account = world.account("alice", "a").unwrap();
    assert!(account.has_request_limit());
    // 1 % of a window of 10 s
    account.note_request_time(Duration::from_millis(100), world.at(0));
    assert_eq!(account.throttle_requests(world.at(0)), 0);
    account.note_request_time(Duration::from_millis(50), world.at(0));
    assert_eq!(account.throttle_requests(world.at(0)), 1000);
    assert_eq!(account.count_produce(1, true, world.at(0)), 1000);
    assert_eq!(account.count_produce(1, false, world.at(0)), 0, "acks=0");
}

#[test]
fn changed_limit_holds_for_what_was_counted_before() {
    let world = World::new(vec![row(None, Some("a"), QuotaKind::Produce, KB as f64)]);
    assert_eq!(
        world
            .account("alice", "a")
            .unwrap()
            .count_produce(10 * KB, true, world.at(0)),
        0
    );
    let half = row(None, Some("a"), QuotaKind::Produce, KB as f64 / 2.0);
    world.quotas.publish(vec![half], false);
    assert_eq!(
        world.account("alice", "a").unwrap().count_produce(0, true, world.at(0)),
        10_000
    );
}

#[test]
fn limit_of_a_few_bytes_gives_the_longest_time_that_an_answer_can_name() {
    let world = World::new(vec![row(None, Some("a"), QuotaKind::Produce, 0.001)]);
    let account = world.account("alice", "a").unwrap();
    assert_eq!(account.count_produce(100 << 20, true, world.at(0)), i32::MAX);
}

// However many client ids come, the metrics have a bounded number of rows
#[test]
fn figures_are_of_the_clients_with_the_highest_rates_and_say_how_many_are_left_out() {
    let world = World::new(vec![row(None, Some(""), QuotaKind::Produce, KB as f64)]);
    for id in 0..2000 {
        let account = world.account("alice", &format!("app-{id}")).unwrap();
        account.count_produce(id, true, world.at(0));
    }
    let long = "x".repeat(251);
    world
        .account("alice", &long)
        .unwrap()
        .count_produce(1, true, world.at(0));
    let much = world.account("alice", "much").unwrap();
    much.count_produce(10 * KB, true, world.at(0));
    assert_eq!(much.count_produce(5 * KB, true, world.at(0)), 5000);
    let (mut rows, left_out) = world.quotas.figures(3, world.at(0));
    assert_eq!(left_out, [2000 + 2 - 3, 0, 0]);
    rows.sort_by(|one, other| one.client_id.cmp(&other.client_id));
    let names: Vec<&str> = rows.iter().map(|row| row.client_id.as_str()).collect();
    assert_eq!(names, ["app-1998", "app-1999", "much"]);
    let expected = ClientFigures {
        kind: QuotaKind::Produce,
        user: String::new(),
        client_id: "much".to_owned(),
        rate: 1.5 * KB as f64,
        throttle_time_ms: 5000.0,
    };
    assert_eq!(rows[2], expected);
}
