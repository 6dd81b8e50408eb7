use super::*;

/// Blocks of this size are not mapped one by one, whatever the allocator has learned: they come from its heap.
const BLOCK: usize = 64 * 1024;

#[test]
fn freed_blocks_below_one_in_use_are_given_back() {
    let mut blocks: Vec<Vec<u8>> = (0..2048).map(|_| vec![1; BLOCK]).collect();
    let in_use = resident_bytes().unwrap();
    let last = blocks.pop();
    drop(blocks);
    give_back();
    let after = resident_bytes().unwrap();
    assert!(
        after + 64 * 1024 * 1024 < in_use,
        "{in_use} bytes before, {after} after"
    );
    drop(last);
}
