//! Ends of transactions as clients ask for them.

use super::super::TransactionState;
use super::super::table::Producer;
use super::super::testing::{World, claimed, home_of};
use super::super::{STATE_TOPIC, Transaction};
use base::error::ErrorCode;
use broker::testing::START_MS;
use protocol::{ApiTable, Reader};

const NONE: ErrorCode = ErrorCode::NONE;

const fn with_epoch(producer: Producer, epoch: i16) -> Producer {
    Producer { epoch, ..producer }
}

/// An open transaction of a producer with this epoch.
fn open_with_epoch(epoch: i16) -> (World, Producer) {
    let world = World::new();
    let value = Transaction {
        producer_epoch: epoch,
        state: TransactionState::Ongoing,
        partitions: [("t".into(), 0)].into(),
        start_ms: START_MS,
        ..Transaction::new(7, 60_000, START_MS)
    };
    world.append_record("a", Some(&value));
    world.begin(home_of("a"));
    let producer = Producer { id: 7, epoch };
    assert_eq!(world.write("t", 0, producer, 0), NONE);
    (world, producer)
}

#[test]
fn request_without_transactional_id_or_for_an_unknown_id_is_refused() {
    let world = World::new();
    let producer = world.init("a");
    for version in [3, 5] {
        let end = |id| claimed(&world.try_end(version, id, producer, true).now());
        assert_eq!(end(""), Err(ErrorCode::INVALID_REQUEST));
        assert_eq!(end("none"), Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING));
    }
}

#[test]
fn end_of_another_producer_or_epoch_is_refused_and_the_transaction_stays_open() {
    let world = World::new();
    let producer = world.open("a", &[("t", 0)]);
    let other = Producer { id: 3, ..producer };
    for epoch in [-1, 1] {
        let fenced = with_epoch(producer, epoch);
        assert_eq!(world.end("a", fenced, true), ErrorCode::PRODUCER_FENCED);
        assert_eq!(world.end_v2("a", fenced, true), Err(ErrorCode::PRODUCER_FENCED));
    }
    assert_eq!(world.end("a", other, true), ErrorCode::INVALID_PRODUCER_ID_MAPPING);
    assert_eq!(world.state("a"), TransactionState::Ongoing);
    assert!(world.markers("t", 0).is_empty());
}

#[test]
fn end_that_is_repeated_is_answered_and_writes_nothing() {
    for is_commit in [true, false] {
        let world = World::new();
        let producer = world.open("a", &[("t", 0)]);
        assert_eq!(world.end("a", producer, is_commit), NONE);
        assert_eq!(world.end("a", producer, is_commit), NONE);
        let next = world.open("b", &[("t", 1)]);
        let first = world.end_v2("b", next, is_commit).unwrap();
        assert_eq!(world.end_v2("b", next, is_commit), Ok(first));
        assert_eq!((world.markers("t", 0).len(), world.markers("t", 1).len()), (1, 1));
        assert_eq!((world.states("a").len(), world.states("b").len()), (4, 4));
    }
}

#[test]
fn end_with_the_other_result_is_refused() {
    for is_commit in [true, false] {
        let world = World::new();
        let producer = world.open("a", &[("t", 0)]);
        assert_eq!(world.end("a", producer, is_commit), NONE);
        assert_eq!(world.end("a", producer, !is_commit), ErrorCode::INVALID_TXN_STATE);
        let next = world.open("b", &[("t", 1)]);
        world.end_v2("b", next, is_commit).unwrap();
        assert_eq!(world.end_v2("b", next, !is_commit), Err(ErrorCode::INVALID_TXN_STATE));
        assert_eq!(world.markers("t", 0).len(), 1);
    }
}

#[test]
fn end_without_an_open_transaction_is_refused() {
    let world = World::new();
    let producer = world.init("a");
    assert_eq!(world.end("a", producer, true), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(world.end("a", producer, false), ErrorCode::INVALID_TXN_STATE);
    assert_eq!(world.end_v2("a", producer, true), Err(ErrorCode::INVALID_TXN_STATE));
}

#[test]
fn end_of_version_5_has_the_epoch_of_the_next_transaction() {
    let world = World::new();
    let mut producer = world.open("a", &[("t", 0)]);
    for is_commit in [true, false] {
        let next = world.end_v2("a", producer, is_commit).unwrap();
        assert_eq!(next, with_epoch(producer, producer.epoch + 1));
        assert_eq!(world.write("t", 0, producer, 1), ErrorCode::INVALID_PRODUCER_EPOCH);
        assert_eq!(world.add("a", next, &[("t", 0)]), [NONE]);
        assert_eq!(world.write("t", 0, next, 0), NONE);
        producer = next;
    }
}

#[test]
fn answers_before_version_5_have_no_producer_and_keep_the_epoch() {
    for version in [0, 2, 3, 4] {
        let world = World::new();
        let producer = world.open("a", &[("t", 0)]);
        let mut body = Vec::new();
        let is_flexible = version >= 3;
        let mut w = protocol::Writer::new(&mut body, is_flexible);
        w.string("a");
        w.i64(producer.id);
        w.i16(producer.epoch);
        w.boolean(true);
        w.no_tags();
        let answer = world.serve(ApiTable::END_TXN, version, &body, false).now();
        let mut r = Reader::new(&answer, is_flexible);
        assert_eq!((r.i32(), r.i16()), (Ok(0), Ok(0)));
        assert_eq!(r.remaining(), usize::from(is_flexible), "the tags");
        assert_eq!(world.producer("a"), producer);
    }
}

#[test]
fn producer_whose_epochs_are_used_up_goes_on_with_another_id() {
    let last = i16::MAX - 1;
    let (world, producer) = open_with_epoch(last);
    let next = world.end_v2("a", producer, true).unwrap();
    assert_eq!(next.epoch, 0);
    assert_ne!(next.id, producer.id);
    let markers = world.markers("t", 0);
    assert_eq!((markers[0].producer_id, markers[0].producer_epoch), (7, i16::MAX));
    assert_eq!(world.end_v2("a", producer, true), Ok(next), "the answer was lost");
    assert_eq!(world.producer("a"), next);
    assert_eq!(world.add("a", next, &[("t", 0)]), [NONE]);
}

#[test]
fn producer_whose_epochs_are_used_up_waits_for_an_id_with_the_decision_not_written() {
    let (world, producer) = open_with_epoch(i16::MAX - 1);
    while world.broker.producer_ids().take(world.broker.events()).is_some() {}
    assert_eq!(
        world.end_v2("a", producer, true),
        Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
    );
    assert_eq!(world.states("a"), ["Ongoing"]);
    world.broker.producer_ids().add(5000, 5009);
    assert_eq!(world.end_v2("a", producer, true), Ok(Producer { id: 5000, epoch: 0 }));
}

#[test]
fn end_while_the_decision_is_not_replicated_waits() {
    let world = World::replicated(&[STATE_TOPIC]);
    let index = home_of("a");
    let mut asked = world.try_init("a", None).later();
    world.replicate(STATE_TOPIC, index);
    let producer = claimed(&asked.answer(&world).unwrap()).unwrap();
    let mut adding = world.try_add("a", producer, &[("t", 0)]).later();
    world.replicate(STATE_TOPIC, index);
    adding.answer(&world).unwrap();
    let mut first = world.try_end(3, "a", producer, true).later();
    let mut again = world.try_end(3, "a", producer, true).later();
    let mut other = world.try_end(3, "a", producer, false).later();
    world.replicate(STATE_TOPIC, index);
    assert_eq!(claimed(&first.answer(&world).unwrap()).err(), None);
    assert_eq!(again.answer(&world), None, "its end is pending");
    world.replicate(STATE_TOPIC, index);
    assert_eq!(claimed(&again.answer(&world).unwrap()).err(), None);
    let refused = claimed(&other.answer(&world).unwrap());
    assert_eq!(refused, Err(ErrorCode::INVALID_TXN_STATE));
}

#[test]
fn request_that_is_cut_short_closes_the_connection() {
    let world = World::new();
    for cut in 0..12 {
        let body = vec![0; cut];
        let served = world.try_serve(ApiTable::END_TXN, 3, &body, false, broker::Executor::Loop);
        assert!(served.0.is_err() && served.1.is_empty(), "{cut}");
    }
}

// KIP-588
#[test]
fn fenced_client_gets_the_code_that_its_version_knows() {
    let world = World::new();
    let producer = world.open("a", &[("t", 0)]);
    for (version, expected) in [(1, ErrorCode::INVALID_PRODUCER_EPOCH), (2, ErrorCode::PRODUCER_FENCED)] {
        let mut body = Vec::new();
        let mut w = protocol::Writer::new(&mut body, false);
        w.string("a");
        w.i64(producer.id);
        w.i16(producer.epoch + 1);
        w.boolean(true);
        let answer = world.serve(ApiTable::END_TXN, version, &body, false).now();
        assert_eq!(answer[4..], expected.0.to_be_bytes(), "version {version}");
    }
}
