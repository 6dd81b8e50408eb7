use std::sync::Arc;

use super::*;
use broker::PartitionRow;
use broker::testing::row;

#[test]
fn hashes_are_those_of_java() {
    // Of java.lang.String.hashCode.
    for (text, hash) in [
        ("", 0),
        ("a", 97),
        ("group", 98_629_247),
        ("polygenelubricants", i32::MIN),
        ("\u{1F600}", 1_772_899),
    ] {
        assert_eq!(java_string_hash(text), hash, "{text}");
    }
}

#[test]
fn the_integer_without_a_positive_twin_goes_to_partition_0() {
    assert_eq!(partition_for("polygenelubricants", &row("t", [1; 16], 50)), 0);
}

#[test]
fn keys_stay_in_their_partitions_when_partitions_are_added() {
    let before = row("t", [1; 16], 50);
    let added: Vec<PartitionRow> = row("t", [1; 16], 57).partitions;
    let grown = TopicRow {
        partitions: added,
        ..before.clone()
    };
    let groups: Vec<Arc<str>> = (0..100).map(|number| format!("group-{number}").into()).collect();
    assert!(
        groups
            .iter()
            .all(|group| partition_for(group, &before) == partition_for(group, &grown))
    );
    let anew = row("t", [1; 16], 57);
    assert!(
        groups
            .iter()
            .any(|group| partition_for(group, &before) != partition_for(group, &anew))
    );
}
