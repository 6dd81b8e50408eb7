//! Which patterns allow a principal anything, by principal: so that a question about any resource of a type does not
//! look at the patterns of everybody else.
//!
//! Never: says what is allowed; the pattern does.

use std::collections::HashMap;
use std::sync::Arc;

use super::pattern::Pattern;

/// A pattern: whether its name is a prefix, and its name.
pub type Key = (bool, Arc<str>);

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Grants(HashMap<Box<str>, Arc<Vec<Key>>>);

impl Grants {
    /// The patterns that allow this principal something.
    pub fn of(&self, principal: &str) -> &[Key] {
        self.0.get(principal).map_or(&[], |keys| keys.as_slice())
    }

    /// Takes over a pattern that replaces another one of the same key.
    pub fn replace(&mut self, key: &Key, old: Option<&Pattern>, new: Option<&Pattern>) {
        for principal in old.into_iter().flat_map(Pattern::granted) {
            if let Some(keys) = self.0.get_mut(principal) {
                Arc::make_mut(keys).retain(|one| one != key);
                if keys.is_empty() {
                    self.0.remove(principal);
                }
            }
        }
        for principal in new.into_iter().flat_map(Pattern::granted) {
            let keys = self.0.entry(principal.into()).or_default();
            Arc::make_mut(keys).push(key.clone());
        }
    }
}
