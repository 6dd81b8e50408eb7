//! KIP-371: the rules of Kafka's documentation and the mistakes that its tests know.

use super::*;

fn applied(rules: &str, subject: &str) -> Option<String> {
    MappingRules::parse(rules).unwrap().apply(subject)
}

const RULES: &str = "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,\
                     RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,\
                     RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,\
                     DEFAULT";

#[test]
fn first_rule_that_matches_the_whole_name_decides() {
    let cases = [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,ou=sme,o=mycp,c=us", "DUKE"),
        ("DC=example", "DC=example"),
    ];
    for (subject, expected) in cases {
        assert_eq!(applied(RULES, subject).as_deref(), Some(expected), "{subject}");
    }
}

#[test]
fn name_that_no_rule_matches_has_no_principal() {
    assert_eq!(applied("RULE:^CN=(.*),OU=x$/$1/", "CN=a,OU=y"), None);
    assert_eq!(
        applied("RULE:CN=a/b/", "CN=a,OU=y"),
        None,
        "a part of the name does not count"
    );
}

#[test]
fn no_rules_mean_the_default() {
    assert_eq!(applied("", "CN=a").as_deref(), Some("CN=a"));
    assert_eq!(applied(" DEFAULT ", "CN=a").as_deref(), Some("CN=a"));
}

#[test]
fn replacement_takes_groups_as_java_does() {
    assert_eq!(applied("RULE:^(.)(.*)$/$2-$1x$0/", "ab").as_deref(), Some("b-axab"));
    assert_eq!(
        applied("RULE:^(.).*$/$12/", "ab").as_deref(),
        Some("a2"),
        "there is no twelfth group"
    );
    assert_eq!(
        applied(r"RULE:^(.*)\/x$/$1\/y/", "a/x").as_deref(),
        Some("a/y"),
        "a slash stands behind a backslash"
    );
}

#[test]
fn wrong_rules_are_refused_with_the_key_and_the_rule() {
    for wrong in [
        "RULE:",
        "RULE:a",
        "RULE:a/b",
        "RULE:(/b/",
        "rule:a/b/",
        "DEFAULT RULE:a/b/",
        "RULE:a/b/X",
    ] {
        let said = MappingRules::parse(wrong).err().unwrap_or_default();
        assert!(said.starts_with("ssl.principal.mapping.rules has "), "{wrong}: {said}");
    }
}
