//! The partition of a record, as Kafka's default partitioner chooses it.
//!
//! - (a) a record with a key: murmur2 of the key modulo the number of partitions, leaders or not
//! - (b) a record without a key: the topic's sticky partition, another one after every batch (KIP-480, KIP-794)
//!
//! Source: Kafka's `Utils.murmur2`, `BuiltInPartitioner`.

use std::hash::{BuildHasher, RandomState};

const SEED: u32 = 0x9747_b28c;
const MULTIPLIER: u32 = 0x5bd1_e995;

/// The partition of a key, (a).
pub(super) fn partition_of(key: &[u8], partitions: usize) -> usize {
    (murmur2(key) & 0x7fff_ffff) as usize % partitions.max(1)
}

fn murmur2(key: &[u8]) -> u32 {
    let mut hash = SEED ^ key.len() as u32;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut word = u32::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        word ^= word >> 24;
        hash = hash.wrapping_mul(MULTIPLIER) ^ word.wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        for (at, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * at);
        }
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ hash >> 15
}

/// The partition of the records of a topic that have no key, (b): each in turn, from a random one on, so that the
/// tasks of a job do not all begin with the same one.
#[derive(Debug)]
pub(super) struct Sticky {
    current: usize,
    bytes: usize,
}

impl Sticky {
    pub(super) fn new() -> Self {
        Self {
            current: RandomState::new().hash_one(0) as u32 as usize,
            bytes: 0,
        }
    }

    /// The partition for a record of `bytes`. Every `batch_bytes` it moves on, to one with a leader if there is any.
    pub(super) fn next(&mut self, bytes: usize, batch_bytes: usize, leaders: &[i32]) -> usize {
        let count = leaders.len().max(1);
        let has_leader = |at: usize| leaders.get(at % count).is_some_and(|leader| *leader >= 0);
        if self.bytes >= batch_bytes || !has_leader(self.current) {
            let turns = (1..=count).find(|turn| has_leader(self.current.wrapping_add(*turn)));
            self.current = self.current.wrapping_add(turns.unwrap_or(1)) % count;
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.current % count
    }
}

#[cfg(test)]
mod tests {
    //! Kafka's own examples of its hash, and the turns of records without keys.

    use super::{Sticky, murmur2, partition_of};

    #[test]
    fn hashes_are_those_of_kafkas_own_test() {
        // kafka-clients, UtilsTest.testMurmur2
        let cases: [(&[u8], i32); 6] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
        ];
        for (key, hash) in cases {
            assert_eq!(murmur2(key).cast_signed(), hash, "{key:?}");
        }
        assert_eq!(partition_of(b"21", 1), 0);
    }

    #[test]
    fn a_sticky_partition_changes_after_a_batch_and_skips_those_without_leader() {
        let mut sticky = Sticky::new();
        let leaders = [1, -1, 1];
        let chosen: Vec<usize> = (0..8).map(|_| sticky.next(50, 100, &leaders)).collect();
        assert!(chosen.iter().all(|at| *at != 1), "{chosen:?}");
        assert!(chosen.chunks(2).all(|pair| pair[0] == pair[1]), "{chosen:?}");
        assert!(chosen.chunks(2).any(|pair| pair[0] != chosen[0]), "{chosen:?}");
        assert!(
            sticky.next(1, 100, &[-1, -1]) < 2,
            "a partition that waits for its leader"
        );
    }
}
