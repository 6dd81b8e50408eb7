//! Access control lists: the decisions beside the definition, ACL by ACL.

use std::collections::HashSet;
use std::sync::Arc;

use broker::{AclClient, AclEntry, AclPattern, Acls, Operation, ResourceType};

use super::take::Take;

const PRINCIPALS: [&str; 3] = ["User:*", "User:alice", "User:bob"];
const HOSTS: [&str; 3] = ["*", "10.0.0.1", "::1"];
const MAX_PATTERNS: usize = 24;

/// Patterns of ACLs in two publications, then questions.
pub fn acls(data: &[u8]) {
    let mut take = Take(data);
    let choice = take.byte();
    let mut patterns: Vec<AclPattern> = Vec::new();
    let mut published = Acls::new(HashSet::new(), choice & 1 > 0);
    for at in 0..usize::from(take.byte()) % MAX_PATTERNS {
        let pattern = pattern(&mut take);
        patterns.retain(|known| (known.is_prefixed, &known.name) != (pattern.is_prefixed, &pattern.name));
        patterns.push(pattern.clone());
        // the first ones as a start, the others as changes
        published = if at < 3 {
            published.with(patterns.clone(), true)
        } else {
            published.with(vec![pattern], false)
        };
    }
    let whole = Acls::new(HashSet::new(), choice & 1 > 0).with(patterns.clone(), true);
    let mut names: Vec<String> = vec![text(take.slice(8)), "hardcode".into()];
    for known in &patterns {
        names.extend([known.name.to_string(), format!("{}x", known.name)]);
    }
    for name in names.iter().filter(|name| *name != "*") {
        let client = AclClient {
            principal: take.one(&PRINCIPALS[1..]),
            host: take.one(&HOSTS[1..]),
        };
        for number in 3..16 {
            let Some(operation) = Operation::from_number(number) else {
                continue;
            };
            let expected = is_allowed(&patterns, choice & 1 > 0, client, operation, name);
            for acls in [&published, &whole] {
                let told = acls.allows(client, operation, ResourceType::Topic, name);
                assert_eq!(told, expected, "{client:?} {operation:?} {name} {patterns:?}");
                // what is allowed somewhere is found, but where the wildcard denies it
                let is_found = acls.allows_some(client, operation, ResourceType::Topic);
                let every: Vec<_> = patterns
                    .iter()
                    .filter(|it| !it.is_prefixed && &*it.name == "*")
                    .cloned()
                    .collect();
                let is_given = patterns.iter().any(|it| !it.entries.is_empty());
                if expected && is_given && every.is_empty() && grants(&patterns, client, operation, name) {
                    assert!(is_found, "{client:?} {operation:?} {name} {patterns:?}");
                }
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn pattern(take: &mut Take<'_>) -> AclPattern {
    let shape = take.byte();
    let name = if shape & 2 > 0 {
        "*".into()
    } else {
        text(take.slice(usize::from(shape >> 4) % 6))
    };
    let entries = (0..shape >> 2 & 3).map(|_| {
        let kind = take.byte();
        AclEntry {
            principal: PRINCIPALS[usize::from(kind) % PRINCIPALS.len()].into(),
            host: HOSTS[usize::from(kind / 3) % HOSTS.len()].into(),
            operation: Operation::from_number(2 + (kind / 9 % 14) as i8),
            is_allow: kind & 128 > 0,
        }
    });
    AclPattern {
        resource: ResourceType::Topic,
        is_prefixed: shape & 1 > 0,
        name: Arc::from(name),
        entries: entries.collect(),
    }
}

fn matching<'a>(patterns: &'a [AclPattern], name: &'a str) -> impl Iterator<Item = &'a AclPattern> {
    let is_matching = move |it: &&AclPattern| {
        let is_literal = &*it.name == name || &*it.name == "*";
        !it.entries.is_empty()
            && if it.is_prefixed {
                name.starts_with(&*it.name)
            } else {
                is_literal
            }
    };
    patterns.iter().filter(is_matching)
}

fn is_about(entry: &AclEntry, client: AclClient<'_>) -> bool {
    (entry.principal == client.principal || entry.principal == "User:*")
        && (entry.host == client.host || entry.host == "*")
}

/// Whether an ACL of a matching pattern gives the operation itself.
fn grants(patterns: &[AclPattern], client: AclClient<'_>, operation: Operation, name: &str) -> bool {
    let mut entries = matching(patterns, name).flat_map(|it| &it.entries);
    entries.any(|it| is_about(it, client) && it.is_allow && it.operation.is_none_or(|one| one == operation))
}

/// Cases (b) to (d) of rust/broker/published/acls.rs.
fn is_allowed(
    patterns: &[AclPattern],
    allows_everyone: bool,
    client: AclClient<'_>,
    operation: Operation,
    name: &str,
) -> bool {
    use Operation::{Alter, AlterConfigs, Delete, Describe, DescribeConfigs, Read, Write};
    if matching(patterns, name).next().is_none() {
        return allows_everyone;
    }
    let entries: Vec<&AclEntry> = matching(patterns, name)
        .flat_map(|it| &it.entries)
        .filter(|it| is_about(it, client))
        .collect();
    let is_denied = entries
        .iter()
        .any(|it| !it.is_allow && it.operation.is_none_or(|one| one == operation));
    let implies = |it: &&AclEntry| match it.operation {
        None => true,
        Some(Read | Write | Delete | Alter) if operation == Describe => true,
        Some(AlterConfigs) if operation == DescribeConfigs => true,
        Some(one) => one == operation,
    };
    !is_denied && entries.iter().filter(|it| it.is_allow).any(implies)
}
