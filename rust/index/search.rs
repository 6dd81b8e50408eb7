//! Binary search over entries that are decoded as they are looked at.

/// The last index below `count` whose key is at most `target`; keys ascend. `None` when all are greater.
pub fn last_at_most<K: PartialOrd>(count: usize, target: &K, key: impl Fn(usize) -> K) -> Option<usize> {
    first_index_where(count, |index| key(index) > *target).checked_sub(1)
}

/// The first index below `count` for which `is_past` holds, or `count`; once true it stays true.
pub fn first_index_where(count: usize, is_past: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_past(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
