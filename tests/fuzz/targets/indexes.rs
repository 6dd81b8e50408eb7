//! The three index files beside a segment, with any bytes.

use std::path::{Path, PathBuf};

use ::io::OsFileSystem;
use base::place::{Offset, Position};
use index::entry_file::EntryFile;
use index::{AbortedTxn, OffsetIndex, OffsetPosition, TimeIndex, TimestampOffset, TransactionIndex};

use super::take::Take;

const BASE: Offset = Offset(1 << 33);

/// A target of the searches, and the bytes of a file.
pub fn indexes(data: &[u8]) {
    let mut take = Take(data);
    let target = i64::from_be_bytes(take.array());
    let path = file_of_this_thread(take.0);
    for is_sealed in [true, false] {
        offset_index(&path, is_sealed, Offset(target));
        time_index(&path, is_sealed, target);
        transaction_index(&path, is_sealed, Offset(target));
    }
}

fn file_of_this_thread(bytes: &[u8]) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let path = std::env::temp_dir().join(format!("kafkastore-fuzz-{}-{thread}.index", std::process::id()));
    let Ok(()) = std::fs::write(&path, bytes) else {
        unreachable!("{} cannot be written", path.display())
    };
    path
}

fn entries<const N: usize>(path: &Path, is_sealed: bool) -> EntryFile<N> {
    if is_sealed {
        return EntryFile::sealed(path.to_path_buf());
    }
    let Ok(file) = EntryFile::open_active(&OsFileSystem, path.to_path_buf()) else {
        unreachable!("{} cannot be read", path.display())
    };
    file
}

fn is_ascending<T: PartialOrd>(mut keys: impl Iterator<Item = T>) -> bool {
    let Some(mut last) = keys.next() else { return true };
    keys.all(|key| std::mem::replace(&mut last, key) < last)
}

fn offset_index(path: &Path, is_sealed: bool, target: Offset) {
    let fs = &OsFileSystem;
    let mut index = OffsetIndex::new(entries(path, is_sealed), BASE);
    let all: Vec<OffsetPosition> = index.entries(fs).map(Iterator::collect).unwrap_or_default();
    let start = OffsetPosition {
        offset: BASE,
        position: Position::START,
    };
    let Ok((found, next)) = index.lookup_pair(fs, target) else {
        unreachable!("a file that is there was not read")
    };
    assert!(found == start || all.contains(&found), "{found:?} is in no entry");
    assert!(next.is_none_or(|next| all.contains(&next)));
    assert_eq!(index.lookup(fs, target).ok(), Some(found));
    let from = index
        .first_from_position(fs, Position(target.get() as u64))
        .ok()
        .flatten();
    assert!(from.is_none_or(|from| all.contains(&from)));
    let _ = index.is_sane(fs, Position(target.get() as u64));
    if is_ascending(all.iter().map(|entry| entry.offset)) {
        let naive = all.iter().rev().find(|entry| entry.offset <= target);
        assert_eq!(found, naive.copied().unwrap_or(start));
        if !is_sealed {
            index.truncate_to(target);
            let kept: Vec<_> = index.entries(fs).map(Iterator::collect).unwrap_or_default();
            assert!(kept.iter().eq(all.iter().filter(|entry| entry.offset < target)));
        }
    }
}

fn time_index(path: &Path, is_sealed: bool, target: i64) {
    let fs = &OsFileSystem;
    let mut index = TimeIndex::new(entries(path, is_sealed), BASE);
    let all: Vec<TimestampOffset> = index.entries(fs).map(Iterator::collect).unwrap_or_default();
    let none = TimestampOffset {
        timestamp: -1,
        offset: BASE,
    };
    let Ok(found) = index.lookup(fs, target) else {
        unreachable!("a file that is there was not read")
    };
    assert!(found == none || all.contains(&found), "{found:?} is in no entry");
    assert_eq!(index.last_entry(fs).ok(), Some(all.last().copied().unwrap_or(none)));
    let _ = index.sane_last_entry(fs);
    if is_ascending(all.iter().map(|entry| entry.timestamp)) {
        let naive = all.iter().rev().find(|entry| entry.timestamp <= target);
        assert_eq!(found, naive.copied().unwrap_or(none));
    }
    if !is_sealed {
        index.maybe_append(target, BASE + 1);
        let last = index.last_entry(fs).ok();
        assert!(last.is_some_and(|last| last.timestamp >= target || target < 0));
    }
}

fn transaction_index(path: &Path, is_sealed: bool, target: Offset) {
    let fs = &OsFileSystem;
    let mut index = TransactionIndex::new(entries(path, is_sealed));
    let all: Vec<AbortedTxn> = index.entries(fs).map(Iterator::collect).unwrap_or_default();
    let mut found = Vec::new();
    let upper = target.saturating_add(1000);
    let Ok(is_all) = index.collect(fs, target, upper, &mut found) else {
        unreachable!("a file that is there was not read")
    };
    let end = all.iter().position(|one| one.last_stable_offset >= upper);
    assert_eq!(is_all, end.is_some());
    let read = all.iter().take(end.map_or(all.len(), |at| at + 1));
    assert!(
        found
            .iter()
            .eq(read.filter(|one| one.last_offset >= target && one.first_offset < upper))
    );
    if index.is_sane(fs, BASE).unwrap_or(false) {
        assert!(is_ascending(all.iter().map(|one| one.last_offset)));
    }
    if !is_sealed {
        for one in &found {
            index.append(one);
        }
        let grown: Vec<AbortedTxn> = index.entries(fs).map(Iterator::collect).unwrap_or_default();
        assert!(grown.iter().eq(all.iter().chain(&found)));
    }
}
