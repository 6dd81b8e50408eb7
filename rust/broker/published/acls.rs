//! Access control lists: one immutable snapshot, and the decisions that follow from it, as Kafka's authorizer decides.
//!
//! Place: the control plane publishes a snapshot, `authorization` asks it for each request. An ACL belongs to a
//! resource pattern: a literal name, every name (`*`), or all names with a prefix. For one client and one resource:
//!
//! - (a) a super user may do everything;
//! - (b) an ACL of a matching pattern that denies the operation wins over all that allow it;
//! - (c) an ACL of a matching pattern that allows the operation allows it; Read, Write, Delete and Alter allow
//!   Describe, too, and `AlterConfigs` allows `DescribeConfigs`. What denies Read does not deny Describe;
//! - (d) when no pattern with any ACL matches, `allow.everyone.if.no.acl.found` decides; else the answer is no.
//!
//! A decision takes one look-up of the name and one search in the sorted prefixes. It never reads the store, never
//! waits, and never knows what the resource is or whether it exists.

mod grants;
mod operations;
mod pattern;
mod prefixes;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use operations::{Operation, Operations, ResourceType};
pub use pattern::{AclClient, AclEntry};

use grants::Grants;
use pattern::{EVERYBODY, Pattern};
use prefixes::Prefixes;

/// The name of the one resource of the type Cluster.
pub const CLUSTER_NAME: &str = "kafka-cluster";
/// The name of the pattern that matches every name.
const EVERY_NAME: &str = "*";
/// The name with which Kafka asks whether a client may do something with any resource of a type.
const SOME_NAME: &str = "hardcode";

/// All ACLs of one resource pattern, as the control plane publishes them.
#[derive(Debug, Clone)]
pub struct AclPattern {
    /// The type of its resources.
    pub resource: ResourceType,
    /// Whether the name is a prefix.
    pub is_prefixed: bool,
    /// The name.
    pub name: Arc<str>,
    /// Its ACLs; a pattern without any is dropped.
    pub entries: Vec<AclEntry>,
}

/// The patterns of one resource type.
#[derive(Debug, Clone, Default)]
struct Patterns {
    literal: HashMap<Arc<str>, Arc<Pattern>, ahash::RandomState>,
    /// The literal pattern [`EVERY_NAME`] once more: every decision needs it.
    every: Option<Arc<Pattern>>,
    prefixed: Prefixes,
    grants: Grants,
}

impl Patterns {
    fn get(&self, is_prefixed: bool, name: &str) -> Option<&Arc<Pattern>> {
        if is_prefixed {
            self.prefixed.get(name)
        } else {
            self.literal.get(name)
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Acls {
    /// See [`Self::number`].
    number: u64,
    super_users: HashSet<String, ahash::RandomState>,
    allows_everyone: bool,
    types: [Patterns; ResourceType::COUNT],
}

/// What the matching ACLs say about one client and one resource.
#[derive(Debug, Clone, Copy, Default)]
struct MatchedRules {
    allowed: Operations,
    denied: Operations,
    is_found: bool,
}

impl MatchedRules {
    fn add(&mut self, pattern: &Pattern, client: AclClient<'_>) {
        let (allowed, denied) = pattern.say(client);
        self.allowed |= allowed;
        self.denied |= denied;
        self.is_found = true;
    }
}

fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl Acls {
    /// Without ACLs: super users may do everything; the others everything or nothing.
    pub fn new(super_users: HashSet<String>, allows_everyone: bool) -> Self {
        Self {
            number: next_number(),
            super_users: super_users.into_iter().collect(),
            allows_everyone,
            types: Default::default(),
        }
    }

    /// With the ACLs of `changed` in place of those of the same patterns; `is_whole` drops all other patterns.
    #[must_use]
    pub fn with(&self, changed: Vec<AclPattern>, is_whole: bool) -> Self {
        let mut types = if is_whole {
            Default::default()
        } else {
            self.types.clone()
        };
        for one in changed {
            let Some(patterns) = types.get_mut(one.resource.place()) else {
                continue;
            };
            let pattern = (!one.entries.is_empty()).then(|| Arc::new(Pattern::new(&one.entries)));
            let old = patterns.get(one.is_prefixed, &one.name).cloned();
            let key = (one.is_prefixed, Arc::clone(&one.name));
            patterns.grants.replace(&key, old.as_deref(), pattern.as_deref());
            match pattern {
                _ if one.is_prefixed => patterns.prefixed.put(one.name, pattern),
                Some(pattern) => drop(patterns.literal.insert(one.name, pattern)),
                None => drop(patterns.literal.remove(&one.name)),
            }
        }
        for patterns in &mut types {
            patterns.prefixed.link();
            patterns.every = patterns.literal.get(EVERY_NAME).cloned();
        }
        Self {
            number: next_number(),
            super_users: self.super_users.clone(),
            allows_everyone: self.allows_everyone,
            types,
        }
    }

    /// Tells these ACLs from all others of this process, from 1 on.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the client may do this.
    pub fn allows(&self, client: AclClient<'_>, operation: Operation, resource: ResourceType, name: &str) -> bool {
        self.operations(client, resource, name).has(operation)
    }

    /// Everything that the client may do with the resource.
    pub fn operations(&self, client: AclClient<'_>, resource: ResourceType, name: &str) -> Operations {
        if self.super_users.contains(client.principal) {
            return Operations::ALL; // (a)
        }
        let matched = self.matched(client, resource, name);
        if matched.is_found || !self.allows_everyone {
            return matched.allowed.without(matched.denied); // (b), (c)
        }
        Operations::ALL // (d)
    }

    /// Whether the client may do this with at least one resource of the type, whatever resources there are. No
    /// operation that others imply may be asked for.
    pub fn allows_some(&self, client: AclClient<'_>, operation: Operation, resource: ResourceType) -> bool {
        if self.allows(client, operation, resource, SOME_NAME) {
            return true;
        }
        let Some(patterns) = self.types.get(resource.place()) else {
            return false;
        };
        if let Some(every) = &patterns.every {
            let (allowed, denied) = every.say(client);
            if denied.has(operation) || allowed.has(operation) {
                return !denied.has(operation);
            }
        }
        let is_denied_by_prefix = |name: &str| {
            let mut matching = patterns.prefixed.matching(name);
            matching.any(|prefix| prefix.say(client).1.has(operation))
        };
        let is_allowed = |name: &str, pattern: &Pattern| {
            let (allowed, denied) = pattern.say(client);
            allowed.has(operation) && !denied.has(operation) && !is_denied_by_prefix(name)
        };
        let mut granted = [client.principal, EVERYBODY]
            .into_iter()
            .flat_map(|one| patterns.grants.of(one));
        granted.any(|(is_prefixed, name)| {
            let pattern = patterns.get(*is_prefixed, name);
            pattern.is_some_and(|pattern| is_allowed(name, pattern))
        })
    }

    fn matched(&self, client: AclClient<'_>, resource: ResourceType, name: &str) -> MatchedRules {
        let mut matched = MatchedRules::default();
        let Some(patterns) = self.types.get(resource.place()) else {
            return matched;
        };
        for pattern in patterns.literal.get(name).into_iter().chain(&patterns.every) {
            matched.add(pattern, client);
        }
        for pattern in patterns.prefixed.matching(name) {
            matched.add(pattern, client);
        }
        matched
    }
}

#[cfg(test)]
mod tests;
