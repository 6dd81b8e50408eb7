//! Producers with a transactional id as clients begin them.

use super::super::TransactionSettings;
use super::super::table::Producer;
use super::super::testing::{Claimed, FIRST_PRODUCER_ID, World, claimed, home_of, init_body};
use super::super::transaction::NO_PRODUCER_ID;
use base::error::ErrorCode;
use broker::testing::request;
use broker::{BodyTail, Executor, Scratch, Served};
use protocol::ApiTable;

const API: (i16, i16) = (ApiTable::INIT_PRODUCER_ID, 4);

fn init(world: &World, transactional_id: &str, timeout_ms: i32) -> Claimed {
    let body = init_body(Some(transactional_id), timeout_ms, None);
    claimed(&world.serve(API.0, API.1, &body, false).now())
}

fn init_again(world: &World, producer: Producer) -> Claimed {
    claimed(&world.try_init("a", Some(producer)).now())
}

fn use_up_ids(world: &World) {
    while world.broker.producer_ids().take(world.broker.events()).is_some() {}
}

#[test]
fn empty_transactional_id_is_refused() {
    let world = World::new();
    assert_eq!(init(&world, "", 60_000), Err(ErrorCode::INVALID_REQUEST));
}

#[test]
fn timeout_out_of_its_bounds_is_refused() {
    let world = World::new();
    let refused = Err(ErrorCode::INVALID_TRANSACTION_TIMEOUT);
    for timeout_ms in [0, -1, i32::MIN, i32::MAX, 900_001] {
        assert_eq!(init(&world, "a", timeout_ms), refused, "{timeout_ms}");
    }
    assert!(world.history("a").is_empty());
    for timeout_ms in [1, 900_000] {
        assert!(init(&world, "a", timeout_ms).is_ok());
        assert_eq!(world.describe("a").unwrap().timeout_ms, timeout_ms);
    }
    world.transactions().configure(TransactionSettings {
        max_timeout_ms: i32::MAX,
        ..TransactionSettings::default()
    });
    assert!(init(&world, "a", i32::MAX).is_ok());
}

#[test]
fn first_producer_of_an_id_has_no_earlier_producer_id() {
    let world = World::new();
    world.init("a");
    assert_eq!(world.describe("a").unwrap().previous_producer_id, NO_PRODUCER_ID);
    world.init("a");
    assert_eq!(world.describe("a").unwrap().previous_producer_id, FIRST_PRODUCER_ID);
}

#[test]
fn producer_that_names_its_epoch_gets_the_next_and_an_earlier_producer_is_fenced() {
    let world = World::new();
    let first = world.init("a");
    let second = init_again(&world, first).unwrap();
    assert_eq!(second, Producer { epoch: 1, ..first });
    assert_eq!(init_again(&world, first), Ok(second), "the answer was lost");
    let third = init_again(&world, second).unwrap();
    assert_eq!(third.epoch, 2);
    assert_eq!(init_again(&world, first), Err(ErrorCode::PRODUCER_FENCED));
    let other = Producer { id: 1, epoch: 2 };
    assert_eq!(init_again(&world, other), Err(ErrorCode::PRODUCER_FENCED));
    assert_eq!(world.producer("a"), third);
}

#[test]
fn producer_that_names_an_epoch_of_a_forgotten_id_gets_a_new_id() {
    let world = World::new();
    let given = init_again(&world, Producer { id: 5, epoch: 3 }).unwrap();
    assert_eq!(
        given,
        Producer {
            id: FIRST_PRODUCER_ID,
            epoch: 0
        }
    );
}

#[test]
fn zombie_does_not_abort_the_transaction_of_its_successor() {
    let world = World::new();
    let zombie = world.init("a");
    let producer = world.open("a", &[("t", 0)]);
    assert_eq!(init_again(&world, zombie), Err(ErrorCode::PRODUCER_FENCED));
    assert!(world.markers("t", 0).is_empty());
    assert_eq!(world.end("a", producer, true), ErrorCode::NONE);
}

#[test]
fn transactional_id_of_32000_bytes_is_taken_and_loaded() {
    let world = World::new();
    let id = "x".repeat(32_000);
    let producer = init(&world, &id, 60_000).unwrap();
    world.begin(home_of(&id));
    assert_eq!(world.producer(&id), producer);
}

#[test]
fn request_goes_to_the_control_plane_with_its_body_when_no_id_is_left() {
    let world = World::new();
    use_up_ids(&world);
    let mut body = init_body(Some("a"), 60_000, None);
    let (served, out) = world.try_serve(API.0, API.1, &body, false, Executor::Loop);
    assert!(matches!(served, Ok(Served::Control(Some(handed_over))) if handed_over == body));
    assert!(out.is_empty());
    // it comes back, and there is none still
    let mut out = Vec::new();
    let scratch = &mut Scratch::default();
    let asked = request(&world.broker, API.1, &mut body, scratch);
    let served = world.broker.api(API.0).unwrap().serve(asked, &mut out);
    assert!(matches!(served, Ok(Served::Answered(BodyTail::Nothing))));
    assert_eq!(claimed(&out), Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    assert!(world.history("a").is_empty());
    world.broker.producer_ids().add(5000, 5009);
    assert_eq!(world.init("a").id, 5000);
}

#[test]
fn producer_id_without_epoch_goes_to_the_control_plane() {
    let world = World::new();
    let body = init_body(Some("a"), 60_000, Some(Producer { id: 5, epoch: -1 }));
    let (served, _) = world.try_serve(API.0, API.1, &body, false, Executor::Loop);
    assert!(matches!(served, Ok(Served::Control(None))));
}

// KIP-588
#[test]
fn fenced_client_gets_the_code_that_its_version_knows() {
    let world = World::new();
    let fenced = world.init("a");
    world.init("a");
    let body = init_body(Some("a"), 60_000, Some(fenced));
    for (version, expected) in [(3, ErrorCode::INVALID_PRODUCER_EPOCH), (4, ErrorCode::PRODUCER_FENCED)] {
        let answer = world.serve(API.0, version, &body, false).now();
        assert_eq!(claimed(&answer), Err(expected), "version {version}");
    }
}
