use super::*;

const fn client<'a>(principal: &'a str, host: &'a str) -> AclClient<'a> {
    AclClient { principal, host }
}

const ALICE: AclClient<'_> = client("User:alice", "10.0.0.1");
const BOB: AclClient<'_> = client("User:bob", "10.0.0.2");

fn entry(principal: &str, host: &str, operation: Option<Operation>, is_allow: bool) -> AclEntry {
    AclEntry {
        principal: principal.into(),
        host: host.into(),
        operation,
        is_allow,
    }
}

fn allow(principal: &str, operation: Operation) -> AclEntry {
    entry(principal, "*", Some(operation), true)
}

fn deny(principal: &str, operation: Operation) -> AclEntry {
    entry(principal, "*", Some(operation), false)
}

fn literal(name: &str, entries: Vec<AclEntry>) -> AclPattern {
    AclPattern {
        resource: ResourceType::Topic,
        is_prefixed: false,
        name: name.into(),
        entries,
    }
}

fn prefixed(name: &str, entries: Vec<AclEntry>) -> AclPattern {
    AclPattern {
        is_prefixed: true,
        ..literal(name, entries)
    }
}

fn acls(patterns: Vec<AclPattern>) -> Acls {
    Acls::new(HashSet::from(["User:root".to_owned()]), false).with(patterns, true)
}

fn may(acls: &Acls, client: AclClient<'_>, operation: Operation, topic: &str) -> bool {
    acls.allows(client, operation, ResourceType::Topic, topic)
}

#[test]
fn without_a_matching_acl_only_super_users_are_allowed() {
    let acls = acls(vec![]);
    assert!(!may(&acls, ALICE, Operation::Read, "t"));
    assert!(may(&acls, client("User:root", "10.0.0.9"), Operation::Read, "t"));
    assert!(!may(&acls, client("user:root", "10.0.0.9"), Operation::Read, "t"));
}

#[test]
fn literal_acl_allows_its_principal_and_its_name_alone() {
    let acls = acls(vec![literal("t", vec![allow("User:alice", Operation::Read)])]);
    assert!(may(&acls, ALICE, Operation::Read, "t"));
    assert!(!may(&acls, ALICE, Operation::Read, "t2"));
    assert!(!may(&acls, ALICE, Operation::Write, "t"));
    assert!(!may(&acls, BOB, Operation::Read, "t"));
    assert!(!acls.allows(ALICE, Operation::Read, ResourceType::Group, "t"));
}

#[test]
fn deny_wins_over_every_allow() {
    let acls = acls(vec![
        literal("t", vec![allow("User:alice", Operation::Read)]),
        prefixed("t", vec![allow("User:*", Operation::Read)]),
        literal("*", vec![deny("User:*", Operation::Read)]),
    ]);
    assert!(!may(&acls, ALICE, Operation::Read, "t"));
}

#[test]
fn deny_of_a_super_user_has_no_effect() {
    let acls = acls(vec![literal("*", vec![deny("User:root", Operation::Read)])]);
    assert!(may(&acls, client("User:root", "h"), Operation::Read, "t"));
}

#[test]
fn allowed_read_implies_describe_and_denied_read_does_not_deny_it() {
    for operation in [Operation::Read, Operation::Write, Operation::Delete, Operation::Alter] {
        let acls = acls(vec![literal("t", vec![allow("User:alice", operation)])]);
        assert!(may(&acls, ALICE, Operation::Describe, "t"), "{operation:?}");
    }
    let acls = acls(vec![literal(
        "t",
        vec![
            allow("User:alice", Operation::Describe),
            deny("User:alice", Operation::Read),
        ],
    )]);
    assert!(may(&acls, ALICE, Operation::Describe, "t"));
    assert!(!may(&acls, ALICE, Operation::Read, "t"));
}

#[test]
fn allowed_alter_configs_implies_describe_configs_alone() {
    let acls = acls(vec![literal("t", vec![allow("User:alice", Operation::AlterConfigs)])]);
    assert!(may(&acls, ALICE, Operation::DescribeConfigs, "t"));
    assert!(!may(&acls, ALICE, Operation::Describe, "t"));
}

#[test]
fn acl_of_a_host_is_for_that_host() {
    let acls = acls(vec![literal(
        "t",
        vec![entry("User:*", "10.0.0.1", Some(Operation::Read), true)],
    )]);
    assert!(may(&acls, ALICE, Operation::Read, "t"));
    assert!(!may(&acls, BOB, Operation::Read, "t"));
}

#[test]
fn address_of_ipv6_may_be_written_as_kafka_writes_it() {
    for host in ["0:0:0:0:0:0:0:1", "::1"] {
        let acls = acls(vec![literal(
            "t",
            vec![entry("User:*", host, Some(Operation::Read), true)],
        )]);
        assert!(may(&acls, client("User:alice", "::1"), Operation::Read, "t"), "{host}");
        assert!(!may(&acls, client("User:alice", "::2"), Operation::Read, "t"), "{host}");
    }
}

#[test]
fn default_for_everyone_ends_where_any_acl_matches_the_resource() {
    let open = Acls::new(HashSet::new(), true);
    assert!(may(&open, ALICE, Operation::Read, "t"));
    let with_acl = open.with(vec![prefixed("t", vec![allow("User:bob", Operation::Read)])], true);
    assert!(!may(&with_acl, ALICE, Operation::Read, "t1"));
    assert!(may(&with_acl, ALICE, Operation::Read, "other"));
    let removed = with_acl.with(vec![prefixed("t", vec![])], false);
    assert!(may(&removed, ALICE, Operation::Read, "t1"));
}

#[test]
fn removal_of_one_acl_keeps_the_denial_beside_it() {
    // CVE-2024-27309
    let both = vec![allow("User:*", Operation::Read), deny("User:alice", Operation::Read)];
    let acls = acls(vec![literal("t", both)]);
    let left = acls.with(vec![literal("t", vec![deny("User:alice", Operation::Read)])], false);
    assert!(!may(&left, ALICE, Operation::Read, "t"));
    let open = Acls {
        allows_everyone: true,
        ..left
    };
    assert!(!may(&open, ALICE, Operation::Read, "t"));
}

#[test]
fn change_of_one_pattern_keeps_the_others() {
    let acls = acls(vec![
        literal("a", vec![allow("User:alice", Operation::Read)]),
        prefixed("b", vec![allow("User:alice", Operation::Read)]),
    ]);
    let changed = acls.with(vec![literal("a", vec![])], false);
    assert!(!may(&changed, ALICE, Operation::Read, "a"));
    assert!(may(&changed, ALICE, Operation::Read, "b1"));
}

#[test]
fn prefix_with_characters_of_several_bytes_matches_whole_names_alone() {
    let acls = acls(vec![prefixed("é", vec![allow("User:alice", Operation::Read)])]);
    assert!(may(&acls, ALICE, Operation::Read, "éa"));
    assert!(!may(&acls, ALICE, Operation::Read, "è"));
}

#[test]
fn field_of_a_response_has_the_operations_of_the_type() {
    assert_eq!(Operations::ALL.of_type(ResourceType::Topic), 0b1101_1111_1000);
    assert_eq!(Operations::ALL.of_type(ResourceType::Cluster), 0b1_1111_1010_0000);
    assert_eq!(Operations::ALL.of_type(ResourceType::Group), 0b1101_0100_1000);
}

#[test]
fn some_resource_is_allowed_unless_a_denial_covers_all_that_are_allowed() {
    let some = |patterns| acls(patterns).allows_some(ALICE, Operation::Write, ResourceType::Topic);
    let write = || vec![allow("User:alice", Operation::Write)];
    let denied = || vec![deny("User:*", Operation::Write)];
    assert!(!some(vec![]));
    assert!(some(vec![literal("t", write())]));
    assert!(some(vec![prefixed("t", write())]));
    assert!(some(vec![literal("*", write())]));
    assert!(!some(vec![literal("t", vec![allow("User:bob", Operation::Write)])]));
    assert!(!some(vec![literal("t", write()), literal("*", denied())]));
    assert!(!some(vec![literal("topic", write()), prefixed("top", denied())]));
    assert!(!some(vec![prefixed("top", write()), prefixed("t", denied())]));
    assert!(some(vec![prefixed("t", write()), prefixed("top", denied())]));
    assert!(some(vec![prefixed("t", write()), literal("t", denied())]));
    assert!(some(vec![
        literal("t", [write(), denied()].concat()),
        literal("u", write())
    ]));
    assert!(!some(vec![literal("t", [write(), denied()].concat())]));
}

#[test]
fn grant_that_was_taken_away_allows_nothing_any_more() {
    let mut acls = acls(vec![]);
    for _ in 0..3 {
        for pattern in [literal("t", vec![]), prefixed("t", vec![])] {
            let entries = vec![allow("User:alice", Operation::Write), allow("User:*", Operation::Write)];
            let granted = acls.with(
                vec![AclPattern {
                    entries,
                    ..pattern.clone()
                }],
                false,
            );
            assert!(granted.allows_some(ALICE, Operation::Write, ResourceType::Topic));
            assert!(granted.allows_some(BOB, Operation::Write, ResourceType::Topic));
            acls = granted.with(vec![pattern], false);
            assert!(!acls.allows_some(ALICE, Operation::Write, ResourceType::Topic));
            assert!(!acls.allows_some(BOB, Operation::Write, ResourceType::Topic));
        }
    }
}

/// The rules of the module's header, ACL by ACL.
fn naive(
    patterns: &[AclPattern],
    allows_everyone: bool,
    client: AclClient<'_>,
    operation: Operation,
    name: &str,
) -> bool {
    use Operation::{Alter, AlterConfigs, Delete, Describe, DescribeConfigs, Read, Write};
    let matching: Vec<_> = patterns
        .iter()
        .filter(|p| {
            if p.is_prefixed {
                name.starts_with(&*p.name)
            } else {
                *p.name == *name || &*p.name == "*"
            }
        })
        .filter(|p| !p.entries.is_empty())
        .collect();
    if matching.is_empty() {
        return allows_everyone;
    }
    let entries: Vec<_> = matching
        .iter()
        .flat_map(|p| &p.entries)
        .filter(|e| e.principal == client.principal || e.principal == "User:*")
        .filter(|e| e.host == client.host || e.host == "*")
        .collect();
    let is_denied = entries
        .iter()
        .any(|e| !e.is_allow && e.operation.is_none_or(|one| one == operation));
    let is_allowed = entries.iter().filter(|e| e.is_allow).any(|e| match e.operation {
        None => true,
        Some(one) if one == operation => true,
        Some(Read | Write | Delete | Alter) => operation == Describe,
        Some(AlterConfigs) => operation == DescribeConfigs,
        Some(_) => false,
    });
    is_allowed && !is_denied
}

/// A generator without a dependency: the numbers of a linear congruence.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Some are prefixes of others, some of these beyond their first eight bytes.
const NAMES: [&str; 17] = [
    "*",
    "a",
    "a\0",
    "aa",
    "aab",
    "aabc",
    "aabcaabc",
    "aabcaabca",
    "aabcaabcab",
    "aabcaabcb",
    "ab",
    "b",
    "ba",
    "bab",
    "hardcode",
    "é",
    "éa",
];
const PRINCIPALS: [&str; 4] = ["User:*", "User:alice", "User:bob", "Group:alice"];
const HOSTS: [&str; 3] = ["*", "10.0.0.1", "10.0.0.2"];

fn random_patterns(numbers: &mut Numbers) -> Vec<AclPattern> {
    let mut patterns: HashMap<(bool, &str), Vec<AclEntry>> = HashMap::new();
    for _ in 0..numbers.below(12) {
        let key = (numbers.below(2) == 0, numbers.one(&NAMES));
        let operation = i8::try_from(2 + numbers.below(11)).unwrap();
        let made = entry(
            numbers.one(&PRINCIPALS),
            numbers.one(&HOSTS),
            Operation::from_number(operation),
            numbers.below(3) > 0,
        );
        patterns.entry(key).or_default().push(made);
    }
    let made = |((is_prefixed, name), entries)| AclPattern {
        is_prefixed,
        ..literal(name, entries)
    };
    patterns.into_iter().map(made).collect()
}

#[test]
fn decisions_match_naive() {
    let mut numbers = Numbers(7);
    let mut cases = 0;
    for _ in 0..2000 {
        let patterns = random_patterns(&mut numbers);
        let allows_everyone = numbers.below(2) == 0;
        // in two steps: as a start and a change later
        let (first, second) = patterns.split_at(patterns.len() / 2);
        let acls = Acls::new(HashSet::new(), allows_everyone)
            .with(first.to_vec(), true)
            .with(second.to_vec(), false);
        for _ in 0..20 {
            let client = client(numbers.one(&PRINCIPALS), numbers.one(&HOSTS));
            let operation = numbers.one(&Operation::EACH);
            let name = numbers.one(&NAMES[1..]);
            let expected = naive(&patterns, allows_everyone, client, operation, name);
            assert_eq!(
                may(&acls, client, operation, name),
                expected,
                "{client:?} {operation:?} {name} {patterns:?}"
            );
            cases += 1;
        }
    }
    assert_eq!(cases, 40_000);
}

#[test]
fn some_resource_matches_naive_over_names_that_the_patterns_tell_apart() {
    let mut numbers = Numbers(11);
    for _ in 0..3000 {
        let patterns = random_patterns(&mut numbers);
        let acls = Acls::new(HashSet::new(), false).with(patterns.clone(), true);
        let client = client(numbers.one(&PRINCIPALS), numbers.one(&HOSTS));
        // a name for each pattern, and one that only the pattern's prefix matches
        let mut names: Vec<String> = vec!["hardcode".into(), "zzz".into()];
        for pattern in patterns.iter().filter(|p| &*p.name != "*" || p.is_prefixed) {
            names.push(pattern.name.to_string());
            names.push(format!("{}~", pattern.name));
        }
        let is_wildcard_denied = patterns.iter().any(|p| {
            !p.is_prefixed
                && &*p.name == "*"
                && p.entries.iter().any(|e| {
                    !e.is_allow
                        && e.operation.is_none_or(|one| one == Operation::Write)
                        && (e.principal == client.principal || e.principal == "User:*")
                        && (e.host == client.host || e.host == "*")
                })
        });
        let expected = !is_wildcard_denied
            && names
                .iter()
                .any(|name| naive(&patterns, false, client, Operation::Write, name));
        assert_eq!(
            acls.allows_some(client, Operation::Write, ResourceType::Topic),
            expected,
            "{client:?} {patterns:?}"
        );
    }
}
