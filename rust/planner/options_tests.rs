//! The options: Spark's names and meanings, and one sentence for every mistake.

use std::collections::BTreeMap;

use super::{ReadOptions, TopicSelection};
use scan::{Bound, Isolation};

const MIB_512: u64 = 512 << 20;

fn parse(options: &[(&str, &str)]) -> (ReadOptions, Vec<String>) {
    ReadOptions::parse(&map(options), MIB_512).unwrap()
}

fn map(options: &[(&str, &str)]) -> BTreeMap<String, String> {
    let each = options.iter();
    each.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The options with a path and a topic, unless they are among them.
fn given(options: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut all = map(&[("path", "/data"), ("subscribe", "t")]);
    all.extend(map(options));
    all
}

fn parsed(options: &[(&str, &str)]) -> ReadOptions {
    ReadOptions::parse(&given(options), MIB_512).unwrap().0
}

fn sentence(options: &BTreeMap<String, String>) -> String {
    ReadOptions::parse(options, MIB_512).err().unwrap().to_string()
}

#[test]
fn defaults_are_those_of_a_batch() {
    let found = parsed(&[]);
    assert_eq!(found.start.of("t", 0).unwrap(), Bound::Earliest);
    assert_eq!(found.end.of("t", 0).unwrap(), Bound::Latest);
    assert_eq!(found.isolation, Isolation::ReadUncommitted);
    assert!(found.fail_on_data_loss && found.check_crcs);
    assert!(!found.include_headers && !found.starts_at_latest_when_no_time_matches);
    assert_eq!((found.link_dir, found.min_shares), (None, None));
    assert_eq!((found.split_bytes, found.bootstrap_servers), (MIB_512, None));
}

#[test]
fn names_are_matched_without_regard_to_case() {
    let (found, warnings) = parse(&[
        ("PATH", "/a, file:///b"),
        ("SubScribe", " t , u,t"),
        ("FAILONDATALOSS", "False"),
        ("SPLITBYTES", "7"),
    ]);
    assert_eq!(
        found.log_dirs.of_brokers(&[]),
        ["/a", "/b"].map(Into::<std::path::PathBuf>::into)
    );
    assert!(matches!(&found.topics, TopicSelection::Named(names) if *names == ["t", "u"]));
    assert!(!found.fail_on_data_loss);
    assert_eq!(found.split_bytes, 7);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_time_for_all_comes_before_times_and_these_before_offsets() {
    let three = [
        ("startingTimestamp", "5"),
        ("startingOffsetsByTimestamp", r#"{"t":{"0":6}}"#),
        ("startingOffsets", r#"{"t":{"0":7}}"#),
    ];
    let start = |options| parsed(options).start.of("t", 0).unwrap();
    assert_eq!(start(&three), Bound::Timestamp(5));
    assert_eq!(start(&three[1..]), Bound::Timestamp(6));
    assert_eq!(start(&three[2..]), Bound::Offset(base::place::Offset(7)));
}

#[test]
fn an_end_may_be_the_latest_of_one_partition() {
    let end = parsed(&[("endingOffsets", r#"{"t":{"0":-1}}"#)]).end;
    assert_eq!(end.of("t", 0).unwrap(), Bound::Latest);
    let start = parsed(&[("startingOffsets", r#"{"t":{"0":-2}}"#)]).start;
    assert_eq!(start.of("t", 0).unwrap(), Bound::Earliest);
}

/// An option, its value, and what the sentence says.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "path",
        "",
        "path: missing; name the log directories (the broker's log.dirs), comma separated, or give \
         kafka.bootstrap.servers to read over the network",
    ),
    (
        "subscribe",
        " , ",
        "subscribe: ',' names no topic; give their names, comma separated",
    ),
    (
        "assign",
        r#"{"t":[0]}"#,
        "subscribe, subscribePattern, assign: subscribe and assign are given; give exactly one",
    ),
    (
        "startingOffsets",
        "latest",
        "startingOffsets: the latest makes no batch; a batch begins at the earliest or at an offset",
    ),
    (
        "startingOffsets",
        r#"{"t":{"0":-1}}"#,
        "startingOffsets: -1 (the latest) for t-0; a batch begins at the earliest or at an offset",
    ),
    (
        "startingOffsets",
        r#"{"t":{"0":-3}}"#,
        r#"'{"t":{"0":-3}}' is not earliest, latest or JSON like {"topicA":{"0":23,"1":-2}}; write it so"#,
    ),
    (
        "startingOffsets",
        r#"{"t":{"x":3}}"#,
        "is not earliest, latest or JSON like",
    ),
    (
        "startingOffsets",
        r#"{"t":{"0":1.0}}"#,
        "is not earliest, latest or JSON like",
    ),
    (
        "startingOffsets",
        "[1]",
        "startingOffsets: '[1]' is not earliest, latest or JSON like",
    ),
    ("startingOffsets", r#"{"t":3}"#, "is not earliest, latest or JSON like"),
    (
        "endingOffsets",
        "earliest",
        "endingOffsets: the earliest makes no batch; a batch ends at the latest or at an offset",
    ),
    (
        "endingOffsets",
        r#"{"t":{"4":-2}}"#,
        "endingOffsets: -2 (the earliest) for t-4; a batch ends at the latest or at an offset",
    ),
    (
        "endingOffsets",
        "soon",
        "endingOffsets: 'soon' is not earliest, latest or JSON like",
    ),
    (
        "startingTimestamp",
        "2026-11-21",
        "startingTimestamp: '2026-11-21' is no time; give milliseconds since the epoch",
    ),
    ("endingTimestamp", "-5", "endingTimestamp: '-5' is no time"),
    (
        "startingOffsetsByTimestamp",
        r#"{"t":{"0":-1}}"#,
        r#"startingOffsetsByTimestamp: '{"t":{"0":-1}}' is not JSON like {"topicA":{"0":1790000000000}}; write it so"#,
    ),
    (
        "startingOffsetsByTimestampStrategy",
        "first",
        "startingOffsetsByTimestampStrategy: 'first' is none; say error or latest",
    ),
    (
        "failOnDataLoss",
        "no",
        "failOnDataLoss: 'no' is neither true nor false; say one of them",
    ),
    ("includeHeaders", "1", "includeHeaders: '1' is neither true nor false"),
    (
        "minPartitions",
        "0",
        "minPartitions: '0' is no whole number above 0; give one",
    ),
    ("minPartitions", "+1", "minPartitions: '+1' is no whole number above 0"),
    ("splitBytes", "64m", "splitBytes: '64m' is no whole number above 0"),
    ("splitBytes", "", "splitBytes: '' is no whole number above 0"),
    (
        "kafka.isolation.level",
        "serializable",
        "kafka.isolation.level: 'serializable' is none; say read_uncommitted or read_committed",
    ),
    (
        "kafka.auto.offset.reset",
        "latest",
        "kafka.auto.offset.reset: latest is not supported here; set startingOffsets instead",
    ),
    (
        "kafka.key.deserializer",
        "X",
        "kafka.key.deserializer: X is not supported here; keys are given as binary; convert the column",
    ),
];

#[test]
fn a_mistake_is_named_in_one_sentence() {
    for (name, value, expected) in MISTAKES {
        let found = sentence(&given(&[(name, value)]));
        assert!(found.contains(expected), "{name}={value}: {found}");
        assert!(!found.contains('\n'), "{found}");
    }
}

#[test]
fn a_mistake_of_two_options_names_both() {
    let times = given(&[("startingTimestamp", "9"), ("endingTimestamp", "8")]);
    assert_eq!(
        sentence(&times),
        "startingTimestamp: 9 is behind 8 of endingTimestamp; swap them"
    );
    let offsets = given(&[
        ("startingOffsets", r#"{"t":{"0":9}}"#),
        ("endingOffsets", r#"{"t":{"0":8}}"#),
    ]);
    assert_eq!(
        sentence(&offsets),
        "startingOffsets: 9 for t-0 is behind 8 of endingOffsets; swap them"
    );
}

#[test]
fn a_mistake_in_an_option_of_topics_is_named() {
    let mistakes: &[(&[(&str, &str)], &str)] = &[
        (
            &[],
            "subscribe, subscribePattern, assign: none is given; give exactly one",
        ),
        (
            &[("subscribePattern", "(a")],
            "subscribePattern: '(a' is no regular expression (unclosed group); correct it",
        ),
        (
            &[("subscribePattern", "a)(b")],
            "subscribePattern: 'a)(b' is no regular expression",
        ),
        (
            &[("subscribePattern", "")],
            "subscribePattern: '' matches no topic; give a regular expression for whole names",
        ),
        (
            &[("assign", "t-0")],
            r#"assign: 't-0' is not like {"topicA":[0,1],"topicB":[2]}; write it so"#,
        ),
        (&[("assign", r#"{"t":["0"]}"#)], "is not like"),
        (&[("assign", r#"{"t":[-1]}"#)], "is not like"),
        (
            &[("assign", r#"{"t":[]}"#)],
            r#"names no partition; write it like {"topicA":[0,1]}"#,
        ),
    ];
    for (options, expected) in mistakes {
        let mut all = map(&[("path", "/data")]);
        all.extend(map(options));
        let found = sentence(&all);
        assert!(found.contains(expected), "{options:?}: {found}");
        assert!(!found.contains('\n'), "{found}");
    }
}

#[test]
fn an_assignment_is_each_partition_once_in_the_order_of_its_topics() {
    let (found, _) = parse(&[("path", "/data"), ("assign", r#"{"z":[2,0,2],"u":[],"a":[1]}"#)]);
    let TopicSelection::Assigned(assigned) = found.topics else {
        panic!("{:?}", found.topics)
    };
    assert_eq!(assigned, [("z".to_owned(), vec![0, 2]), ("a".to_owned(), vec![1])]);
}

#[test]
fn a_pattern_matches_whole_names() {
    let (found, _) = parse(&[("path", "/data"), ("subscribePattern", "(?i)a.*|b")]);
    let TopicSelection::Matching(pattern) = found.topics else {
        panic!("{:?}", found.topics)
    };
    let matched: Vec<&str> = ["a", "ABC", "ba", "b", "bb"]
        .into_iter()
        .filter(|name| pattern.compiled.matches(name))
        .collect();
    assert_eq!(matched, ["a", "ABC", "b"]);
}

#[test]
fn unknown_and_meaningless_options_are_ignored_with_a_warning() {
    let options = given(&[
        ("maxOffsetsPerTrigger", "5"),
        ("startOffsets", "earliest"),
        ("kafka.fetch.max.bytes", "1"),
        ("kafka.group.id", "g"),
        ("kafka.sasl.mechansim", "PLAIN"),
        ("kafka.ssl.truststore.password", "x"),
    ]);
    let (_, warnings) = ReadOptions::parse(&options, MIB_512).unwrap();
    let expected = [
        "option kafka.sasl.mechansim is ignored: it means nothing to this client",
        "option maxOffsetsPerTrigger is ignored: it means nothing to a batch read of segment files",
        "option startOffsets is ignored: there is none of this name (subscribe, subscribePattern, assign, ",
        "option kafka.group.id is ignored: nothing is consumed through a group",
    ];
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warning}");
    }
}
