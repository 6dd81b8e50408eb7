//! Kafka's own examples of its hash.

use super::{murmur2, partition_of};

// The values of `UtilsTest.testMurmur2` of Apache Kafka.
#[test]
fn hashes_are_those_of_kafka_s_clients() {
    let cases: [(&str, i32); 8] = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
        ("a", -1_563_381_124),
        ("", 275_646_681),
    ];
    for (key, expected) in cases {
        assert_eq!(murmur2(key.as_bytes()) as i32, expected, "{key}");
    }
    assert_eq!(partition_of(b"foobar", 6), 1_357_151_166 % 6);
}
