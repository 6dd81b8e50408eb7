use super::*;

fn row(topic: &str, index: i32, fetch_offset: i64) -> FetchRow {
    let topic = RowTopic::Name(topic.into());
    FetchRow {
        topic,
        index,
        fetch_offset: Offset(fetch_offset),
        current_leader_epoch: LeaderEpoch::NONE,
        last_fetched_epoch: LeaderEpoch::NONE,
        max_bytes: 1000,
        log_start: Offset::NONE,
        high_watermark: Offset::MAX,
    }
}

fn asked(id: i32, epoch: i32, rows: Vec<FetchRow>) -> SessionRequest {
    SessionRequest {
        id,
        epoch,
        uses_topic_ids: false,
        is_follower: false,
        rows,
        forgotten: Vec::new(),
    }
}

fn quiet(high_watermark: i64) -> RowUpdate {
    RowUpdate {
        high_watermark: Offset(high_watermark),
        log_start: Offset(0),
        has_more: false,
        is_void: false,
    }
}

fn loud(high_watermark: i64) -> RowUpdate {
    RowUpdate {
        has_more: true,
        ..quiet(high_watermark)
    }
}

struct Client {
    cache: SessionCache,
    now: Instant,
}

impl Client {
    fn new(slots: usize) -> Self {
        Self {
            cache: SessionCache::new(slots, 1 << 20),
            now: Instant::now(),
        }
    }

    fn fetch(&self, request: SessionRequest, news: &[RowUpdate]) -> Result<(i32, Vec<i32>, Vec<bool>), ErrorCode> {
        let (context, rows) = self.cache.resolve(request, self.now)?;
        let refs: Vec<&FetchRow> = rows.iter().collect();
        let (id, changed) = self.cache.settle(&context, &refs, news, self.now);
        Ok((id, rows.iter().map(|r| r.index).collect(), changed))
    }

    fn open(&self, rows: Vec<FetchRow>) -> i32 {
        let news = vec![quiet(0); rows.len()];
        self.fetch(asked(0, 0, rows), &news).unwrap().0
    }
}

// KIP-227
#[test]
fn an_incremental_fetch_reads_every_partition_of_the_session_and_answers_changes_only() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0), row("t", 1, 0)]);
    assert_ne!(id, 0);
    let (same, indexes, changed) = client.fetch(asked(id, 1, vec![]), &[quiet(0), quiet(5)]).unwrap();
    assert_eq!((same, indexes, changed), (id, vec![0, 1], vec![false, true]));
    let (_, _, changed) = client.fetch(asked(id, 2, vec![]), &[quiet(0), quiet(5)]).unwrap();
    assert_eq!(changed, [false, false]);
}

#[test]
fn the_epoch_must_be_the_next_one() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0)]);
    assert_eq!(
        client.fetch(asked(id, 2, vec![]), &[]),
        Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH)
    );
    assert!(client.fetch(asked(id, 1, vec![]), &[quiet(0)]).is_ok());
    assert_eq!(
        client.fetch(asked(id, 1, vec![]), &[]),
        Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH)
    );
    assert_eq!(
        client.fetch(asked(id + 1, 1, vec![]), &[]),
        Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)
    );
}

#[test]
fn naming_topics_by_id_in_a_session_by_name_is_refused() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0)]);
    let request = SessionRequest {
        uses_topic_ids: true,
        ..asked(id, 1, vec![])
    };
    assert_eq!(client.fetch(request, &[]), Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR));
}

#[test]
fn partitions_are_added_changed_and_forgotten() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0), row("t", 1, 0)]);
    let forgotten = vec![(RowTopic::Name("t".into()), 0)];
    let request = SessionRequest {
        forgotten,
        ..asked(id, 1, vec![row("t", 1, 7), row("u", 3, 9)])
    };
    let (_, rows) = client.cache.resolve(request, client.now).unwrap();
    let read: Vec<_> = rows.iter().map(|r| (r.index, r.fetch_offset)).collect();
    assert_eq!(read, [(1, Offset(7)), (3, Offset(9))]);
}

#[test]
fn a_partition_that_gave_data_is_read_last_next_time() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0), row("t", 1, 0), row("t", 2, 0)]);
    client
        .fetch(asked(id, 1, vec![]), &[loud(1), quiet(0), quiet(0)])
        .unwrap();
    let (_, indexes, _) = client
        .fetch(asked(id, 2, vec![]), &[quiet(0), quiet(0), quiet(1)])
        .unwrap();
    assert_eq!(indexes, [1, 2, 0]);
}

#[test]
fn after_an_error_the_partition_is_answered_again() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0)]);
    let error = RowUpdate {
        is_void: true,
        ..quiet(-1)
    };
    assert_eq!(client.fetch(asked(id, 1, vec![]), &[error]).unwrap().2, [true]);
    assert_eq!(client.fetch(asked(id, 2, vec![]), &[quiet(0)]).unwrap().2, [true]);
    assert_eq!(client.fetch(asked(id, 3, vec![]), &[quiet(0)]).unwrap().2, [false]);
}

/// What was on its way when the reader learned of the epoch is thrown away there.
#[test]
fn in_a_new_leader_epoch_the_partition_is_answered_again() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0)]);
    let in_epoch = |epoch| FetchRow {
        current_leader_epoch: LeaderEpoch(epoch),
        ..row("t", 0, 0)
    };
    let ask = |session_epoch, rows| client.fetch(asked(id, session_epoch, rows), &[quiet(0)]).unwrap().2;
    ask(1, vec![]);
    assert_eq!(ask(2, vec![]), [false]);
    assert_eq!(ask(3, vec![in_epoch(1)]), [true]);
    assert_eq!(ask(4, vec![in_epoch(1)]), [false]);
}

#[test]
fn a_full_cache_gives_no_session_until_one_is_old() {
    let mut client = Client::new(1);
    let first = client.open(vec![row("t", 0, 0)]);
    assert_ne!(first, 0);
    assert_eq!(client.open(vec![row("t", 0, 0)]), 0);
    client.now += MIN_EVICTION_AGE;
    assert_ne!(client.open(vec![row("t", 0, 0)]), 0);
    assert_eq!(
        client.fetch(asked(first, 1, vec![]), &[]),
        Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)
    );
}

#[test]
fn the_final_epoch_closes_the_session() {
    let client = Client::new(10);
    let id = client.open(vec![row("t", 0, 0)]);
    let (given_id, _, changed) = client.fetch(asked(id, -1, vec![row("t", 0, 0)]), &[quiet(0)]).unwrap();
    assert_eq!((given_id, changed), (0, vec![true]));
    assert!(client.cache.is_empty());
}

// KIP-227: a reader takes nothing over from a row with an error, so what it was told before counts no more.
#[test]
fn a_row_is_answered_again_after_an_error_and_an_error_does_not_move_the_turn() {
    let client = Client::new(10);
    let void = RowUpdate {
        is_void: true,
        ..loud(0)
    };
    let rows = vec![row("t", 0, 0), row("t", 1, 0)];
    let (id, ..) = client.fetch(asked(0, 0, rows), &[void, quiet(0)]).unwrap();
    let next = |epoch, news: &[RowUpdate]| {
        let (_, indexes, changed) = client.fetch(asked(id, epoch, vec![]), news).unwrap();
        (indexes, changed)
    };
    assert_eq!(
        next(1, &[quiet(0), quiet(0)]),
        (vec![0, 1], vec![true, false]),
        "after an error in a full fetch"
    );
    assert_eq!(next(2, &[quiet(0), quiet(0)]), (vec![0, 1], vec![false, false]));
    assert_eq!(next(3, &[void, quiet(0)]), (vec![0, 1], vec![true, false]));
    assert_eq!(
        next(4, &[quiet(0), quiet(0)]),
        (vec![0, 1], vec![true, false]),
        "after an error in a session"
    );
    assert_eq!(next(5, &[loud(0), quiet(0)]), (vec![0, 1], vec![true, false]));
    assert_eq!(
        next(6, &[quiet(0), quiet(0)]),
        (vec![1, 0], vec![false, false]),
        "records do move it"
    );
}

// A session that gets its rows one request after the other holds each request's copy of the name
#[test]
fn a_topic_name_is_counted_for_each_row_that_holds_it() {
    let client = Client::new(10);
    let name = "n".repeat(10_000);
    let id = client.open(vec![row(&name, 0, 0)]);
    let mut epoch = 0;
    let mut add = |index| {
        epoch += 1;
        let news = vec![quiet(0); 200];
        client.fetch(asked(id, epoch, vec![row(&name, index, 0)]), &news)
    };
    for _ in 0..200 {
        add(0).unwrap();
    }
    assert!(
        client.cache.bytes() < 12_000,
        "a changed row keeps its name: {}",
        client.cache.bytes()
    );
    let refused = (1..200).find(|index| add(*index).is_err()).unwrap();
    assert!(refused > 90, "1 MiB holds a hundred names: {refused}");
    assert_eq!(client.cache.bytes(), 0);
}
