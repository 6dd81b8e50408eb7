//! The partition of a group in a transaction.

use super::super::TransactionState;
use super::super::table::Producer;
use super::super::testing::{World, add_offsets_body, claimed};
use crate::OFFSETS_TOPIC;
use base::error::ErrorCode;
use broker::{Executor, Served};
use protocol::ApiTable;

#[test]
fn partition_of_the_group_is_added_to_the_transaction() {
    let world = World::new();
    let producer = world.init("a");
    assert_eq!(world.add_offsets("a", producer, "g"), ErrorCode::NONE);
    let now = world.describe("a").unwrap();
    assert_eq!(now.state, TransactionState::Ongoing);
    assert_eq!(now.partitions, [(OFFSETS_TOPIC.into(), 0)].into());
    assert_eq!(world.add_offsets("a", producer, ""), ErrorCode::NONE, "as in Kafka");
    assert_eq!(world.states("a").len(), 2, "the partition is there already");
}

#[test]
fn request_without_transactional_id_or_with_an_unknown_producer_is_refused() {
    let world = World::new();
    let producer = world.init("a");
    let other = Producer { id: 1, ..producer };
    let later = Producer { epoch: 5, ..producer };
    assert_eq!(world.add_offsets("", producer, "g"), ErrorCode::INVALID_REQUEST);
    assert_eq!(
        world.add_offsets("none", producer, "g"),
        ErrorCode::INVALID_PRODUCER_ID_MAPPING
    );
    assert_eq!(
        world.add_offsets("a", other, "g"),
        ErrorCode::INVALID_PRODUCER_ID_MAPPING
    );
    assert_eq!(world.add_offsets("a", later, "g"), ErrorCode::PRODUCER_FENCED);
    assert_eq!(world.states("a"), ["Empty"]);
}

#[test]
fn request_before_the_topic_of_groups_exists_goes_where_it_is_created() {
    let world = World::new();
    let producer = world.init("a");
    world.broker.image().withdraw_topics(&[OFFSETS_TOPIC.to_owned()]);
    let body = add_offsets_body("a", producer, "g");
    let api = (ApiTable::ADD_OFFSETS_TO_TXN, 4);
    let (served, _) = world.try_serve(api.0, api.1, &body, false, Executor::Loop);
    assert!(matches!(served, Ok(Served::Control(Some(handed))) if handed == body));
}

#[test]
fn request_waits_for_the_replicas() {
    let world = World::replicated(&[super::super::STATE_TOPIC]);
    let index = super::super::testing::home_of("a");
    let mut asked = world.try_init("a", None).later();
    world.replicate(super::super::STATE_TOPIC, index);
    let producer = claimed(&asked.answer(&world).unwrap()).unwrap();
    let mut adding = world.try_add_offsets("a", producer, "g").later();
    assert_eq!(adding.answer(&world), None);
    world.replicate(super::super::STATE_TOPIC, index);
    let answer = adding.answer(&world).unwrap();
    assert_eq!(claimed(&answer).err(), None);
}
