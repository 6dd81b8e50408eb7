//! Pushed filters: what they leave is exactly what Spark would keep, or they are given back.

use serde_json::{Value, json};

use super::{Filter, Range, Wanted, push};

fn filter(column: &str, op: &str, values: Value) -> Filter {
    let Value::Array(values) = values else {
        panic!("no list")
    };
    Filter {
        column: column.to_owned(),
        op: op.to_owned(),
        values,
    }
}

const fn from(low: i64) -> Range {
    Range { low, ..Range::ALL }
}

const fn before(high: i64) -> Range {
    Range { high, ..Range::ALL }
}

fn offsets(offsets: Range) -> Wanted {
    Wanted {
        offsets,
        ..Wanted::default()
    }
}

fn times(timestamps_ms: Range) -> Wanted {
    Wanted {
        timestamps_ms,
        ..Wanted::default()
    }
}

fn keys(keys: &[Option<&str>]) -> Wanted {
    let bytes = keys.iter().map(|key| key.map(|key| key.as_bytes().to_vec()));
    Wanted {
        keys: Some(bytes.collect()),
        ..Wanted::default()
    }
}

#[test]
fn a_filter_that_can_be_applied_exactly_is_taken() {
    let partitions = |numbers: &[i64]| Wanted {
        partitions: Some(numbers.iter().copied().collect()),
        ..Wanted::default()
    };
    let second = 1_000_000;
    let half = second + 500;
    let taken = [
        (filter("offset", "GreaterThan", json!([5])), offsets(from(6))),
        (filter("offset", "GreaterThanOrEqual", json!([5])), offsets(from(5))),
        (filter("offset", "LessThan", json!([5])), offsets(before(5))),
        (filter("offset", "LessThanOrEqual", json!([5])), offsets(before(6))),
        (
            filter("OFFSET", "EqualTo", json!([5])),
            offsets(Range { low: 5, high: 6 }),
        ),
        (
            filter("offset", "In", json!([5, null])),
            offsets(Range { low: 5, high: 6 }),
        ),
        (
            filter("offset", "In", json!([null])),
            offsets(Range { low: 0, high: 0 }),
        ),
        (filter("timestamp", "GreaterThan", json!([second])), times(from(1001))),
        (filter("timestamp", "GreaterThan", json!([half])), times(from(1001))),
        (
            filter("timestamp", "GreaterThanOrEqual", json!([second])),
            times(from(1000)),
        ),
        (
            filter("timestamp", "GreaterThanOrEqual", json!([half])),
            times(from(1001)),
        ),
        (filter("timestamp", "LessThan", json!([second])), times(before(1000))),
        (filter("timestamp", "LessThan", json!([half])), times(before(1001))),
        (
            filter("timestamp", "LessThanOrEqual", json!([second])),
            times(before(1001)),
        ),
        (
            filter("timestamp", "LessThanOrEqual", json!([half])),
            times(before(1001)),
        ),
        (filter("timestamp", "GreaterThan", json!([-1])), times(from(0))),
        (
            filter("timestamp", "EqualTo", json!([second])),
            times(Range { low: 1000, high: 1001 }),
        ),
        (
            filter("timestamp", "EqualTo", json!([half])),
            times(Range { low: 1001, high: 1001 }),
        ),
        (filter("partition", "EqualTo", json!([2])), partitions(&[2])),
        (filter("partition", "In", json!([2, 3])), partitions(&[2, 3])),
        (
            filter("partition", "LessThan", json!([2])),
            Wanted {
                partition_range: before(2),
                ..Wanted::default()
            },
        ),
        (
            filter("topic", "EqualTo", json!(["t"])),
            Wanted {
                topics: Some(["t".to_owned()].into()),
                ..Wanted::default()
            },
        ),
        (filter("key", "EqualTo", json!(["aw=="])), keys(&[Some("k")])),
        (filter("key", "EqualNullSafe", json!([null])), keys(&[None])),
        (filter("key", "IsNull", json!([])), keys(&[None])),
        (
            filter("key", "In", json!(["aw==", null, "bA=="])),
            keys(&[Some("k"), Some("l")]),
        ),
        (filter("offset", "IsNotNull", json!([])), Wanted::default()),
    ];
    for (filter, expected) in taken {
        let (indexes, wanted) = push(std::slice::from_ref(&filter));
        assert_eq!((indexes, wanted), (vec![0], expected), "{filter:?}");
    }
}

#[test]
fn any_other_filter_is_given_back() {
    let others = [
        filter("value", "EqualTo", json!(["dg=="])),
        filter("offset", "Not", json!([5])),
        filter("offset", "In", json!([1, 2])),
        filter("timestamp", "In", json!([1_000_000, 1_000_500])),
        filter("headers.key", "EqualTo", json!(["trace"])),
        filter("key", "GreaterThan", json!(["aw=="])),
        filter("key", "EqualTo", json!(["no base64"])),
        filter("topic", "GreaterThan", json!(["t"])),
        filter("topic", "EqualTo", json!([1])),
        filter("topic", "StringStartsWith", json!(["t"])),
        filter("key", "IsNotNull", json!([])),
        filter("value", "IsNotNull", json!([])),
        filter("offset", "IsNull", json!([])),
        filter("offset", "EqualTo", json!([null])),
        filter("offset", "EqualTo", json!([1.5])),
        filter("offset", "EqualNullSafe", json!([null])),
        filter("timestamp", "GreaterThan", json!(["2026-01-01"])),
        filter("timestampType", "EqualTo", json!([1])),
        filter("flight", "EqualTo", json!([1])),
    ];
    for filter in others {
        let (indexes, wanted) = push(std::slice::from_ref(&filter));
        assert_eq!((indexes, wanted), (vec![], Wanted::default()), "{filter:?}");
    }
}

#[test]
fn several_filters_must_all_hold() {
    let (taken, wanted) = push(&[
        filter("key", "IsNotNull", json!([])),
        filter("key", "In", json!(["YQ==", "Yg=="])),
        filter("key", "EqualTo", json!(["Yg=="])),
        filter("value", "IsNotNull", json!([])),
        filter("offset", "GreaterThan", json!([3])),
        filter("offset", "LessThan", json!([9])),
        filter("offset", "GreaterThan", json!([1])),
        filter("partition", "In", json!([1, 2])),
        filter("partition", "EqualTo", json!([2])),
        filter("partition", "GreaterThan", json!([0])),
    ]);
    assert_eq!(taken, [0, 1, 2, 4, 5, 6, 7, 8, 9]);
    assert_eq!(wanted.offsets, Range { low: 4, high: 9 });
    assert_eq!(wanted.keys, keys(&[Some("b")]).keys);
    assert!(wanted.has("t", 2));
    assert!(!wanted.has("t", 1));
}

#[test]
fn limits_at_the_ends_of_the_numbers_do_not_wrap() {
    let of = |op, value: i64| push(&[filter("offset", op, json!([value]))]).1.offsets;
    assert!(of("GreaterThan", i64::MAX).is_empty());
    assert_eq!(of("LessThanOrEqual", i64::MAX), Range::ALL);
    assert_eq!(of("GreaterThanOrEqual", i64::MIN), Range::ALL);
    assert!(of("LessThan", i64::MIN).is_empty());
}
