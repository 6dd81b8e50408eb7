use super::*;
use crate::AclPattern;
use crate::lines::LINES;
use crate::published::acls::AclEntry;
use crate::published::options::Options;
use crate::requests::caller::Principal;
use crate::testing::{CALLER, Fixture};
use std::collections::HashSet;

fn allow(user: &str, operation: Operation, resource: ResourceType, name: &str) -> AclPattern {
    AclPattern {
        resource,
        is_prefixed: false,
        name: name.into(),
        entries: vec![AclEntry {
            principal: format!("User:{user}"),
            host: "127.0.0.1".into(),
            operation: Some(operation),
            is_allow: true,
        }],
    }
}

/// A broker on which ANONYMOUS may read the topic `t`.
fn fixture() -> Fixture {
    let fixture = Fixture::new(1);
    let authorizer = &fixture.broker.authorizer();
    authorizer.begin(HashSet::from(["User:root".to_owned()]), false);
    let read = allow("ANONYMOUS", Operation::Read, ResourceType::Topic, "t");
    authorizer.publish(vec![read], true);
    fixture
}

fn refusals(broker: &Broker) -> Vec<String> {
    let line = |event| match event {
        Event::Refused(line) => Some(line),
        _ => None,
    };
    broker.events().take(1000).into_iter().filter_map(line).collect()
}

#[test]
fn without_an_authorizer_everything_is_allowed() {
    let fixture = Fixture::new(1);
    let authorization = Authorization::new(&fixture.broker, &CALLER, "Fetch");
    assert!(!authorization.decides());
    assert!(authorization.allows(Operation::Read, ResourceType::Topic, "t"));
    assert!(authorization.allows_some(Operation::Write, ResourceType::Topic));
    assert_eq!(authorization.operations(ResourceType::Topic, "t"), 0b1101_1111_1000);
    assert_eq!(
        authorization.each(Operation::Read, ResourceType::Topic, [Some("t")].into_iter()),
        None
    );
    assert!(authorization.acts_for_cluster());
}

#[test]
fn acls_apply_to_the_address_without_its_slash() {
    let fixture = fixture();
    let authorization = Authorization::new(&fixture.broker, &CALLER, "Fetch");
    assert!(authorization.allows(Operation::Read, ResourceType::Topic, "t"));
    let elsewhere = Caller {
        host: "/127.0.0.2",
        ..CALLER
    };
    let authorization = Authorization::new(&fixture.broker, &elsewhere, "Fetch");
    assert!(!authorization.allows(Operation::Read, ResourceType::Topic, "t"));
}

#[test]
fn refusal_is_logged_in_kafkas_words() {
    let fixture = fixture();
    let authorization = Authorization::new(&fixture.broker, &CALLER, "Fetch");
    assert!(!authorization.allows(Operation::Write, ResourceType::Topic, "a\nb"));
    assert_eq!(
        refusals(&fixture.broker),
        [
            "Principal = User:ANONYMOUS is Denied operation = WRITE from host = 127.0.0.1 on resource = \
          Topic:LITERAL:a\\nb for request = Fetch with resourceRefCount = 1"
        ]
    );
    assert!(!authorization.allows_quietly(Operation::Write, ResourceType::Topic, "t"));
    assert!(refusals(&fixture.broker).is_empty());
}

#[test]
fn refusals_of_a_second_are_limited() {
    let fixture = fixture();
    let authorization = Authorization::new(&fixture.broker, &CALLER, "Fetch");
    for _ in 0..1000 {
        authorization.allows(Operation::Write, ResourceType::Topic, "t");
    }
    let count = refusals(&fixture.broker).len();
    assert!(count <= 3 * LINES as usize, "{count} lines"); // a slow machine may take more than a second
}

#[test]
fn each_name_is_decided_and_logged_once() {
    let fixture = fixture();
    let authorization = Authorization::new(&fixture.broker, &CALLER, "Fetch");
    let names = [Some("t"), Some("u"), Some("u"), None, Some("t")];
    let allowed = authorization.each(Operation::Read, ResourceType::Topic, names.into_iter());
    assert_eq!(allowed, Some(vec![true, false, false, true, true]));
    let lines = refusals(&fixture.broker);
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].ends_with("Topic:LITERAL:u for request = Fetch with resourceRefCount = 2"),
        "{lines:?}"
    );
    let names = [Some("t"), None];
    assert_eq!(
        authorization.each(Operation::Read, ResourceType::Topic, names.into_iter()),
        None
    );
}

#[test]
fn only_a_connection_that_has_proven_the_secret_acts_for_the_cluster() {
    let unproven = fixture();
    let authorization = Authorization::new(&unproven.broker, &CALLER, "Fetch");
    assert!(!authorization.acts_for_cluster());
    assert!(!authorization.allows(Operation::Write, ResourceType::Topic, "t"));
    let line = refusals(&unproven.broker).remove(0);
    assert!(line.contains("operation = CLUSTER_ACTION"), "{line}");

    let pairs = [("kafkastore.inter.broker.secret".to_owned(), "a".repeat(20))];
    unproven.broker.set_options(Options::from_pairs(&pairs.into()).unwrap());
    let authorization = Authorization::new(&unproven.broker, &CALLER, "Fetch");
    assert!(authorization.acts_for_cluster());
    assert!(authorization.allows(Operation::Write, ResourceType::Topic, "t"));
    let client = Caller {
        is_broker: false,
        ..CALLER
    };
    let authorization = Authorization::new(&unproven.broker, &client, "Fetch");
    assert!(!authorization.acts_for_cluster());
    assert!(!authorization.allows(Operation::Write, ResourceType::Topic, "t"));
}

#[test]
fn super_user_may_do_everything() {
    let fixture = fixture();
    let root = Principal::user("root");
    let caller = Caller {
        principal: &root,
        ..CALLER
    };
    let authorization = Authorization::new(&fixture.broker, &caller, "Fetch");
    assert!(authorization.allows_cluster(Operation::Alter));
    assert_eq!(authorization.operations(ResourceType::Topic, "t"), 0b1101_1111_1000);
}
