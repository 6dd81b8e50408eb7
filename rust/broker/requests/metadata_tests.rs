use super::*;
use crate::testing::{CALLER, Fixture, broker_row, request, row};
use crate::{AclEntry, AclPattern, Caller, Scratch};
use protocol::{Reader, Writer};

/// A version 4 body; `None` asks for all topics.
fn body(names: Option<&[&str]>, may_create: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, false);
    w.length(names.map(<[&str]>::len));
    for name in names.unwrap_or_default() {
        w.string(name);
    }
    w.boolean(may_create);
    out
}

/// Broker ids, of each topic: error, name, (error, leader) of each partition, and the controller.
type Answer = (Vec<i32>, Vec<(i16, String, Vec<(i16, i32)>)>, i32);

fn parsed(body: &[u8]) -> Answer {
    let r = &mut Reader::new(body, false);
    let text = |r: &mut Reader<'_>| {
        let range = r.nullable_string().unwrap().unwrap_or_default();
        String::from_utf8(body[range].to_vec()).unwrap()
    };
    let ids = |r: &mut Reader<'_>| (0..r.count(4).unwrap()).map(|_| r.i32().unwrap()).collect::<Vec<_>>();
    assert_eq!(r.i32().unwrap(), 0);
    let mut brokers = Vec::new();
    for _ in 0..r.count(1).unwrap() {
        brokers.push(r.i32().unwrap());
        text(r);
        r.i32().unwrap();
        text(r);
    }
    assert_eq!(text(r), "unit");
    let controller = r.i32().unwrap();
    let mut topics = Vec::new();
    for _ in 0..r.count(1).unwrap() {
        let (error, name) = (r.i16().unwrap(), text(r));
        r.boolean().unwrap();
        let mut partitions = Vec::new();
        for _ in 0..r.count(1).unwrap() {
            let error = r.i16().unwrap();
            r.i32().unwrap();
            let leader = r.i32().unwrap();
            ids(r);
            ids(r);
            partitions.push((error, leader));
        }
        topics.push((error, name, partitions));
    }
    assert_eq!(r.remaining(), 0);
    (brokers, topics, controller)
}

fn fixture() -> Fixture {
    let fixture = Fixture::new(1);
    fixture
        .broker
        .image()
        .publish_cluster(vec![broker_row(1), broker_row(2)], 1);
    let mut away = row("away", [2; 16], 1);
    away.partitions[0].leader = 9;
    fixture.broker.image().publish_topics(vec![row("t", [1; 16], 2), away]);
    fixture
}

/// What may become of a Metadata request.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Answered,
    Shared(Arc<Vec<u8>>),
    HandedOver(Vec<u8>),
    Left,
}

fn serve(
    fixture: &Fixture,
    version: i16,
    listener: &str,
    body: &[u8],
    executor: Executor,
    may_hand_over: bool,
    out: &mut Vec<u8>,
) -> Outcome {
    let (mut body, scratch) = (body.to_vec(), &mut Scratch::default());
    let asked = Request {
        caller: Caller { listener, ..CALLER },
        executor,
        may_hand_over,
        ..request(&fixture.broker, version, &mut body, scratch)
    };
    match Metadata.serve(asked, out).unwrap() {
        Served::Answered(BodyTail::Nothing) => Outcome::Answered,
        Served::Answered(BodyTail::Shared(body)) => Outcome::Shared(body),
        Served::Control(Some(first)) => Outcome::HandedOver(first),
        Served::Elsewhere(Handover::Serve(Thread::Request)) => Outcome::Left,
        _ => panic!("no outcome of a Metadata request"),
    }
}

fn ask(fixture: &Fixture, listener: &str, body: &[u8]) -> Answer {
    let mut out = Vec::new();
    let outcome = serve(fixture, 4, listener, body, Executor::Loop, false, &mut out);
    assert_eq!(outcome, Outcome::Answered);
    parsed(&out)
}

#[test]
fn all_topics_or_the_named_ones_are_answered() {
    let fixture = fixture();
    let names = |answer: &Answer| answer.1.iter().map(|t| t.1.clone()).collect::<Vec<_>>();
    let all = ask(&fixture, "PLAINTEXT", &body(None, false));
    assert_eq!(
        (all.0.clone(), names(&all)),
        (vec![1, 2], vec!["away".to_owned(), "t".to_owned()])
    );
    assert_eq!(names(&ask(&fixture, "PLAINTEXT", &body(Some(&["t"]), false))), ["t"]);
    assert!(names(&ask(&fixture, "PLAINTEXT", &body(Some(&[]), false))).is_empty());
}

#[test]
fn a_leader_that_cannot_be_reached_is_not_available() {
    let fixture = fixture();
    let not_available = ErrorCode::LEADER_NOT_AVAILABLE.0;
    let away = ask(&fixture, "PLAINTEXT", &body(Some(&["away"]), false));
    assert_eq!(
        (away.1[0].0, away.1[0].2[0].0, away.1[0].2[0].1),
        (0, not_available, -1)
    );
    let elsewhere = ask(&fixture, "SSL", &body(Some(&["t"]), false));
    assert!(elsewhere.0.is_empty(), "no endpoint on that listener");
    assert_eq!(elsewhere.1[0].2[0].1, -1);
}

#[test]
fn an_unknown_topic_is_handed_over_only_if_everyone_wants_it_created() {
    let fixture = fixture();
    let outcome = |wanted, may_create, name: &str| {
        let mut out = Vec::new();
        let body = body(Some(&["t", name]), wanted);
        let outcome = serve(&fixture, 4, "PLAINTEXT", &body, Executor::Loop, may_create, &mut out);
        let error = (outcome == Outcome::Answered).then(|| parsed(&out).1[1].0);
        (outcome, error)
    };
    let unknown = (Outcome::Answered, Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0));
    let creation = Outcome::HandedOver(body(Some(&["new"]), true));
    assert_eq!(outcome(true, true, "new"), (creation, None), "only what is missing");
    assert_eq!(outcome(false, true, "new"), unknown);
    assert_eq!(outcome(true, false, "new"), unknown);
    let invalid = (Outcome::Answered, Some(ErrorCode::INVALID_TOPIC_EXCEPTION.0));
    assert_eq!(outcome(true, true, "no spaces"), invalid);
    let mut options = (*fixture.broker.options()).clone();
    options.auto_create_topics_enable = false;
    fixture.broker.set_options(options);
    assert_eq!(outcome(true, true, "new"), unknown);
}

#[test]
fn metadata_is_handed_over_while_there_is_no_controller() {
    let fixture = Fixture::new(1);
    fixture
        .broker
        .image()
        .publish_cluster(vec![broker_row(1)], NO_CONTROLLER);
    let outcome = |may_hand_over| {
        let body = body(Some(&["t"]), false);
        serve(
            &fixture,
            4,
            "PLAINTEXT",
            &body,
            Executor::Loop,
            may_hand_over,
            &mut Vec::new(),
        )
    };
    assert!(matches!(outcome(true), Outcome::HandedOver(_)));
    assert_eq!(outcome(false), Outcome::Answered, "it has waited");
}

#[test]
fn the_broker_that_answers_names_itself_as_the_controller() {
    // A controller that is dead is named by nobody, whatever is known of it
    let fixture = Fixture::new(1);
    let controller = |rows: &[i32], known: i32| {
        let rows = rows.iter().copied().map(broker_row).collect();
        fixture.broker.image().publish_cluster(rows, known);
        ask(&fixture, "PLAINTEXT", &body(Some(&[]), false)).2
    };
    assert_eq!(controller(&[1, 2], 2), 1);
    assert_eq!(controller(&[1], 2), 1, "the controller is gone");
    assert_eq!(controller(&[2], 2), 2, "this broker is not a member yet");
    assert_eq!(controller(&[3], 2), NO_CONTROLLER, "nobody can be asked");
    fixture.broker.image().publish_cluster(vec![broker_row(1)], 1);
    assert_eq!(ask(&fixture, "SSL", &body(Some(&[]), false)).2, NO_CONTROLLER);
}

/// As Kafka does, which makes a set of the names.
#[test]
fn topic_that_is_named_many_times_is_answered_once() {
    let fixture = fixture();
    let answer = ask(
        &fixture,
        "PLAINTEXT",
        &body(Some(&["t", "new", "t", "t", "new"]), false),
    );
    let names: Vec<&str> = answer.1.iter().map(|t| t.1.as_str()).collect();
    assert_eq!(names, ["t", "new"]);
}

#[test]
fn topic_with_an_id_and_an_empty_name_is_found_by_the_id() {
    let fixture = fixture();
    let mut asked = Vec::new();
    let mut w = Writer::new(&mut asked, true);
    w.length(Some(1));
    w.raw(&[1; 16]);
    w.string("");
    w.no_tags();
    w.boolean(false);
    w.boolean(false);
    w.no_tags();
    let mut out = Vec::new();
    let outcome = serve(&fixture, 12, "PLAINTEXT", &asked, Executor::Loop, true, &mut out);
    assert_eq!(outcome, Outcome::Answered);
    let has = |bytes: &[u8]| out.windows(bytes.len()).any(|window| window == bytes);
    assert!(
        has(&[&[0, 0, 2, b't'][..], &[1; 16]].concat()),
        "no error, the name and the id"
    );
}

#[test]
fn request_has_a_hundred_topics_created_and_no_more() {
    let fixture = fixture();
    let names: Vec<String> = (0..150).map(|i| format!("new-{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let asked = body(Some(&names), true);
    let outcome = serve(&fixture, 4, "PLAINTEXT", &asked, Executor::Loop, true, &mut Vec::new());
    assert_eq!(outcome, Outcome::HandedOver(body(Some(&names[..CREATED_NAMES]), true)));
}

#[test]
fn answer_of_many_partitions_is_made_elsewhere_once_and_shared_until_the_image_changes() {
    let fixture = fixture();
    fixture.broker.image().publish_topics(vec![row("many", [7; 16], 3000)]);
    let all = |executor| {
        let mut out = Vec::new();
        let body = body(None, false);
        serve(&fixture, 4, "PLAINTEXT", &body, executor, false, &mut out)
    };
    assert_eq!(all(Executor::Loop), Outcome::Left);
    let Outcome::Shared(made) = all(Executor::Worker) else {
        panic!("it is shared")
    };
    assert_eq!(parsed(&made).1.len(), 3);
    let Outcome::Shared(again) = all(Executor::Loop) else {
        panic!("it is there")
    };
    assert!(Arc::ptr_eq(&made, &again));
    fixture.broker.image().publish_topics(vec![row("another", [8; 16], 1)]);
    assert_eq!(all(Executor::Loop), Outcome::Left);
    let image = fixture.broker.image().load();
    assert!(matches!(all(Executor::Worker), Outcome::Shared(_)));
    image.drop_unused_answers();
    assert!(matches!(all(Executor::Loop), Outcome::Shared(_)), "asked for since");
    image.drop_unused_answers();
    image.drop_unused_answers();
    assert_eq!(all(Executor::Loop), Outcome::Left);
}

/// A broker on which everybody may describe the topic `t`, and create `new`.
fn authorizing() -> Fixture {
    let fixture = fixture();
    let allow = |name: &str, operation| AclPattern {
        resource: ResourceType::Topic,
        is_prefixed: false,
        name: name.into(),
        entries: [operation, Operation::Describe]
            .map(|operation| AclEntry {
                principal: "User:*".into(),
                host: "*".into(),
                operation: Some(operation),
                is_allow: true,
            })
            .to_vec(),
    };
    fixture.broker.authorizer().begin(HashSet::new(), false);
    let acls = vec![
        allow("t", Operation::Describe),
        allow("new", Operation::Create),
        allow("known", Operation::Describe),
    ];
    fixture.broker.authorizer().publish(acls, true);
    fixture
}

#[test]
fn topics_that_may_not_be_described_are_left_out_or_refused() {
    let fixture = authorizing();
    let all = ask(&fixture, "PLAINTEXT", &body(None, false));
    assert_eq!(all.1.iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["t"]);
    let named = ask(
        &fixture,
        "PLAINTEXT",
        &body(Some(&["away", "missing", "t", ".."]), false),
    );
    let codes: Vec<_> = named.1.iter().map(|t| (t.0, t.2.len())).collect();
    assert_eq!(codes, [(29, 0), (29, 0), (0, 2), (29, 0)]);
}

#[test]
fn missing_topic_is_created_only_for_a_client_that_may_create_it() {
    let fixture = authorizing();
    let mut out = Vec::new();
    let asked = body(Some(&["new", "known", "hidden"]), true);
    let outcome = serve(&fixture, 4, "PLAINTEXT", &asked, Executor::Loop, true, &mut out);
    let Outcome::HandedOver(first) = outcome else {
        panic!("it should go to the control plane")
    };
    let has = |name: &str| first.windows(name.len()).any(|one| one == name.as_bytes());
    assert!(has("new") && !has("known") && !has("hidden"));
    let answer = ask(&fixture, "PLAINTEXT", &asked);
    assert_eq!(answer.1.iter().map(|t| t.0).collect::<Vec<_>>(), [3, 29, 29]);
}
