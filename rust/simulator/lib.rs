//! One broker's data plane, driven step by step, for simulations of a cluster in one process
//! (docs/internals/simulator.md).
//!
//! The brokers are the real brokers, without threads and sockets. The simulation delivers requests and answers and sets
//! the time; a broker does nothing between two calls. Times are microseconds since the simulation began, except the
//! wall clock. A crate of its own, which no wheel has: the development build has it as `kafkastore._simulator`.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 extracts arguments by value")]

mod answers;
mod disk;
mod late_offset_commit;
mod mailbox;
mod peers;
mod planted;
mod probe;
mod records;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use self::answers::fill_in;
use self::disk::Disk;
use self::mailbox::WokenOperations;
use self::peers::SimulatedPeers;
use self::probe::{Probe, control_request};
use ::python::cleaner::PyCleanerReport;
use ::python::convert::{ConfigMap, topic_id};
use ::python::engine::PyEngine;
use ::python::errors::{OrRaise, start_error};
use ::python::values::PyLease;
use broker::{
    Attempt, BodyTail, Broker, CleanerRun, CleanerStep, ClientInfo, Delayed, Executor, Handover, Next, Options, Peers,
    ReplicaFetcher, Request, Scratch, Served, SlicedProduce, Source, Tried, Waiter, Wake, go_on_waiting,
};
use coordinator::transactions::Rounds;
use net::Engine;
use record::Batches;

/// When simulations begin, on the clock of this process. Only differences from it matter.
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// The listener of clients and brokers.
const LISTENER: &str = "PLAINTEXT";
/// Most bytes that are read of a log at once: all of a small one.
pub(crate) const DUMP_BYTES: usize = 64 << 20;

fn at(now_us: u64) -> Instant {
    *BEGIN + Duration::from_micros(now_us)
}

fn micros(instant: Instant) -> u64 {
    instant.saturating_duration_since(*BEGIN).as_micros() as u64
}

fn malformed(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A request for the data plane.
struct DataRequest {
    api_key: i16,
    version: i16,
    body: Vec<u8>,
}

/// The time at which a request is served: microseconds since the simulation began, and the wall clock.
#[derive(Clone, Copy)]
struct Moment {
    now_us: u64,
    wall_clock: i64,
}

#[derive(Default)]
struct StepState {
    fetchers: BTreeMap<i32, ReplicaFetcher>,
    delayed: BTreeMap<u64, Box<dyn Delayed>>,
    /// Requests that the control plane serves first, with their bodies: they come back to the data plane.
    handed_over: BTreeMap<u64, DataRequest>,
    /// The cleanings that are under way.
    cleanings: BTreeMap<u64, CleanerRun>,
    last_token: u64,
    scratch: Scratch,
    rounds: Rounds,
}

impl StepState {
    fn next_token(&mut self) -> u64 {
        self.last_token += 1;
        self.last_token
    }
}

/// The result of a request: the answer, or a token and a deadline in microseconds (none while the control plane has the
/// request); neither when no answer will come.
type ServedAnswer = (Option<Py<PyBytes>>, Option<(u64, Option<u64>)>);
/// (API key, version, body) of a request to send, or the time until which there is nothing to fetch.
type FetcherRequest = (Option<(i16, i16, Py<PyBytes>)>, Option<u64>);
/// The signals: (operations were woken, the queue of events is signalled, logs are to be flushed, replicas are to be
/// moved, transactions are to be ended, other brokers are asked, the leaders whose partitions have changed).
type Signals = (bool, bool, bool, bool, bool, bool, Vec<i32>);
/// (token, whether these are markers, node id, API key, version, body) of a request to another broker.
type PeerRequest = (u64, bool, i32, i16, i16, Py<PyBytes>);
/// (first offset, last offset, leader epoch, bytes).
type BatchTuple = (i64, i64, i32, Py<PyBytes>);

/// See the module.
#[pyclass(frozen, module = "kafkastore._simulator")]
pub struct Steps {
    engine: Arc<Engine>,
    broker: Arc<Broker>,
    /// The client of every request, for clients and followers alike.
    client: ClientInfo,
    state: Mutex<StepState>,
    mailbox: Arc<WokenOperations>,
    /// The brokers that a thread would fetch from.
    sources: Arc<Mutex<Vec<Arc<Source>>>>,
    peers: Arc<SimulatedPeers>,
}

#[pymethods]
impl Steps {
    #[new]
    fn new(engine: &PyEngine) -> Self {
        let broker = Arc::clone(engine.engine.broker());
        let sources: Arc<Mutex<Vec<Arc<Source>>>> = Arc::default();
        let spawned = Arc::clone(&sources);
        broker
            .fetchers()
            .run_with(Box::new(move |source| spawned.lock().push(source)));
        let peers = Arc::new(SimulatedPeers::default());
        let _ = broker.peers().set(Arc::clone(&peers) as Arc<dyn Peers>); // an engine has one driver
        Self {
            engine: Arc::clone(&engine.engine),
            broker,
            client: ClientInfo {
                is_broker: true,
                ..ClientInfo::new(0, Arc::from(LISTENER), "/127.0.0.1".to_owned())
            },
            state: Mutex::default(),
            mailbox: Arc::default(),
            sources,
            peers,
        }
    }

    /// The signals for which this broker's threads would wake up now; without a signal they sleep, even if there is
    /// work.
    fn rung(&self) -> Signals {
        let broker = &self.broker;
        let mut told: Vec<i32> = self
            .sources
            .lock()
            .iter()
            .filter(|s| s.is_rung())
            .map(|s| s.node_id)
            .collect();
        told.sort_unstable();
        let is_woken = !self.mailbox.0.lock().is_empty();
        let has_flushes = broker.threads().flusher().has_queued();
        (
            is_woken,
            broker.events().is_signalled(),
            has_flushes,
            broker.logs().moves().has_any(),
            self.engine.transactions().is_rung(&self.state.lock().rounds),
            self.peers.has_requests(),
            told,
        )
    }

    /// Leaves the broker as if its process had died.
    fn abandon(&self) {
        *self.state.lock() = StepState::default();
        self.peers.forget();
        self.broker.logs().dirs().abandon();
    }

    // ---- the control plane's calls that know the time
    fn publish_leases(&self, topic: &str, topic_id: &[u8], leases: Vec<Py<PyLease>>, now_us: u64) -> PyResult<()> {
        let id = self::topic_id(topic_id)?;
        let leases = leases.iter().map(|lease| lease.get().granted()).collect();
        self.broker.logs().grant(topic, id, leases, at(now_us));
        Ok(())
    }

    fn shrink_isrs(&self, now_us: u64) {
        self.broker.shrink_isrs(at(now_us));
    }

    fn flush_queued(&self) {
        let broker = &self.broker;
        broker
            .threads()
            .flusher()
            .flush_queued(|partition, error| broker.logs().dirs().storage_failed(partition, error));
    }

    // ---- moves between log directories
    /// One piece of one move; whether there is more to do.
    fn move_one(&self) -> bool {
        self.broker.logs().moves().move_one()
    }

    // ---- the log cleaner
    /// Chooses the log that needs cleaning most and begins to clean it. Returns the cleaning's token; `None` when none
    /// is due.
    fn begin_cleaning(&self) -> Option<u64> {
        let run = self.broker.logs().cleaner().begin_cleaning()?;
        let mut state = self.state.lock();
        let token = state.next_token();
        state.cleanings.insert(token, run);
        Some(token)
    }

    /// One step of a cleaning; its report when it has ended.
    fn step_cleaning(&self, token: u64) -> Option<PyCleanerReport> {
        let mut run = self.state.lock().cleanings.remove(&token)?;
        match run.step(self.broker.logs().cleaner()) {
            CleanerStep::More => {
                self.state.lock().cleanings.insert(token, run);
                None
            }
            CleanerStep::Ended(report) => Some(PyCleanerReport::of(*report)),
        }
    }

    // ---- requests of clients and followers
    fn serve(
        &self,
        py: Python<'_>,
        api_key: i16,
        version: i16,
        body: Vec<u8>,
        now_us: u64,
        wall_clock: i64,
    ) -> PyResult<ServedAnswer> {
        let request = DataRequest { api_key, version, body };
        self.serve_from(py, request, Moment { now_us, wall_clock }, true)
    }

    /// Serves a request from the state that the control plane has published since it was handed over. Its answer, as of
    /// [`Self::serve`], is for the request with this token.
    fn serve_here(&self, py: Python<'_>, token: u64, now_us: u64, wall_clock: i64) -> PyResult<ServedAnswer> {
        let handed_over = self.state.lock().handed_over.remove(&token);
        match handed_over {
            None => Ok((None, None)),
            Some(request) => self.serve_from(py, request, Moment { now_us, wall_clock }, false),
        }
    }

    /// Queues a request for the control plane, which finds it among its events and answers it under the returned token.
    fn ask_control_plane(&self, api_key: i16, api_version: i16, client_id: String, body: Vec<u8>) -> u64 {
        self.hand_over(api_key, api_version, client_id, body)
    }

    /// The answers of requests that were woken and can be completed. Requests that were not woken are not tried.
    fn take_mail(&self, py: Python<'_>, now_us: u64) -> PyResult<Vec<(u64, Py<PyBytes>)>> {
        let woken = std::mem::take(&mut *self.mailbox.0.lock());
        let mut answers = Vec::new();
        for token in woken {
            if let Some(body) = self.try_operation(token, false, at(now_us))? {
                answers.push((token, PyBytes::new(py, &body).unbind()));
            }
        }
        Ok(answers)
    }

    /// The answer of a request whose deadline has come, `None` when it has been answered; whether a wake-up was missed:
    /// the request could have been completed before its deadline, but was not woken; and its later deadline, for a
    /// request that has put it off.
    fn expire(&self, py: Python<'_>, token: u64, now_us: u64) -> PyResult<(Option<Py<PyBytes>>, bool, Option<u64>)> {
        let is_woken = self.mailbox.0.lock().contains(&token);
        let early = self.try_operation(token, false, at(now_us))?;
        if let Some(body) = early {
            return Ok((Some(PyBytes::new(py, &body).unbind()), !is_woken, None));
        }
        if let Some(deadline_us) = self.deadline_us(token).filter(|deadline_us| *deadline_us > now_us) {
            return Ok((None, false, Some(deadline_us)));
        }
        let body = self.try_operation(token, true, at(now_us))?;
        let later = self.deadline_us(token); // of a produce that is appended now
        Ok((body.map(|body| PyBytes::new(py, &body).unbind()), false, later))
    }

    /// The connection of a request that waits is gone.
    fn forget(&self, token: u64) {
        let delayed = self.state.lock().delayed.remove(&token);
        if let Some(delayed) = delayed {
            delayed.forget(&self.waiter(token));
        }
    }

    // ---- transactions

    /// As the thread that ends transactions, in one round. Returns until when it would sleep.
    fn end_transactions(&self, now_us: u64) -> u64 {
        let mut rounds = std::mem::take(&mut self.state.lock().rounds);
        let until = self.engine.here().round_of_transactions(&mut rounds, at(now_us));
        self.state.lock().rounds = rounds;
        micros(until)
    }

    /// Serves the transactions of a load from now on; no thread is started.
    fn activate_transactions(&self, partition: i32, number: u64) {
        self.engine.here().activate_transactions(partition, number);
    }

    /// The requests to other brokers since the last call, in order.
    fn peer_requests(&self, py: Python<'_>) -> Vec<PeerRequest> {
        self.peers.take(py)
    }

    /// The answer to a request to another broker; `None` when it was lost.
    fn peer_answered(&self, token: u64, body: Option<&[u8]>) {
        self.peers.answered(token, body);
    }

    // ---- following

    fn fetcher_next(&self, py: Python<'_>, source: i32, now_us: u64) -> FetcherRequest {
        let mut state = self.state.lock();
        let fetcher = state
            .fetchers
            .entry(source)
            .or_insert_with(|| ReplicaFetcher::new(source));
        for known in self.sources.lock().iter() {
            if known.node_id == source {
                fetcher.apply(known.take().unwrap_or_default());
            }
        }
        match fetcher.next(&self.broker, at(now_us)) {
            Next::Ask(ask) => {
                let body = PyBytes::new(py, &ask.body).unbind();
                (Some((ask.api_key, ask.api_version, body)), None)
            }
            Next::Idle(until) => (None, until.map(micros)),
        }
    }

    fn fetcher_complete(&self, source: i32, body: &[u8], now_us: u64) -> PyResult<()> {
        let mut state = self.state.lock();
        let Some(fetcher) = state.fetchers.get_mut(&source) else {
            return Ok(());
        };
        // Changes that came while the answer was on its way are applied before the next request, as the fetcher's
        // thread does.
        fetcher.complete(&self.broker, body, at(now_us)).map_err(malformed)
    }

    fn fetcher_lost(&self, source: i32) {
        if let Some(fetcher) = self.state.lock().fetchers.get_mut(&source) {
            fetcher.lost();
        }
    }

    // ---- looking inside
    /// Every batch of a log, to its end.
    fn batches(&self, py: Python<'_>, topic: &str, partition: i32) -> PyResult<Vec<BatchTuple>> {
        let partition = self.broker.partition(topic, partition).or_raise()?;
        let offsets = partition.offsets().view();
        if offsets.log_start >= offsets.log_end {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let mut next = offsets.log_start;
        while next < offsets.log_end {
            // A read ends at the end of a segment.
            let slice = partition
                .log()
                .plan_read(next, offsets.log_end)
                .or_raise()?
                .resolve(DUMP_BYTES, true)
                .or_raise()?;
            let mut part = vec![0; slice.len];
            slice.file.read_exact_at(&mut part, slice.position.get())?;
            let Some(last) = Batches::new(&part).last() else { break };
            next = last.map_err(malformed)?.header().next_offset();
            bytes.append(&mut part);
        }
        let mut found = Vec::new();
        let mut position = 0;
        for batch in Batches::new(&bytes) {
            let batch = batch.map_err(malformed)?;
            let header = batch.header();
            let end = position + header.size_bytes();
            found.push((
                header.base_offset.get(),
                (header.next_offset() - 1).get(),
                header.partition_leader_epoch.get(),
                PyBytes::new(py, bytes.get(position..end).unwrap_or_default()).unbind(),
            ));
            position = end;
        }
        Ok(found)
    }
}

impl Steps {
    fn serve_from(
        &self,
        py: Python<'_>,
        request: DataRequest,
        moment: Moment,
        may_hand_over: bool,
    ) -> PyResult<ServedAnswer> {
        let mut out = Vec::new();
        let served = self.handle(&request, moment, may_hand_over, &mut out)?;
        let delayed = match served {
            Served::Delayed(delayed) => delayed,
            Served::Answered(_) => return Ok((Some(PyBytes::new(py, &out).unbind()), None)),
            Served::Control(first) => {
                let comes_back = first.is_some();
                let client_id = "simulated".to_owned();
                let for_control = first.unwrap_or_else(|| request.body.clone());
                let token = self.hand_over(request.api_key, request.version, client_id, for_control);
                if comes_back {
                    self.state.lock().handed_over.insert(token, request);
                }
                return Ok((None, Some((token, None))));
            }
            _ => return Ok((None, None)),
        };
        let deadline = delayed.deadline();
        let token = {
            let mut state = self.state.lock();
            let token = state.next_token();
            state.delayed.insert(token, delayed);
            token
        };
        if let Some(body) = self.try_operation(token, false, at(moment.now_us))? {
            return Ok((Some(PyBytes::new(py, &body).unbind()), None));
        }
        Ok((None, Some((token, Some(micros(deadline))))))
    }

    /// Queues an event with a request for the control plane.
    fn hand_over(&self, api_key: i16, api_version: i16, client_id: String, body: Vec<u8>) -> u64 {
        let token = self.state.lock().next_token();
        let client = ClientInfo {
            client_id: Some(client_id),
            ..ClientInfo::new(token, Arc::from(LISTENER), self.client.host.clone())
        };
        control_request(&self.broker, client, (token, api_key, api_version, 0), body);
        token
    }

    fn handle(
        &self,
        simulated: &DataRequest,
        moment: Moment,
        may_hand_over: bool,
        out: &mut Vec<u8>,
    ) -> PyResult<Served> {
        let DataRequest { api_key, version, .. } = *simulated;
        let Moment { now_us, wall_clock } = moment;
        let mut body = simulated.body.clone();
        let Some(api) = self.broker.api(api_key) else {
            let message = format!("API {api_key} is not the data plane's");
            return Err(PyValueError::new_err(message));
        };
        let broker = &self.broker;
        let state = &mut *self.state.lock();
        let request = Request {
            broker,
            version,
            caller: self.client.caller(),
            body: &mut body,
            scratch: &mut state.scratch,
            executor: Executor::Worker,
            may_hand_over,
            now_ms: wall_clock,
            now: at(now_us),
        };
        let mut served = late_offset_commit::serve(broker, api_key, || api.serve(request, out)).map_err(malformed)?;
        if let Served::Elsewhere(Handover::Append(mut left)) = served {
            while !left.run(broker, &mut body, at(now_us), wall_clock) {}
            served = left.finish(broker, self.client.caller(), at(now_us), &body, out);
        }
        if let Served::Answered(rest) = served {
            fill_in(out, rest)?;
            served = Served::Answered(BodyTail::Nothing);
        }
        Ok(served)
    }

    fn waiter(&self, operation: u64) -> Waiter {
        Waiter {
            owner: Arc::clone(&self.mailbox) as Arc<dyn Wake>,
            operation,
        }
    }

    /// The deadline of a request that waits.
    fn deadline_us(&self, token: u64) -> Option<u64> {
        let state = self.state.lock();
        state.delayed.get(&token).map(|delayed| micros(delayed.deadline()))
    }

    /// Answers an operation if it can be answered, in the steps of a network loop; with `is_due` it is answered with
    /// whatever data there is. An operation that goes on waiting watches again.
    fn try_operation(&self, token: u64, is_due: bool, now: Instant) -> PyResult<Option<Vec<u8>>> {
        let waiter = self.waiter(token);
        let mut state = self.state.lock();
        let mut attempt = Attempt {
            broker: &self.broker,
            caller: self.client.caller(),
            is_due,
            executor: Executor::Worker,
            now,
        };
        let mut out = Vec::new();
        loop {
            let Some(delayed) = state.delayed.get_mut(&token) else {
                return Ok(None);
            };
            let tried = go_on_waiting(&mut **delayed, &waiter, &mut |delayed| {
                delayed.try_complete(&attempt, &mut out)
            });
            let (left, mut body) = match tried {
                Tried::Append(left, body) => (left, body),
                Tried::Answered(rest) => {
                    state.delayed.remove(&token);
                    fill_in(&mut out, rest)?;
                    return Ok(Some(out));
                }
                _ => return Ok(None),
            };
            state.delayed.remove(&token);
            attempt.is_due = false; // the produce that is appended now has a deadline of its own
            match self.append_left(left, &mut body, now, &mut out) {
                Served::Delayed(delayed) => drop(state.delayed.insert(token, delayed)),
                Served::Answered(rest) => {
                    fill_in(&mut out, rest)?;
                    return Ok(Some(out));
                }
                _ => return Ok(None),
            }
        }
    }

    /// Appends the batches of a produce whose verification was answered.
    fn append_left(
        &self,
        mut left: Box<dyn SlicedProduce>,
        body: &mut [u8],
        now: Instant,
        out: &mut Vec<u8>,
    ) -> Served {
        let wall_clock = self.broker.context().clock.now_ms();
        while !left.run(&self.broker, body, now, wall_clock) {}
        left.finish(&self.broker, self.client.caller(), now, body, out)
    }
}

/// An engine on the disk and the clock of a simulation, without threads.
#[pyfunction]
fn simulated_engine(
    node_id: i32,
    cluster_id: String,
    log_dirs: Vec<PathBuf>,
    options: ConfigMap,
    disk: &Disk,
) -> PyResult<PyEngine> {
    let options = Options::from_pairs(&options).or_raise()?;
    let broker = Broker::without_threads(node_id, cluster_id, options, Arc::new(disk.context()))
        .map_err(|e| start_error(e.to_string()))?;
    Ok(PyEngine::of(broker, log_dirs))
}

/// What drives brokers step by step.
#[pymodule]
fn _simulator(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Disk>()?;
    module.add_class::<Probe>()?;
    module.add_class::<Steps>()?;
    module.add_function(wrap_pyfunction!(simulated_engine, module)?)?;
    records::add_to(module)?;
    module.add_function(wrap_pyfunction!(planted::plant, module)?)?;
    Ok(())
}
