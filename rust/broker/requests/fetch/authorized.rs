//! Which partitions of a Fetch its client may read: a consumer needs Read on the topic, a follower needs to act for the
//! cluster.
//!
//! A refused row has no partition: nothing of it is read or waited for, and its answer does not tell whether the topic
//! exists. A topic id that nobody here knows is no secret.

use super::{Row, find};
use crate::Broker;
use crate::published::acls::{Operation, ResourceType};
use crate::published::registry::Topics;
use crate::requests::authorization::{Authorization, known_name};
use crate::requests::fetch_session::{FetchRow, RowTopic};
use base::error::ErrorCode;

/// The rows of a fetch with their partitions, as far as the client may read them.
pub(super) fn rows(
    rows: Vec<FetchRow>,
    replica_id: i32,
    authorization: &Authorization<'_>,
    is_follower: bool,
    broker: &Broker,
    topics: &Topics,
) -> Vec<Row> {
    let allowed = if replica_id >= 0 {
        // without an authorizer the partition itself refuses
        (authorization.decides() && !is_follower).then(|| vec![false; rows.len()])
    } else if authorization.decides() {
        let image = broker.image().load();
        let names = rows.iter().map(|row| match &row.topic {
            RowTopic::Name(name) => Some(&**name),
            RowTopic::Id(id) => known_name(&image, topics, id),
        });
        authorization.each(Operation::Read, ResourceType::Topic, names)
    } else {
        None
    };
    let row = |(at, asked): (usize, FetchRow)| {
        let is_refused = allowed.as_ref().is_some_and(|allowed| allowed.get(at) == Some(&false));
        Row {
            refused: is_refused.then_some(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
            partition: if is_refused { None } else { find(topics, &asked) },
            asked,
        }
    };
    rows.into_iter().enumerate().map(row).collect()
}
