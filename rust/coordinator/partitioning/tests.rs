use super::*;

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
    assert_eq!(partition_for("polygenelubricants", 50), 0);
}
