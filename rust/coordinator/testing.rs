//! A broker that coordinates every group, with topic `t` of four partitions, for unit tests. Requests and answers are
//! encoded as on the wire.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Coordinators, Groups, apis};
use base::error::ErrorCode;
use broker::testing::{Fixture, NODE, START_MS};
use broker::{Attempt, BodyTail, ClientInfo, Delayed, Event, Executor, Request, Scratch, Served, ServedApis, Tried};
use protocol::{ApiTable, Reader, WireError, Writer};

pub const TOPIC_ID: [u8; 16] = [3; 16];
/// Retention of a commit that has none, so that the broker's applies.
pub const BROKERS_RETENTION: i64 = -1;
const COMMIT_VERSION: i16 = 4;
const FETCH_VERSION: i16 = 7;

/// See the module.
pub struct World {
    pub fixture: Fixture,
    coordinators: Arc<Coordinators>,
    pub now: Instant,
    pub now_ms: i64,
}

/// The member that commits.
#[derive(Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "Kafka's names")]
pub struct Committer<'a> {
    pub group_id: &'a str,
    pub member_id: &'a str,
    pub generation_id: i32,
}

pub const fn nobody(group_id: &str) -> Committer<'_> {
    Committer {
        group_id,
        member_id: "",
        generation_id: -1,
    }
}

impl World {
    /// A world in which this broker is the only replica.
    pub fn new() -> Self {
        Self::with_replicas(&[NODE])
    }

    /// A world with these replicas of `__consumer_offsets`, all in sync.
    pub fn with_replicas(replicas: &[i32]) -> Self {
        let (fixture, coordinators) = (Fixture::new(1), Arc::default());
        let served = ServedApis::new(apis(&coordinators));
        assert!(fixture.broker.served().set(served).is_ok());
        fixture.broker.image().publish_cluster(Vec::new(), NODE);
        fixture.create_with("t", TOPIC_ID, 4, &[], &[NODE]);
        fixture.create_with(
            "__consumer_offsets",
            [9; 16],
            1,
            &[("cleanup.policy", "compact")],
            replicas,
        );
        let world = Self {
            fixture,
            coordinators,
            now: Instant::now(),
            now_ms: START_MS,
        };
        world.load();
        world
    }

    /// Loads the groups again, as after an election.
    pub fn load(&self) -> super::LoadedGroups {
        let number = self.groups().homes.begin(&self.fixture.broker, 0).unwrap();
        let loaded = super::load(&self.fixture.broker, self.groups(), 0, number)
            .unwrap()
            .unwrap();
        self.groups().homes.activate(0, number);
        loaded
    }

    pub fn groups(&self) -> &Groups {
        &self.coordinators.groups
    }

    /// Serves a request. Returns its outcome and the bytes that were written.
    pub fn try_serve(
        &self,
        key: i16,
        version: i16,
        body: &[u8],
        executor: Executor,
    ) -> (Result<Served, WireError>, Vec<u8>) {
        let (mut body, mut out) = (body.to_vec(), Vec::new());
        let client = ClientInfo::nobody();
        let request = Request {
            broker: &self.fixture.broker,
            version,
            caller: client.caller(),
            body: &mut body,
            scratch: &mut Scratch::default(),
            executor,
            may_hand_over: true,
            now_ms: self.now_ms,
            now: self.now,
        };
        (self.fixture.broker.api(key).unwrap().serve(request, &mut out), out)
    }

    /// The answer of a delayed request, if it is complete or due.
    pub fn complete(&self, delayed: &mut dyn Delayed, is_due: bool) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let client = ClientInfo::nobody();
        let attempt = Attempt {
            broker: &self.fixture.broker,
            caller: client.caller(),
            is_due,
            executor: Executor::Loop,
            now: self.now,
        };
        match delayed.try_complete(&attempt, &mut out) {
            Tried::Answered(_) => Some(out),
            _ => None,
        }
    }

    pub fn advance(&mut self, time: Duration) {
        self.now += time;
        self.now_ms += i64::try_from(time.as_millis()).unwrap();
    }

    /// A request that must be answered or delayed.
    pub fn serve(&self, key: i16, version: i16, body: &[u8]) -> (Vec<u8>, Option<Box<dyn Delayed>>) {
        match self.try_serve(key, version, body, Executor::Loop) {
            (Ok(Served::Answered(BodyTail::Nothing)), out) => (out, None),
            (Ok(Served::Delayed(delayed)), out) => (out, Some(delayed)),
            _ => panic!("it is served elsewhere"),
        }
    }

    /// Commits rows of (topic, partition, offset, metadata). Returns the error of each partition, or the delayed
    /// answer.
    pub fn try_commit(
        &self,
        who: Committer<'_>,
        rows: &[(&str, i32, i64, &str)],
        retention_ms: i64,
    ) -> Result<Vec<ErrorCode>, Box<dyn Delayed>> {
        let body = commit_body(who, rows, retention_ms);
        match self.serve(ApiTable::OFFSET_COMMIT, COMMIT_VERSION, &body) {
            (answer, None) => Ok(commit_errors(&answer)),
            (_, Some(parked)) => Err(parked),
        }
    }

    /// A commit that must be answered at once.
    pub fn commit(&self, who: Committer<'_>, rows: &[(&str, i32, i64)]) -> Vec<ErrorCode> {
        let rows: Vec<_> = rows.iter().map(|(t, p, o)| (*t, *p, *o, "")).collect();
        self.try_commit(who, &rows, BROKERS_RETENTION)
            .unwrap_or_else(|_| panic!("it waits"))
    }

    /// All offsets of a group, or its error.
    pub fn fetched(&self, group_id: &str) -> Result<BTreeMap<(String, i32), i64>, ErrorCode> {
        let rows = self.fetch(group_id, None, false)?;
        Ok(rows
            .into_iter()
            .map(|(topic, index, offset, _)| ((topic, index), offset))
            .collect())
    }

    /// Fetches the offsets of the given partitions of topic `t`, or all. Returns topic, partition, offset and error of
    /// each row.
    pub fn fetch(
        &self,
        group_id: &str,
        partitions: Option<&[i32]>,
        require_stable: bool,
    ) -> Result<Vec<(String, i32, i64, ErrorCode)>, ErrorCode> {
        let mut body = Vec::new();
        let mut w = Writer::new(&mut body, true);
        w.string(group_id);
        w.length(partitions.map(|_| 1));
        if let Some(partitions) = partitions {
            w.string("t");
            w.length(Some(partitions.len()));
            for index in partitions {
                w.i32(*index);
            }
            w.no_tags();
        }
        w.boolean(require_stable);
        w.no_tags();
        let (answer, _) = self.serve(ApiTable::OFFSET_FETCH, FETCH_VERSION, &body);
        let mut r = Reader::new(&answer, true);
        assert_eq!(r.i32().unwrap(), 0, "no throttle");
        let mut rows = Vec::new();
        for _ in 0..r.count(1).unwrap() {
            let topic = r.str().unwrap();
            for _ in 0..r.count(1).unwrap() {
                let (index, offset) = (r.i32().unwrap(), r.i64().unwrap());
                let (_epoch, _metadata) = (r.i32().unwrap(), r.nullable_str().unwrap());
                rows.push((topic.to_owned(), index, offset, ErrorCode(r.i16().unwrap())));
                r.skip_tags().unwrap();
            }
            r.skip_tags().unwrap();
        }
        match ErrorCode(r.i16().unwrap()) {
            ErrorCode::NONE => Ok(rows),
            code => Err(code),
        }
    }

    /// Sends a heartbeat of a member of this generation.
    pub fn heartbeat(&self, who: Committer<'_>, instance: Option<&str>) -> ErrorCode {
        let mut body = Vec::new();
        let mut w = Writer::new(&mut body, false);
        w.string(who.group_id);
        w.i32(who.generation_id);
        w.string(who.member_id);
        w.nullable_string(instance);
        let (answer, _) = self.serve(ApiTable::HEARTBEAT, 3, &body);
        ErrorCode(i16::from_be_bytes(answer[4..6].try_into().unwrap()))
    }

    /// The events for the control plane since the last call, without lines of the log.
    pub fn events(&self) -> Vec<Event> {
        let events = self.fixture.broker.events().take(usize::MAX);
        events
            .into_iter()
            .filter(|event| !matches!(event, Event::Log(_)))
            .collect()
    }

    /// The groups that were reported to the control plane after their first commit.
    pub fn created(&self) -> Vec<String> {
        let created = |event| match event {
            Event::GroupsCreated { groups, .. } => groups,
            other => panic!("{other:?}"),
        };
        self.events()
            .into_iter()
            .flat_map(created)
            .map(|id| id.to_string())
            .collect()
    }
}

pub fn commit_body(who: Committer<'_>, rows: &[(&str, i32, i64, &str)], retention_ms: i64) -> Vec<u8> {
    let mut body = Vec::new();
    let mut w = Writer::new(&mut body, false);
    w.string(who.group_id);
    w.i32(who.generation_id);
    w.string(who.member_id);
    w.i64(retention_ms);
    w.length(Some(rows.len()));
    for (topic, index, offset, metadata) in rows {
        w.string(topic);
        w.length(Some(1));
        w.i32(*index);
        w.i64(*offset);
        w.nullable_string(Some(metadata));
    }
    body
}

/// The error of each row of a response of version 4.
pub fn commit_errors(answer: &[u8]) -> Vec<ErrorCode> {
    let mut r = Reader::new(answer, false);
    assert_eq!(r.i32().unwrap(), 0, "no throttle");
    let mut errors = Vec::new();
    for _ in 0..r.count(1).unwrap() {
        r.str().unwrap();
        for _ in 0..r.count(1).unwrap() {
            r.i32().unwrap();
            errors.push(ErrorCode(r.i16().unwrap()));
        }
    }
    errors
}
