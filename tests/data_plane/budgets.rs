//! What one client may cost the others: time of the network loop, and memory of the broker.
//!
//! There is one network loop in each test, so that whoever holds it holds up everybody. Progress is counted in answers,
//! not in time.

use std::io::{ErrorKind, Write};
use std::net::Shutdown;

use base::error::ErrorCode;
use base::place::{LeaderEpoch, Offset};
use broker::{Event, Options, WaitKind};
use record::{BatchBuilder, Codec};

use crate::client::Client;
use crate::fixture::{TestBroker, wait_until};
use crate::requests::{Fetch, Produce, Wanted, batch};

/// Answers that another client has got before the expensive request is answered.
const PROGRESS: usize = 10;

fn one_loop(options: Options) -> TestBroker {
    let options = Options {
        network_threads: 1,
        ..options
    };
    TestBroker::start_with(options, 1)
}

/// A record of so many zeros, in a few kilobytes.
fn bomb(bytes: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::Zstd);
    builder.append(1_700_000_000_000, Some(b"key"), Some(&vec![0; bytes]), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}

/// Whether an answer has come, or the end.
fn has_answer(client: &Client) -> bool {
    client.socket.set_nonblocking(true).unwrap();
    let peeked = client.socket.peek(&mut [0; 1]);
    client.socket.set_nonblocking(false).unwrap();
    !matches!(peeked, Err(e) if e.kind() == ErrorKind::WouldBlock)
}

/// Produces until the other client has its answer; how many times.
fn produces_until_answered(broker: &TestBroker, index: i32, other: &Client) -> usize {
    let mut producer = broker.connect();
    let mut count = 0;
    while !has_answer(other) {
        let answer = producer.produce(&Produce::of(1, vec![(index, Some(batch(10)))]));
        assert_eq!(answer.partitions[0].error, 0);
        count += 1;
    }
    count
}

#[test]
fn produce_that_decompresses_much_delays_no_other_client_and_is_bounded() {
    let broker = one_loop(Options::default());
    broker.create(30, &[("cleanup.policy", "compact")]);
    let mut attacker = broker.connect();
    let batch = bomb(64 << 20);
    let request = Produce::of(1, (0..20).map(|index| (index, Some(batch.clone()))).collect());
    attacker.send_produce(&request);
    let progress = produces_until_answered(&broker, 29, &attacker);
    assert!(progress >= PROGRESS, "{progress} answers");
    let errors: Vec<i16> = attacker.produce_answer(12).partitions.iter().map(|p| p.error).collect();
    assert_eq!(errors[..3], [0; 3], "within what a request may inflate");
    assert_eq!(errors[19], ErrorCode::MESSAGE_TOO_LARGE.0, "beyond it");
}

/// A record of bytes that do not shrink: more than a network loop inflates, little elsewhere.
fn dense(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let value: Vec<u8> = (0..bytes)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .collect();
    let mut builder = BatchBuilder::new(Codec::Lz4);
    builder.append(1_700_000_000_000, Some(b"key"), Some(&value), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}

#[test]
fn produce_that_inflates_little_waits_for_none_of_many_that_inflate_much() {
    const ATTACKERS: i32 = 40;
    let broker = one_loop(Options::default());
    broker.create(ATTACKERS + 1, &[("cleanup.policy", "compact")]);
    let (heavy, light) = (bomb(64 << 20), dense(100_000));
    let mut attackers: Vec<Client> = (0..ATTACKERS).map(|_| broker.connect()).collect();
    for (attacker, index) in attackers.iter_mut().zip(0..) {
        attacker.send_produce(&Produce::of(1, vec![(index, Some(heavy.clone()))]));
    }
    let mut honest = broker.connect();
    let waiting = |attackers: &[Client]| attackers.iter().filter(|attacker| !has_answer(attacker)).count();
    let mut answers = 0;
    while waiting(&attackers) > attackers.len() / 2 {
        let answer = honest.produce(&Produce::of(1, vec![(ATTACKERS, Some(light.clone()))]));
        assert_eq!(answer.outcomes(), [(0, answers)]);
        answers += 1;
    }
    assert!(answers >= i64::try_from(PROGRESS).unwrap(), "{answers} answers");
    for attacker in &mut attackers {
        assert_eq!(attacker.produce_answer(12).partitions[0].error, 0);
    }
}

#[test]
fn requests_behind_one_that_is_served_elsewhere_are_answered_in_order() {
    let broker = one_loop(Options::default());
    broker.create(2, &[("cleanup.policy", "compact")]);
    let mut client = broker.connect();
    let heavy = Produce::of(1, vec![(0, Some(bomb(8 << 20)))]);
    let light = Produce::of(1, vec![(0, Some(batch(10)))]);
    let sent: Vec<i32> = (0..20)
        .map(|nth| client.send_produce(if nth % 3 == 0 { &heavy } else { &light }))
        .collect();
    for (nth, id) in sent.into_iter().enumerate() {
        let answer = client.produce_answer(12);
        assert_eq!(answer.correlation_id, id);
        assert_eq!(answer.outcomes(), [(0, i64::try_from(nth).unwrap())]);
    }
}

#[test]
fn silent_produce_that_is_served_elsewhere_is_appended_though_its_client_has_gone() {
    let broker = one_loop(Options::default());
    broker.create(1, &[("cleanup.policy", "compact")]);
    let mut client = broker.connect();
    client.send_produce(&Produce::of(0, vec![(0, Some(bomb(8 << 20)))]));
    client.finish_sending();
    assert!(client.is_closed());
    wait_until("it is appended", || {
        broker.partition(0).offsets().log_end() == Offset(1)
    });
}

fn many(broker: &TestBroker) -> Vec<Wanted> {
    broker.create(1500, &[]);
    (0..1500).map(|index| Wanted::new(index, 0)).collect()
}

#[test]
fn fetch_of_many_partitions_waits_elsewhere_and_is_answered_when_data_comes() {
    let broker = one_loop(Options::default());
    let mut consumer = broker.connect();
    let wanted = many(&broker);
    let request = Fetch {
        max_wait_ms: 30_000,
        session: (0, 0),
        ..Fetch::of(wanted)
    };
    consumer.send_fetch(&request);
    let waits = |index| broker.partition(index).waiters().len(WaitKind::Fetch);
    wait_until("it waits", || waits(0) == 1 && waits(1499) == 1);
    broker.connect().produce(&Produce::of(1, vec![(700, Some(batch(10)))]));
    let answer = consumer.fetch_answer(12);
    assert_eq!(answer.partitions.len(), 1500);
    assert_eq!(answer.partitions[700].base_offsets(), [0]);
    wait_until("nobody waits", || waits(0) == 0 && waits(1499) == 0);
    let next = Fetch {
        session: (answer.session_id, 1),
        partitions: vec![Wanted::new(700, 1)],
        max_wait_ms: 1500,
        ..request.clone()
    };
    consumer.send_fetch(&next);
    wait_until("its session waits", || waits(700) == 1);
    drop(consumer);
    wait_until("nobody waits", || waits(0) == 0 && waits(1499) == 0);
}

#[test]
fn fetch_of_many_partitions_is_answered_empty_when_its_time_is_up() {
    let broker = one_loop(Options::default());
    let mut consumer = broker.connect();
    let request = Fetch {
        max_wait_ms: 50,
        ..Fetch::of(many(&broker))
    };
    assert_eq!(consumer.fetch(&request).partitions.len(), 1500);
}

#[test]
fn partition_that_is_named_many_times_is_fetched_once_as_the_last_says() {
    let broker = one_loop(Options::default());
    broker.create(2, &[]);
    let mut client = broker.connect();
    for _ in 0..2 {
        client.produce(&Produce::one(1, batch(10)));
    }
    let mut wanted = vec![Wanted::new(0, 0); 5000];
    wanted.push(Wanted::new(1, 0));
    wanted.push(Wanted::new(0, 1));
    let answer = client.fetch(&Fetch::of(wanted));
    assert_eq!(answer.offsets(), [(0, vec![1]), (1, vec![])]);
}

#[test]
fn unread_answers_are_bounded_for_the_whole_broker() {
    const CLIENTS: usize = 24;
    const LIMIT: usize = 1 << 20;
    let broker = one_loop(Options {
        unsent_bytes: LIMIT,
        ..Options::default()
    });
    broker.create(2, &[]);
    let mut honest = broker.connect();
    honest.produce(&Produce::one(1, batch(30_000)));
    let mut deaf: Vec<Client> = (0..CLIENTS).map(|_| broker.connect()).collect();
    for client in &mut deaf {
        // 90 MB of answers to each, in small slices.
        for _ in 0..3000 {
            client.send_fetch(&Fetch::now(0));
        }
    }
    let unsent = || broker.broker().unsent().used();
    wait_until("the budget is used up", || unsent() >= LIMIT);
    for nth in 0..50 {
        let produced = honest.produce(&Produce::of(1, vec![(1, Some(batch(10)))]));
        assert_eq!(produced.outcomes(), [(0, nth)]);
        assert_eq!(honest.fetch(&Fetch::now(0)).only().base_offsets(), [0]);
    }
    // Each may get one answer more, and what was answered before the budget was used up.
    assert!(unsent() <= LIMIT + CLIENTS * (64 << 10), "{} bytes", unsent());
    drop(deaf);
    wait_until("everything is returned", || unsent() == 0);
}

#[test]
fn large_requests_wait_until_there_is_room_for_their_answers() {
    const CLIENTS: usize = 16;
    const LIMIT: usize = 16 << 20;
    const ANSWER: usize = 4 << 20;
    let broker = one_loop(Options {
        unsent_bytes: LIMIT,
        ..Options::default()
    });
    broker.create(1, &[]);
    let large = Fetch {
        max_wait_ms: 0,
        ..Fetch::of((1..100_000).map(|index| Wanted::new(index, 0)).collect())
    };
    let bytes = crate::client::frame(1, 12, 7, true, &large.body());
    let deaf: Vec<Client> = (0..CLIENTS).map(|_| broker.connect()).collect();
    let senders: Vec<_> = deaf
        .iter()
        .map(|client| {
            let (mut socket, bytes) = (client.socket.try_clone().unwrap(), bytes.clone());
            std::thread::spawn(move || (0..8).all(|_| socket.write_all(&bytes).is_ok())) // until it is closed
        })
        .collect();
    let unsent = || broker.broker().unsent().used();
    wait_until("the budget is used up", || unsent() >= LIMIT);
    let mut honest = broker.connect();
    let mut most = 0;
    for nth in 0..50 {
        let produced = honest.produce(&Produce::of(1, vec![(0, Some(batch(10)))]));
        assert_eq!(produced.outcomes(), [(0, nth)]);
        most = most.max(unsent());
    }
    // Whoever reads nothing is closed, one after the other, so that everybody has a turn.
    assert_eq!(honest.fetch(&large).partitions.len(), 99_999);
    most = most.max(unsent());
    assert!(most <= LIMIT + 4 * ANSWER, "{most} bytes");
    for client in deaf {
        client.socket.shutdown(Shutdown::Both).ok();
    }
    for sender in senders {
        sender.join().unwrap();
    }
    wait_until("everything is returned", || unsent() == 0);
}

#[test]
fn frames_that_arrive_in_parts_are_bounded_and_all_are_served() {
    const CLIENTS: usize = 40;
    const LIMIT: usize = 1 << 20;
    let broker = one_loop(Options {
        queued_request_bytes: LIMIT,
        ..Options::default()
    });
    broker.create(1, &[]);
    let bytes = {
        let request = Produce::one(1, batch(400_000));
        crate::client::frame(0, 12, 7, true, &request.body())
    };
    let half = bytes.len() / 2;
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| broker.connect()).collect();
    let queued = || broker.broker().queued().used();
    for client in &mut clients {
        client.send_bytes(&bytes[..half]);
    }
    wait_until("the budget is used up", || queued() >= LIMIT);
    let mut honest = broker.connect();
    for _ in 0..20 {
        assert_eq!(honest.produce(&Produce::one(1, batch(10))).partitions[0].error, 0);
    }
    // Of each at most what came at first, and of one the rest.
    assert!(queued() <= LIMIT + (CLIENTS + 8) * (64 << 10), "{} bytes", queued());
    let rest = bytes[half..].to_vec();
    let senders: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let rest = rest.clone();
            std::thread::spawn(move || {
                client.send_bytes(&rest);
                client.produce_answer(12).partitions[0].error
            })
        })
        .collect();
    assert!(senders.into_iter().all(|sender| sender.join().unwrap() == 0));
    wait_until("everything is returned", || queued() == 0);
}

#[test]
fn session_beyond_the_bytes_of_the_cache_is_not_opened() {
    let broker = one_loop(Options {
        fetch_session_bytes: 100_000,
        ..Options::default()
    });
    broker.create(1, &[]);
    let mut client = broker.connect();
    let mut open = |partitions: i32| {
        let request = Fetch {
            session: (0, 0),
            ..Fetch::of((0..partitions).map(|index| Wanted::new(index, 0)).collect())
        };
        client.fetch(&request).session_id
    };
    assert_eq!(open(5000), 0, "too large");
    assert_ne!(open(1), 0);
    let opened = (0..1000).filter(|_| open(10) != 0).count();
    assert!((10..100).contains(&opened), "{opened}");
    assert!(broker.broker().sessions().bytes() <= 100_000);
}

/// Requests that the control plane has not read are bounded; what is small, or the data plane's, is served beside them.
#[test]
fn frames_for_the_control_plane_wait_in_their_connections_while_it_has_not_read_others() {
    const CLIENTS: usize = 40;
    const LIMIT: usize = 1 << 20;
    const FRAME: usize = 300_000;
    // Parts of frames came until there was no room; then one after the other is completed while others are unread.
    const MOST: usize = 2 * (LIMIT + FRAME);
    let broker = one_loop(Options {
        control_bytes: 4 * LIMIT, // a quarter is for bodies
        ..Options::default()
    });
    broker.create(1, &[]);
    let senders: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut client = broker.connect();
            std::thread::spawn(move || {
                client.send(19, 5, true, &vec![0; FRAME]);
                client.receive()
            })
        })
        .collect();
    let control = &broker.broker().control();
    let held = || control.arriving.used() + control.waiting.used();
    wait_until("the budget is used up", || held() >= LIMIT);
    let mut honest = broker.connect();
    for _ in 0..20 {
        assert_eq!(honest.produce(&Produce::one(1, batch(10_000))).partitions[0].error, 0);
        assert!(held() <= MOST, "{} bytes", held());
    }
    honest.send(19, 5, true, b"small");
    let mut answered = 0;
    wait_until("all are answered", || {
        for event in broker.broker().events().take(1) {
            assert!(held() <= MOST, "{} bytes", held());
            let Event::Request(request) = event else { continue };
            broker.engine.respond(vec![(request.token, Some(b"answer".to_vec()))]);
            answered += 1;
        }
        answered == CLIENTS + 1
    });
    assert_eq!(honest.receive().1, b"\0answer");
    assert!(senders.into_iter().all(|it| it.join().unwrap().1 == b"\0answer"));
    wait_until("everything is returned", || held() == 0);
}
