//! The prefixed patterns of a resource type, sorted by name.
//!
//! Every name between a prefix and a longer name that begins with it begins with the prefix, too. So the prefixes of a
//! name are the last entry that is not above it, if that is one, and the entries that this entry begins with: a search
//! and a walk along `parent`, whose length is the number of prefixes within one another.

use std::sync::Arc;

use super::pattern::Pattern;

#[derive(Debug, Clone)]
struct Entry {
    name: Arc<str>,
    pattern: Arc<Pattern>,
    /// The place of the longest other entry that is a prefix of this one.
    parent: Option<usize>,
}

/// See the module. After [`Self::put`], [`Self::link`] must be called before anything is looked up.
#[derive(Debug, Clone, Default)]
pub struct Prefixes(Vec<Entry>);

impl Prefixes {
    /// Adds, replaces or (with `None`) takes out the pattern of a prefix.
    pub fn put(&mut self, name: Arc<str>, pattern: Option<Arc<Pattern>>) {
        let found = self.0.binary_search_by(|entry| entry.name.cmp(&name));
        match (found, pattern) {
            (Ok(at), Some(pattern)) => {
                if let Some(entry) = self.0.get_mut(at) {
                    entry.pattern = pattern;
                }
            }
            (Ok(at), None) => drop(self.0.remove(at)),
            (Err(at), Some(pattern)) => self.0.insert(
                at,
                Entry {
                    name,
                    pattern,
                    parent: None,
                },
            ),
            (Err(_), None) => {}
        }
    }

    /// Finds the parent of each entry.
    pub fn link(&mut self) {
        let mut within: Vec<usize> = Vec::new();
        for at in 0..self.0.len() {
            let Some(name) = self.0.get(at).map(|entry| Arc::clone(&entry.name)) else {
                continue;
            };
            while let Some(last) = within.last() {
                if self.0.get(*last).is_some_and(|entry| name.starts_with(&*entry.name)) {
                    break;
                }
                within.pop();
            }
            if let Some(entry) = self.0.get_mut(at) {
                entry.parent = within.last().copied();
            }
            within.push(at);
        }
    }

    /// The patterns whose prefix `name` begins with, the longest first.
    pub fn matching<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Pattern> {
        let above = self.0.partition_point(|entry| &*entry.name <= name);
        let mut next = above.checked_sub(1).and_then(|at| self.0.get(at));
        let shared = next.map_or(0, |entry| shared_bytes(&entry.name, name));
        std::iter::from_fn(move || {
            loop {
                let entry = next?;
                next = entry.parent.and_then(|at| self.0.get(at));
                if entry.name.len() <= shared {
                    return Some(&*entry.pattern);
                }
            }
        })
    }

    /// The pattern with exactly this prefix.
    pub fn get(&self, name: &str) -> Option<&Arc<Pattern>> {
        let at = self.0.binary_search_by(|entry| (*entry.name).cmp(name)).ok()?;
        self.0.get(at).map(|entry| &entry.pattern)
    }
}

/// How many bytes the two names have in common at their beginnings.
fn shared_bytes(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}
