use super::*;
use crate::requests::api::Scratch;
use crate::testing::{CALLER, Calls, Fixture, NODE, START_MS, batch, give, lease, request};
use crate::{Handover, Wake};
use base::place::LeaderEpoch;
use record::{BatchBuilder, Codec, Origin};

const PRODUCER: i64 = 90;

/// What a request asks for partition 0 of a topic.
#[derive(Clone, Copy)]
struct LoadRequest {
    epoch: i16,
    first: i32,
    count: i32,
    is_new: bool,
}

fn whole(count: i32) -> LoadRequest {
    LoadRequest {
        epoch: 0,
        first: 0,
        count,
        is_new: true,
    }
}

fn body(topic: &str, asked: LoadRequest) -> Vec<u8> {
    let mut out = Vec::new();
    let request = AdoptSegmentsRequest {
        topic,
        partition: 0,
        producer_id: PRODUCER,
        producer_epoch: asked.epoch,
        first_sequence: asked.first,
        record_count: asked.count,
        is_new: asked.is_new,
        timeout_ms: 1000,
    };
    request.encode(&mut out, 0);
    out
}

fn decoded(out: &[u8]) -> AdoptSegmentsResult {
    let response = AdoptSegmentsResponse::decode(0, out).unwrap();
    AdoptSegmentsResult {
        error: response.error_code,
        message: response.error_message.map(str::to_owned),
        base_offset: response.base_offset,
        last_offset: response.last_offset,
        records: response.records,
    }
}

/// The answer, or the operation that waits.
fn ask(fixture: &Fixture, topic: &str, asked: LoadRequest) -> Result<AdoptSegmentsResult, Box<dyn Delayed>> {
    let (mut body, mut out, mut scratch) = (body(topic, asked), Vec::new(), Scratch::default());
    let elsewhere = Request {
        executor: Executor::Worker,
        ..request(&fixture.broker, 0, &mut body, &mut scratch)
    };
    match AdoptSegments.serve(elsewhere, &mut out).unwrap() {
        Served::Answered(_) => Ok(decoded(&out)),
        Served::Delayed(delayed) => Err(delayed),
        _ => panic!("neither answered nor delayed"),
    }
}

fn answered(fixture: &Fixture, asked: LoadRequest) -> AdoptSegmentsResult {
    ask(fixture, "t", asked).ok().unwrap()
}

/// Stages a file with a batch of one record for each sequence.
fn stage(fixture: &Fixture, epoch: i16, sequences: std::ops::Range<i32>) -> PathBuf {
    let dir = fixture.dirs[0].join(format!("t-0.load-{PRODUCER}-{epoch}-delete"));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("{:020}.log", sequences.start));
    let one = |sequence| {
        let mut builder = BatchBuilder::new(Codec::None).producer(PRODUCER, epoch, sequence);
        builder.append(START_MS, Some(b"key"), Some(b"value"), &[]);
        builder.build(Offset(0), LeaderEpoch::NONE)
    };
    std::fs::write(&path, sequences.flat_map(one).collect::<Vec<u8>>()).unwrap();
    dir
}

fn outcome(result: &AdoptSegmentsResult) -> (ErrorCode, i64, i64, i32) {
    (result.error, result.base_offset, result.last_offset, result.records)
}

fn log_end(fixture: &Fixture) -> i64 {
    fixture.partition("t", 0).offsets().log_end().get()
}

fn produce(fixture: &Fixture) {
    let mut one = batch(START_MS);
    fixture
        .partition("t", 0)
        .append(&mut one, 1, Origin::Client, START_MS)
        .unwrap();
}

#[test]
fn network_loop_hands_the_request_over() {
    let fixture = Fixture::new(1);
    let (mut body, mut scratch) = (body("t", whole(1)), Scratch::default());
    let served = AdoptSegments.serve(request(&fixture.broker, 0, &mut body, &mut scratch), &mut Vec::new());
    assert!(matches!(
        served.unwrap(),
        Served::Elsewhere(Handover::Serve(Thread::Load))
    ));
}

#[test]
fn request_that_is_sent_again_is_answered_with_the_same_offsets_and_appends_nothing() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    produce(&fixture);
    let dir = stage(&fixture, 0, 0..3);
    stage(&fixture, 0, 3..5);
    let first = answered(&fixture, whole(5));
    assert_eq!(outcome(&first), (ErrorCode::NONE, 1, 5, 5));
    assert!(!dir.exists());
    produce(&fixture);
    for is_new in [true, false] {
        assert_eq!(answered(&fixture, LoadRequest { is_new, ..whole(5) }), first);
    }
    fixture.partition("t", 0).log().producers_mut().remove_expired(i64::MAX);
    assert_eq!(
        answered(
            &fixture,
            LoadRequest {
                is_new: false,
                ..whole(5)
            }
        ),
        first
    );
    assert_eq!(log_end(&fixture), 7);
    fixture.broker.logs().dirs().abandon();
    let fixture = fixture.restart();
    give(&fixture.partition("t", 0), Some(lease(1, &[NODE], &[NODE])));
    assert_eq!(
        answered(
            &fixture,
            LoadRequest {
                is_new: false,
                ..whole(5)
            }
        ),
        first
    );
}

#[test]
fn load_that_the_log_has_in_part_is_completed_by_the_files_behind_it_or_says_how_much_is_missing() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[]);
    stage(&fixture, 0, 0..3);
    assert_eq!(outcome(&answered(&fixture, whole(3))), (ErrorCode::NONE, 0, 2, 3));
    let retry = LoadRequest {
        epoch: 1,
        is_new: false,
        ..whole(9)
    };
    let unknown = answered(&fixture, retry);
    assert_eq!(outcome(&unknown), (ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER, 0, 2, 3));
    assert!(unknown.message.unwrap().contains("the log has 3 of 9 records"));
    stage(&fixture, 1, 4..9);
    let gap = answered(&fixture, LoadRequest { first: 3, ..retry });
    assert_eq!(gap.error, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    stage(&fixture, 1, 3..4);
    assert_eq!(
        outcome(&answered(&fixture, LoadRequest { first: 3, ..retry })),
        (ErrorCode::NONE, 0, 8, 9)
    );
    let zombie = answered(
        &fixture,
        LoadRequest {
            is_new: false,
            ..whole(20)
        },
    );
    assert_eq!(
        (zombie.error, log_end(&fixture)),
        (ErrorCode::INVALID_PRODUCER_EPOCH, 9)
    );
}

#[test]
fn refused_load_leaves_the_log_as_it_was_and_the_directory_online() {
    let fixture = Fixture::new(1);
    fixture.create("t", 1, &[("min.insync.replicas", "1")]);
    fixture.create_with("replicated", [8; 16], 1, &[("min.insync.replicas", "2")], &[NODE, 2]);
    produce(&fixture);
    let error = |asked| answered(&fixture, asked).error;
    assert_eq!(
        error(whole(5)),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        "nothing is staged"
    );
    let dir = stage(&fixture, 0, 0..3);
    assert_eq!(
        error(whole(5)),
        ErrorCode::INVALID_RECORD,
        "records are missing at the end"
    );
    stage(&fixture, 0, 4..5);
    assert_eq!(
        error(whole(5)),
        ErrorCode::INVALID_RECORD,
        "a record is missing between two files"
    );
    std::fs::write(dir.join(format!("{:020}.log", 3)), [0; 100]).unwrap();
    assert_eq!(
        error(whole(5)),
        ErrorCode::CORRUPT_MESSAGE,
        "the second file is no batch"
    );
    for wrong in [
        whole(0),
        LoadRequest { first: -1, ..whole(5) },
        LoadRequest { epoch: -1, ..whole(5) },
    ] {
        assert_eq!(error(wrong), ErrorCode::INVALID_REQUEST);
    }
    let of = |topic| ask(&fixture, topic, whole(5)).ok().unwrap().error;
    assert_eq!(of("nowhere"), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    give(&fixture.partition("replicated", 0), Some(lease(0, &[NODE, 2], &[NODE])));
    assert_eq!(of("replicated"), ErrorCode::NOT_ENOUGH_REPLICAS);
    give(
        &fixture.partition("replicated", 0),
        Some(lease(1, &[2, NODE], &[NODE, 2])),
    );
    assert_eq!(of("replicated"), ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert_eq!(log_end(&fixture), 1);
    assert!(fixture.broker.logs().dirs().failed().is_empty() && dir.exists());
    let turn = fixture.partition("t", 0);
    let turn = AdoptionTurn::begin(&turn).unwrap();
    assert_eq!(error(whole(5)), ErrorCode::CONCURRENT_TRANSACTIONS);
    drop(turn);
    fixture.broker.refuse_produces();
    assert_eq!(error(whole(5)), ErrorCode::NOT_LEADER_OR_FOLLOWER);
}

#[test]
fn answer_waits_for_the_in_sync_replicas_and_consumers_are_woken() {
    let fixture = Fixture::new(1);
    fixture.create_with("t", [7; 16], 1, &[], &[NODE, 2]);
    let partition = fixture.partition("t", 0);
    let owner = Arc::new(Calls::default());
    let waiter = Waiter {
        owner: Arc::clone(&owner) as Arc<dyn Wake>,
        operation: 5,
    };
    partition.waiters().watch(WaitKind::Fetch, waiter);
    stage(&fixture, 0, 0..3);
    let mut waiting = ask(&fixture, "t", whole(3)).err().unwrap();
    assert_eq!(*owner.0.lock(), [5]);
    let mut again = ask(&fixture, "t", whole(3)).err().unwrap();
    let attempt = |is_due| Attempt {
        broker: &fixture.broker,
        caller: CALLER,
        is_due,
        executor: Executor::Loop,
        now: Instant::now(),
    };
    let mut out = Vec::new();
    assert!(matches!(waiting.try_complete(&attempt(false), &mut out), Tried::Waits));
    assert!(waiting.deadline() + Duration::from_secs(1) > Instant::now());
    assert!(matches!(
        again.try_complete(&attempt(true), &mut out),
        Tried::Answered(_)
    ));
    assert_eq!(decoded(&out).error, ErrorCode::REQUEST_TIMED_OUT);
    give(&partition, Some(lease(0, &[NODE, 2], &[NODE])));
    out.clear();
    assert!(matches!(
        waiting.try_complete(&attempt(false), &mut out),
        Tried::Answered(_)
    ));
    assert_eq!(outcome(&decoded(&out)), (ErrorCode::NONE, 0, 2, 3));
}

#[test]
fn producers_beside_an_adoption_keep_their_order_and_no_offset_is_given_twice() {
    let fixture = Fixture::in_memory(1);
    fixture.create("t", 1, &[]);
    for file in 0..40 {
        stage(&fixture, 0, file * 50..(file + 1) * 50);
    }
    let partition = fixture.partition("t", 0);
    let mut offsets = std::thread::scope(|scope| {
        let producing = scope.spawn(|| {
            let one = |_| {
                let mut one = batch(START_MS);
                let (appended, _) = partition.append(&mut one, 1, Origin::Client, START_MS).unwrap();
                appended.first_offset.get()
            };
            (0..2000).map(one).collect::<Vec<_>>()
        });
        assert_eq!(answered(&fixture, whole(2000)).error, ErrorCode::NONE);
        producing.join().unwrap()
    });
    assert!(offsets.is_sorted());
    let log = partition.log();
    let mut next_sequence = 0;
    let mut at = Offset(0);
    while at < log.log_end_offset() {
        let plan = log.plan_read(at, log.log_end_offset()).unwrap();
        let slice = plan.resolve(1 << 20, true).unwrap();
        let mut bytes = vec![0; slice.len];
        slice.file.read_exact_at(&mut bytes, slice.position.get()).unwrap();
        for one in record::Batches::new(&bytes) {
            let header = *one.unwrap().header();
            assert_eq!(header.base_offset, at);
            if header.producer_id == PRODUCER {
                assert_eq!(header.base_sequence, next_sequence);
                next_sequence += 1;
                offsets.push(at.get());
            }
            at = header.next_offset();
        }
    }
    offsets.sort_unstable();
    assert_eq!(offsets, (0..4000).collect::<Vec<_>>());
}
