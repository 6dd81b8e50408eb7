//! The partition of a record without a key, as Kafka's default partitioner chooses it: the topic's sticky partition,
//! another one after every batch (KIP-480, KIP-794). That of a record with a key is `record::partition_of`.

use std::hash::{BuildHasher, RandomState};

/// The partition of the records of a topic that have no key: each in turn, from a random one on, so that the
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
    //! The turns of records without keys.

    use super::Sticky;

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
