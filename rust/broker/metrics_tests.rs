//! Metrics of the data plane.

use std::sync::Arc;

use super::{COUNT_NAMES, COUNTS, Count, Metrics};

fn only(count: Count, value: u64) -> [u64; COUNTS] {
    std::array::from_fn(|at| if at == count as usize { value } else { 0 })
}

#[test]
fn partitions_of_one_topic_count_together_and_totals_have_all_topics() {
    let metrics = Metrics::default();
    let (orders, other): (Arc<str>, Arc<str>) = ("orders".into(), "other".into());
    let (first, second, third) = (metrics.meter(&orders), metrics.meter(&orders), metrics.meter(&other));
    first.add(Count::BytesIn, 10);
    second.add(Count::BytesIn, 5);
    third.add(Count::BytesIn, 1);
    metrics.add(Count::BytesIn, 100);
    let mut rows = metrics.by_topic();
    rows.sort();
    assert_eq!(
        rows,
        [(orders, only(Count::BytesIn, 15)), (other, only(Count::BytesIn, 1))]
    );
    assert_eq!(metrics.totals(), (only(Count::BytesIn, 116), 2));
    assert!(first.is_same(&second) && !first.is_same(&third));
}

#[test]
fn total_does_not_fall_when_a_topic_goes_and_the_topic_begins_at_zero_when_it_comes_back() {
    let metrics = Metrics::default();
    let orders: Arc<str> = "orders".into();
    let (first, second) = (metrics.meter(&orders), metrics.meter(&orders));
    first.add(Count::MessagesIn, 7);
    drop(first);
    assert_eq!(metrics.by_topic(), [(Arc::clone(&orders), only(Count::MessagesIn, 7))]);
    drop(second);
    assert_eq!(metrics.by_topic(), []);
    assert_eq!(metrics.totals(), (only(Count::MessagesIn, 7), 0));
    metrics.meter(&orders).add(Count::MessagesIn, 1);
    assert_eq!(metrics.totals().0, only(Count::MessagesIn, 8));
}

#[test]
fn requests_are_counted_by_api_key_and_keys_beyond_the_table_are_not() {
    let metrics = Metrics::default();
    for key in [0, 1, 1, 127, 128, -1, i16::MAX] {
        metrics.count_request(key);
    }
    assert_eq!(metrics.requests(), [(0, 1), (1, 2), (127, 1)]);
}

#[test]
fn each_count_has_the_name_at_its_place() {
    assert_eq!(COUNT_NAMES[Count::FailedFetchRequests as usize], "FailedFetchRequests");
    assert_eq!(COUNT_NAMES[Count::ReplicationBytesOut as usize], "ReplicationBytesOut");
    assert_eq!(
        COUNT_NAMES[Count::FetchMessageConversions as usize],
        "FetchMessageConversions"
    );
    assert_eq!(COUNT_NAMES[Count::MessagesIn as usize], "MessagesIn");
}
