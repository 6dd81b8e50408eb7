use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::*;
use crate::testing::{BROKERS_RETENTION, TOPIC_ID, World, nobody};
use broker::testing::{NODE, give, lease};
use protocol::{ApiTable, Reader, Writer};

/// A group, and none or topics with their partitions.
type Asked<'a> = (&'a str, Option<&'a [(&'a str, &'a [i32])]>);

/// A version 9 body with these groups.
fn body(groups: &[Asked<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, true);
    w.length(Some(groups.len()));
    for (group_id, topics) in groups {
        w.string(group_id);
        w.nullable_string(None);
        w.i32(-1);
        w.length(topics.map(<[_]>::len));
        for (topic, indexes) in topics.unwrap_or_default() {
            w.string(topic);
            w.length(Some(indexes.len()));
            for index in *indexes {
                w.i32(*index);
            }
            w.no_tags();
        }
        w.no_tags();
    }
    w.boolean(false);
    w.no_tags();
    out
}

/// Each group as "group error: topic index=offset index=offset".
fn answers(world: &World, version: i16, body: &[u8]) -> Vec<String> {
    let (answer, _) = world.serve((ApiTable::OFFSET_FETCH, version), body);
    read(version, &answer)
}

fn read(version: i16, answer: &[u8]) -> Vec<String> {
    let mut r = Reader::new(answer, true);
    r.i32().unwrap();
    let mut groups = Vec::new();
    for _ in 0..r.count(1).unwrap() {
        let group = r.str().unwrap();
        let mut said = String::new();
        for _ in 0..r.count(1).unwrap() {
            if version >= TOPIC_ID_FROM {
                write!(said, " id{}", r.uuid().unwrap()[0]).unwrap();
            } else {
                write!(said, " {}", r.str().unwrap()).unwrap();
            }
            for _ in 0..r.count(1).unwrap() {
                let (index, offset) = (r.i32().unwrap(), r.i64().unwrap());
                r.i32().unwrap();
                r.nullable_str().unwrap();
                match r.i16().unwrap() {
                    0 => write!(said, " {index}={offset}").unwrap(),
                    code => write!(said, " {index}:{}", ErrorCode(code).name()).unwrap(),
                }
                r.skip_tags().unwrap();
            }
            r.skip_tags().unwrap();
        }
        groups.push(format!("{group} {}:{said}", ErrorCode(r.i16().unwrap()).name()));
        r.skip_tags().unwrap();
    }
    r.skip_tags().unwrap();
    assert_eq!(r.remaining(), 0);
    groups
}

fn world() -> World {
    let world = World::new();
    world.fixture.create_with("a", [4; 16], 2, &[], &[1]);
    world.commit(nobody("g"), &[("t", 0, 5), ("t", 2, 6), ("a", 1, 7)]);
    world.commit(nobody("h"), &[("t", 0, 8)]);
    world
}

#[test]
fn groups_topics_and_partitions_are_answered_once_in_the_order_they_are_named_first() {
    let world = world();
    let asked = body(&[
        ("h", Some(&[("t", &[0])])),
        ("g", Some(&[("t", &[2, 0, 2]), ("a", &[1]), ("t", &[1, 0])])),
        ("none", Some(&[("t", &[0])])),
        ("h", Some(&[("t", &[3, 0])])),
    ]);
    let expected = [
        "h NONE: t 0=8 3=-1",
        "g NONE: t 2=6 0=5 1=-1 a 1=7",
        "none NONE: t 0=-1",
    ];
    assert_eq!(answers(&world, 9, &asked), expected);
    let in_order = body(&[("g", Some(&[("t", &[0, 0, 1, 2, 2])]))]);
    assert_eq!(answers(&world, 9, &in_order), ["g NONE: t 0=5 1=-1 2=6"]);
}

#[test]
fn null_topics_are_all_that_the_group_has() {
    let world = world();
    assert_eq!(
        answers(&world, 9, &body(&[("g", None), ("none", None)])),
        ["g NONE: a 1=7 t 0=5 2=6", "none NONE:"]
    );
    // one of the two mentions wants all
    assert_eq!(
        answers(&world, 9, &body(&[("g", Some(&[("t", &[0])])), ("g", None)])),
        ["g NONE: a 1=7 t 0=5 2=6"]
    );
}

// The shard's lock is released between topics
#[test]
fn a_group_that_moves_while_its_rows_are_read_is_one_error_without_rows() {
    const ROUNDS: usize = 1000;
    let world = world();
    let home = world.groups().homes.of(0).unwrap();
    let offset = home.lock().rows("g", "t").unwrap().get(0).unwrap().clone();
    let mut expected = "g NONE: a 1=7 t 0=5 2=6".to_owned();
    for topic in (0..500).map(|number| format!("topic-{number:03}")) {
        home.lock().put(&"g".into(), &topic.as_str().into(), 0, offset.clone());
        write!(expected, " {topic} 0=5").unwrap();
    }
    let asked = body(&[("g", None)]);
    let partition = world.fixture.partition("__consumer_offsets", 0);
    let (begun, moved) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let reach = |count: &AtomicUsize, round: usize| {
        while count.load(Ordering::Acquire) < round {
            thread::yield_now();
        }
    };
    let answers: Vec<Vec<u8>> = thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                reach(&begun, round);
                for _ in 0..4 * round {
                    std::hint::spin_loop(); // so that it moves between other rows in each round
                }
                give(&partition, None);
                moved.store(round, Ordering::Release);
            }
        });
        let mut answers = Vec::new();
        for round in 1..=ROUNDS {
            give(&partition, Some(lease(0, &[NODE], &[NODE])));
            begun.store(round, Ordering::Release);
            answers.push(world.serve((ApiTable::OFFSET_FETCH, 9), &asked).0);
            reach(&moved, round);
        }
        answers
    });
    let allowed = [expected.as_str(), "g NOT_COORDINATOR:"];
    for answer in answers {
        let found = read(9, &answer);
        assert!(found.len() == 1 && allowed.contains(&found[0].as_str()), "{found:?}");
    }
}

#[test]
fn a_group_that_is_not_here_is_one_error() {
    let world = world();
    world.groups().homes.close(0);
    assert_eq!(
        answers(&world, 9, &body(&[("g", Some(&[("t", &[0])]))])),
        ["g NOT_COORDINATOR:"]
    );
    assert_eq!(world.fetch("g", None, false), Err(ErrorCode::NOT_COORDINATOR));
    world.groups().homes.begin(&world.fixture.broker, 0).unwrap();
    assert_eq!(
        world.fetch("g", None, false),
        Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
    );
}

#[test]
fn the_oldest_version_has_the_error_in_each_row() {
    let world = world();
    world.groups().homes.close(0);
    let mut asked = Vec::new();
    let mut w = Writer::new(&mut asked, false);
    w.string("g");
    w.length(Some(1));
    w.string("t");
    w.length(Some(2));
    w.i32(0);
    w.i32(1);
    let (answer, _) = world.serve((ApiTable::OFFSET_FETCH, 1), &asked);
    let mut r = Reader::new(&answer, false);
    assert_eq!(
        (r.count(1).unwrap(), r.str().unwrap(), r.count(1).unwrap()),
        (1, "t", 2)
    );
    for index in 0..2 {
        assert_eq!(
            (r.i32().unwrap(), r.i64().unwrap(), r.nullable_str().unwrap()),
            (index, -1, Some(""))
        );
        assert_eq!(r.i16().unwrap(), ErrorCode::NOT_COORDINATOR.0);
    }
    assert_eq!(r.remaining(), 0);
}

/// As [`body`], by id: version 10.
fn body_by_id(group_id: &str, topics: Option<&[([u8; 16], &[i32])]>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut w = Writer::new(&mut out, true);
    w.length(Some(1));
    w.string(group_id);
    w.nullable_string(None);
    w.i32(-1);
    w.length(topics.map(<[_]>::len));
    for (id, indexes) in topics.unwrap_or_default() {
        w.raw(id);
        w.length(Some(indexes.len()));
        for index in *indexes {
            w.i32(*index);
        }
        w.no_tags();
    }
    w.no_tags();
    w.boolean(false);
    w.no_tags();
    out
}

#[test]
fn by_id_unknown_topics_are_refused_alone_and_those_that_are_gone_are_left_out() {
    let world = world();
    let asked = body_by_id("g", Some(&[(TOPIC_ID, &[0]), ([99; 16], &[0, 1])]));
    assert_eq!(
        answers(&world, 10, &asked),
        ["g NONE: id3 0=5 id99 0:UNKNOWN_TOPIC_ID 1:UNKNOWN_TOPIC_ID"]
    );
    assert_eq!(
        answers(&world, 10, &body_by_id("g", None)),
        ["g NONE: id4 1=7 id3 0=5 2=6"]
    );
    world.fixture.broker.image.withdraw_topics(&["a".to_owned()]);
    assert_eq!(answers(&world, 10, &body_by_id("g", None)), ["g NONE: id3 0=5 2=6"]);
}

#[test]
fn an_offset_of_a_deleted_topic_is_not_answered_for_the_id_of_its_successor() {
    let world = world();
    world.fixture.broker.image.withdraw_topics(&["t".to_owned()]);
    world
        .fixture
        .broker
        .image
        .publish_topics(vec![broker::testing::row("t", [5; 16], 4)]);
    assert_eq!(
        answers(&world, 10, &body_by_id("g", Some(&[([5; 16], &[0])]))),
        ["g NONE: id5 0=-1"]
    );
    world.commit(nobody("g"), &[("t", 0, 1)]);
    assert_eq!(
        answers(&world, 10, &body_by_id("g", Some(&[([5; 16], &[0, 2])]))),
        ["g NONE: id5 0=1 2=-1"]
    );
}

#[test]
fn every_cut_of_a_request_is_refused_and_writes_nothing() {
    let world = world();
    let whole = body(&[("g", Some(&[("t", &[0, 1])])), ("h", None)]);
    for cut in 0..whole.len() {
        let (served, out) = world.try_serve((ApiTable::OFFSET_FETCH, 9), &whole[..cut], Place::Loop);
        // what was written is dropped by whoever asked
        assert!(served.is_err(), "{cut} {out:?}");
    }
}

#[test]
fn what_is_long_is_left_to_another_thread() {
    let world = world();
    let rows: Vec<_> = (0..3000).map(|index| ("t", index, 1)).collect();
    world.fixture.broker.image.withdraw_topics(&["t".to_owned()]);
    world
        .fixture
        .broker
        .image
        .publish_topics(vec![broker::testing::row("t", TOPIC_ID, 3000)]);
    for part in rows.chunks(500) {
        world.commit(nobody("g"), part);
    }
    let asked = body(&[("h", None), ("g", None)]);
    let api = (ApiTable::OFFSET_FETCH, 9);
    assert!(matches!(
        world.try_serve(api, &asked, Place::Loop).0,
        Ok(Served::Elsewhere(_))
    ));
    let (served, out) = world.try_serve(api, &asked, Place::Elsewhere);
    assert!(matches!(served, Ok(Served::Answered(_))) && out.len() > 3000 * 20);
}

#[test]
fn partition_without_an_offset_is_unknown_in_version_0_alone() {
    let world = world();
    let mut body = Vec::new();
    let mut w = Writer::new(&mut body, false);
    w.string("g");
    w.length(Some(1));
    w.string("t");
    w.i32_array(&[0, 1]);
    for (version, nothing) in [(0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), (1, ErrorCode::NONE)] {
        let (answer, _) = world.serve((ApiTable::OFFSET_FETCH, version), &body);
        let mut r = Reader::new(&answer, false);
        assert_eq!((r.count(1), r.str(), r.count(1)), (Ok(1), Ok("t"), Ok(2)));
        for (index, offset, error) in [(0, 5, ErrorCode::NONE), (1, -1, nothing)] {
            assert_eq!((r.i32(), r.i64(), r.str()), (Ok(index), Ok(offset), Ok("")));
            assert_eq!(r.i16(), Ok(error.0), "version {version}");
        }
        assert_eq!(r.remaining(), 0);
    }
}

#[test]
fn offsets_that_were_loaded_are_told_once_they_are_on_all_replicas() {
    let world = World::with_replicas(&[NODE, 2]);
    drop(
        world
            .try_commit(nobody("g"), &[("t", 0, 5, "")], BROKERS_RETENTION)
            .err(),
    );
    world.load(); // as a new leader, whose log alone has the commit
    assert_eq!(world.fetched("g"), Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS));
    let partition = world.fixture.partition("__consumer_offsets", 0);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE]))); // the other one left the in-sync set
    assert_eq!(world.fetched("g").unwrap(), [(("t".to_owned(), 0), 5)].into());
}
