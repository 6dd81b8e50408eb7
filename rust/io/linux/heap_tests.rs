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

#[test]
fn large_memory_may_have_large_pages() {
    let mut memory: Vec<u64> = Vec::with_capacity(2 << 20);
    prefer_large_pages(&mut memory);
    let middle = memory.as_ptr() as u64 + (8 << 20);
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut is_there = false;
    for line in maps.lines() {
        if let Some((start, end)) = range_of(line) {
            is_there = (start..end).contains(&middle);
        } else if is_there && line.starts_with("VmFlags:") {
            assert!(line.contains(" hg"), "{line}");
            return;
        }
    }
    panic!("{middle:x} is in no mapping");
}

/// The addresses of a mapping, at the beginning of its first line.
fn range_of(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}
