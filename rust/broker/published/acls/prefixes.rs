//! The prefixed patterns of a resource type, sorted by name.
//!
//! Every name between a prefix and a longer name that begins with it begins with the prefix, too. So the prefixes of a
//! name are the last entry that is not above it, if that is one, and the entries that this entry begins with: a search
//! and a walk along `parent`, whose length is the number of prefixes within one another.
//!
//! The search is in [`front`]s, numbers that stand side by side; the names, each elsewhere in memory, are read where
//! the fronts are equal.

use std::sync::Arc;

use super::pattern::Pattern;

#[derive(Debug, Clone)]
struct Entry {
    name: Arc<str>,
    pattern: Arc<Pattern>,
    /// The place of the longest other entry that is a prefix of this one.
    parent: Option<usize>,
}

/// The first eight bytes of a name as one number. Of two names with different numbers the one with the smaller number
/// is the smaller name.
fn front(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let first = bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded
    });
    u64::from_be_bytes(first)
}

/// See the module. After [`Self::put`], [`Self::link`] must be called before anything is looked up.
#[derive(Debug, Clone, Default)]
pub struct Prefixes {
    /// Of the entries.
    fronts: Vec<u64>,
    entries: Vec<Entry>,
}

impl Prefixes {
    /// Adds, replaces or (with `None`) takes out the pattern of a prefix.
    pub fn put(&mut self, name: Arc<str>, pattern: Option<Arc<Pattern>>) {
        match (self.place(&name), pattern) {
            (Ok(at), Some(pattern)) => {
                if let Some(entry) = self.entries.get_mut(at) {
                    entry.pattern = pattern;
                }
            }
            (Ok(at), None) => {
                self.fronts.remove(at);
                self.entries.remove(at);
            }
            (Err(at), Some(pattern)) => {
                let parent = None;
                self.fronts.insert(at, front(&name));
                self.entries.insert(at, Entry { name, pattern, parent });
            }
            (Err(_), None) => {}
        }
    }

    /// The place of the entry with this name, or the place at which it would be.
    fn place(&self, name: &str) -> Result<usize, usize> {
        let front = front(name);
        let first = self.fronts.partition_point(|one| *one < front);
        if self.fronts.get(first) != Some(&front) {
            return Err(first);
        }
        let after = self.fronts.partition_point(|one| *one <= front);
        let equal = self.entries.get(first..after).unwrap_or_default();
        let found = equal.binary_search_by(|entry| (*entry.name).cmp(name));
        found.map(|at| first + at).map_err(|at| first + at)
    }

    /// Finds the parent of each entry.
    pub fn link(&mut self) {
        let mut within: Vec<usize> = Vec::new();
        for at in 0..self.entries.len() {
            let Some(name) = self.entries.get(at).map(|entry| Arc::clone(&entry.name)) else {
                continue;
            };
            while let Some(last) = within.last() {
                if self
                    .entries
                    .get(*last)
                    .is_some_and(|entry| name.starts_with(&*entry.name))
                {
                    break;
                }
                within.pop();
            }
            if let Some(entry) = self.entries.get_mut(at) {
                entry.parent = within.last().copied();
            }
            within.push(at);
        }
    }

    /// The patterns whose prefix `name` begins with, the longest first.
    pub fn matching<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Pattern> {
        let last = self.place(name).map_or_else(|above| above.checked_sub(1), Some);
        let mut next = last.and_then(|at| self.entries.get(at));
        let shared = next.map_or(0, |entry| shared_bytes(&entry.name, name));
        std::iter::from_fn(move || {
            loop {
                let entry = next?;
                next = entry.parent.and_then(|at| self.entries.get(at));
                if entry.name.len() <= shared {
                    return Some(&*entry.pattern);
                }
            }
        })
    }

    /// The pattern with exactly this prefix.
    pub fn get(&self, name: &str) -> Option<&Arc<Pattern>> {
        self.entries.get(self.place(name).ok()?).map(|entry| &entry.pattern)
    }
}

/// How many bytes the two names have in common at their beginnings.
fn shared_bytes(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}
