//! The partition of a record with a key, as Kafka's default partitioner chooses it: murmur2 of the key.
//!
//! `org.apache.kafka.common.utils.Utils.murmur2`, `BuiltInPartitioner.partitionForKey`

const SEED: u32 = 0x9747_b28c;
const M: u32 = 0x5bd1_e995;
const R: u32 = 24;

/// The 32-bit hash of a key.
fn murmur2(key: &[u8]) -> u32 {
    let mut hash = SEED ^ key.len() as u32;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k = (k ^ (k >> R)).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0, |tail, byte| tail << 8 | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// The partition of a key in a topic of `count` partitions, at least 1, leaders or not.
pub fn partition_of(key: &[u8], count: usize) -> usize {
    (murmur2(key) & 0x7fff_ffff) as usize % count.max(1)
}

#[cfg(test)]
#[path = "partitioner_tests.rs"]
mod tests;
