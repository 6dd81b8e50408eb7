//! Dispatches each frame by its API: requests of the data plane's APIs are served at once, or on another thread when
//! they are too much for a network loop (`request_tasks`); all other requests go through the control plane's queue.
//!
//! Each API of the data plane is served the same way: its answer is framed, delayed, left to another thread or to the
//! control plane. Only `ApiVersions` and the brokers' proof are served by the connection itself. Unknown requests are
//! refused as in Kafka: an `ApiVersions` of another version gets a version 0 body with error 35; any other unknown API
//! or version, and any malformed frame, costs the connection and one log line.

mod broker_proof;
mod sasl_requests;

use std::sync::Arc;
use std::time::Instant;

use super::close_reason::CloseReason;
use super::completion::try_complete;
use super::connection::Connection;
use super::framing::{Framing, SIZE_BYTES, answer, framed_answer};
use super::mailbox::Mailbox;
use super::metering::serve_metered;
use super::operations::{ApiVersion, Parked, ParkedOperation, ParkedOperations, Requester, TaskHandle};
use super::proof::Proof;
use super::refusals::ClientRefusals;
use super::request_body::RequestBody;
use super::request_tasks::{RequestTask, TaskWork, WholeRequest};
use super::sasl::credentials::Credentials;
use base::error::ErrorCode;
use broker::{
    Api, Attempt, Broker, ClientInfo, ControlRequest, Delayed, Event, Executor, Request, Scratch, Served, Tried,
    start_waiting,
};
use protocol::mended::{MOST, mended};
use protocol::throttle_time::throttle_time_at;
use protocol::{
    ApiTable, ApiVersionsRequest, FEATURES, Features, RequestHeader, WireError, encode_api_versions_response,
    encode_api_versions_unsupported,
};

/// A frame: in a buffer of the loop, or in its own buffer behind its size prefix.
pub enum RequestFrame<'a> {
    /// In a shared buffer: copied when the frame must be kept.
    Shared(&'a mut [u8]),
    /// In its own buffer, which may be kept without a copy.
    Own(Vec<u8>),
}

impl RequestFrame<'_> {
    /// A frame of a header and a body.
    #[cold]
    fn own(header: &[u8], body: &[u8]) -> Self {
        Self::Own([&[0; SIZE_BYTES], header, body].concat())
    }

    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Own(bytes) => bytes.get_mut(SIZE_BYTES..).unwrap_or_default(),
        }
    }

    fn into_body(self, body_at: usize) -> RequestBody {
        match self {
            Self::Shared(bytes) => RequestBody::new(bytes.get(body_at..).unwrap_or_default().to_vec(), 0),
            Self::Own(bytes) => RequestBody::new(bytes, SIZE_BYTES + body_at),
        }
    }
}

/// What [`serve`] needs besides the frame and its connection.
pub struct Context<'a> {
    /// The data plane's state.
    pub broker: &'a Arc<Broker>,
    /// Which connections may act as a broker.
    pub proof: &'a Proof,
    /// The users of SCRAM.
    pub credentials: &'a Credentials,
    /// What the log says of clients that are not let in.
    pub refusals: &'a ClientRefusals,
    /// The loop's parked operations.
    pub operations: &'a mut ParkedOperations,
    /// The loop's buffers.
    pub scratch: &'a mut Scratch,
    /// The loop's mailbox, to which other threads post their results.
    pub mailbox: &'a Arc<Mailbox>,
    /// Wall clock, ms.
    pub now_ms: i64,
    /// Monotonic clock.
    pub now: Instant,
}

/// A request that the data plane serves, without its body. `mends`: how many more of its strings may be mended.
#[derive(Clone, Copy)]
struct ApiCall<'a> {
    mends: u8,
    api: &'a Arc<dyn Api>,
    version: i16,
    body_at: usize,
    body_bytes: usize,
    framing: Framing,
}

/// Serves one frame; a refusal closes the connection.
pub fn serve(
    mut frame: RequestFrame<'_>,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<(), CloseReason> {
    let table = context.broker.apis();
    let bytes = frame.bytes();
    if connection
        .authentication
        .as_ref()
        .is_some_and(|it| it.takes_raw_tokens())
    {
        sasl_requests::raw_token(bytes, connection, context);
        return Ok(());
    }
    let header = match RequestHeader::parse(bytes, |key, version| table.is_flexible(key, version)) {
        Ok(header) => header,
        Err(error) => match mended(bytes, error) {
            Some(mended) => return serve(RequestFrame::own(&[], &mended), connection, context),
            None => return Err(CloseReason::Malformed(-1, -1, error)),
        },
    };
    let (key, version, body_at) = (header.api_key, header.api_version, header.body_at);
    let framing = Framing {
        correlation_id: header.correlation_id,
        is_flexible: table.is_response_flexible(key, version),
        throttle_at: throttle_time_at(key, version),
    };
    if connection
        .authentication
        .as_ref()
        .is_some_and(|it| !it.admits(key, context.now))
    {
        return Err(CloseReason::Unproven(key));
    }
    if !table.get(key).is_some_and(|range| range.serves(version)) {
        if key != ApiTable::API_VERSIONS {
            return Err(CloseReason::Unsupported(key, version));
        }
        answer(connection.answer_box(), framing, |out| {
            encode_api_versions_unsupported(out, &table);
        });
        return Ok(());
    }
    context.broker.metrics().count_request(key);
    connection.note_client_id(header.client_id);
    if connection.quota_generation != context.broker.quotas().generation() {
        find_account(connection, context);
    }
    let broker = context.broker;
    if let Some(api) = broker.api(key) {
        let call = ApiCall {
            mends: MOST,
            api,
            version,
            body_at,
            body_bytes: bytes.len().saturating_sub(body_at),
            framing,
        };
        return serve_api(call, frame, connection, context);
    }
    let body = &bytes[body_at..];
    let served = match key {
        ApiTable::API_VERSIONS => api_versions(version, body, framing, connection, &table, context.broker),
        ApiTable::SASL_HANDSHAKE if connection.authentication.is_some() => {
            sasl_requests::handshake(version, body, framing, connection)
        }
        ApiTable::SASL_AUTHENTICATE if connection.authentication.is_some() => {
            sasl_requests::authenticate(version, body, framing, connection, context)
        }
        ApiTable::SASL_HANDSHAKE => broker_proof::handshake(version, body, framing, connection, context),
        ApiTable::SASL_AUTHENTICATE => broker_proof::authenticate(version, body, framing, connection, context),
        _ => {
            let body = frame.into_body(body_at).into_vec();
            control(ApiVersion { key, version }, body, None, framing, connection, context);
            Ok(())
        }
    };
    served.map_err(|e| CloseReason::Malformed(key, version, e))
}

/// Serves a request of one of the data plane's APIs, as far as a network loop may.
fn serve_api(
    call: ApiCall<'_>,
    mut frame: RequestFrame<'_>,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<(), CloseReason> {
    let (api, version, framing) = (call.api, call.version, call.framing);
    let requester = connection.requester(framing);
    let request = Request {
        broker: context.broker,
        version,
        caller: requester.client.caller(),
        body: frame.bytes().get_mut(call.body_at..).unwrap_or_default(),
        scratch: context.scratch,
        executor: Executor::Loop,
        may_hand_over: true,
        now_ms: context.now_ms,
        now: context.now,
    };
    let answered = framed_answer(connection.answer_box(), framing, |out| {
        serve_metered(&**api, request, framing, out)
    });
    let Err(served) = answered else { return Ok(()) };
    if let (Err(error), Some(mends)) = (&served, call.mends.checked_sub(1)) {
        let bytes = frame.bytes();
        let (header, body) = bytes.split_at(call.body_at.min(bytes.len()));
        if let Some(body) = mended(body, *error) {
            let body_bytes = body.len();
            let frame = RequestFrame::own(header, &body);
            let call = ApiCall {
                mends,
                body_bytes,
                ..call
            };
            return serve_api(call, frame, connection, context);
        }
    }
    match served.map_err(|e| CloseReason::Malformed(api.key(), version, e))? {
        Served::Answered(_) | Served::Silent => {}
        Served::Disconnect => return Err(CloseReason::SilentFailure),
        Served::Delayed(delayed) => park(delayed, call, requester, connection, context),
        Served::Elsewhere(handover) => {
            let work = TaskWork::of(handover, || WholeRequest {
                api: Arc::clone(api),
                version,
                may_hand_over: true,
                body: frame.into_body(call.body_at),
            });
            start_task(work, call, requester, connection, context);
        }
        Served::Control(first) => {
            let mut body = frame.into_body(call.body_at);
            let (request, kept) = match first {
                None => (body.into_vec(), None),
                Some(first) => {
                    body.charge(&context.broker.control().waiting);
                    (first, Some(body))
                }
            };
            let api = ApiVersion {
                key: api.key(),
                version,
            };
            control(api, request, kept, framing, connection, context);
        }
    }
    Ok(())
}

/// Parks a delayed answer, unless it can be completed at once.
fn park(
    mut delayed: Box<dyn Delayed>,
    call: ApiCall<'_>,
    requester: Requester,
    connection: &mut Connection,
    context: &mut Context<'_>,
) {
    let number = context.operations.number();
    let waiter = context.mailbox.waiter(number);
    let attempt = Attempt {
        broker: context.broker,
        caller: requester.client.caller(),
        is_due: false,
        executor: Executor::Loop,
        now: context.now,
    };
    let tried = start_waiting(&mut *delayed, &waiter, &mut |delayed| {
        try_complete(delayed, &attempt, call.framing, connection.answer_box())
    });
    match tried {
        Tried::Answered(_) => {}
        Tried::Cold => start_task(TaskWork::Try(delayed, false), call, requester, connection, context),
        Tried::Append(left, body) => {
            let work = TaskWork::Append(left, RequestBody::new(body, 0));
            start_task(work, call, requester, connection, context);
        }
        Tried::Waits => {
            connection.wait_for(number, delayed.mutes());
            let deadline = Some(delayed.deadline());
            let parked = Parked::Delayed(delayed);
            context
                .operations
                .park(number, ParkedOperation { requester, parked }, deadline);
        }
    }
}

/// Hands a request to another thread; the connection is muted until it is answered.
fn start_task(
    mut work: TaskWork,
    call: ApiCall<'_>,
    requester: Requester,
    connection: &mut Connection,
    context: &mut Context<'_>,
) {
    let number = context.operations.number();
    connection.wait_for(number, true);
    let handle = TaskHandle::expecting(work.expected_answer(call.body_bytes, context.broker.unsent()));
    work.charge(context.broker);
    let task = RequestTask::new(context.broker, context.mailbox, number, &requester, &handle, work);
    let parked = Parked::Task(handle);
    context
        .operations
        .park(number, ParkedOperation { requester, parked }, None);
    task.submit();
}

/// Finds where the requests of a connection are counted. Brokers that have proven the secret have no quota.
#[cold]
fn find_account(connection: &mut Connection, context: &Context<'_>) {
    let quotas = context.broker.quotas();
    connection.quota_generation = quotas.generation_to_resolve();
    let client = &connection.client;
    let is_exempt = client.is_broker && context.proof.is_asked_for();
    let found = quotas
        .account(
            &client.principal,
            client.client_id.as_deref(),
            &connection.held_back,
            context.now,
        )
        .filter(|_| !is_exempt);
    if found.is_some() || client.quotas.is_some() {
        let known = ClientInfo::clone(client);
        connection.client = Arc::new(ClientInfo { quotas: found, ..known });
    }
}

fn api_versions(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    table: &ApiTable,
    broker: &Broker,
) -> Result<(), WireError> {
    let request = match ApiVersionsRequest::decode(version, body) {
        Err(WireError::InvalidUtf8 { .. }) => None,
        decoded => Some(decoded?),
    };
    let code = if request.as_ref().is_some_and(|it| it.is_valid(body)) {
        ErrorCode::NONE
    } else {
        ErrorCode::INVALID_REQUEST
    };
    let (name, software_version) =
        request.map_or((None, None), |it| (it.client_software_name, it.client_software_version));
    if let (Some(name), Some(software_version), ErrorCode::NONE) = (name, software_version, code) {
        let text = |range| String::from_utf8_lossy(body.get(range).unwrap_or_default()).into_owned();
        let known = ClientInfo::clone(&connection.client);
        let info = ClientInfo {
            software_name: text(name),
            software_version: text(software_version),
            ..known
        };
        connection.client = Arc::new(info);
    }
    let finalized = broker.features();
    let features = Features {
        supported: &FEATURES,
        epoch: finalized.epoch,
        finalized: &finalized.levels,
    };
    let quotas = connection.client.quotas.as_ref();
    let throttle_time_ms = quotas.map_or(0, |quotas| quotas.throttle_requests(Instant::now()));
    answer(connection.answer_box(), framing, |out| {
        encode_api_versions_response(out, version, (table, features), code, throttle_time_ms);
    });
    Ok(())
}

/// Queues a request for the control plane; the connection waits for its answer.
fn control(
    api: ApiVersion,
    mut body: Vec<u8>,
    kept: Option<RequestBody>,
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) {
    body.shrink_to_fit();
    let token = context.operations.number();
    connection.wait_for(token, true);
    let requester = connection.requester(framing);
    push_control(context.broker, token, api, &requester, body);
    let parked = Parked::Control { api, body: kept };
    context
        .operations
        .park(token, ParkedOperation { requester, parked }, None);
}

/// Queues a request of this loop for the control plane, which answers it by its token.
pub fn push_control(broker: &Broker, token: u64, api: ApiVersion, requester: &Requester, body: Vec<u8>) {
    let charge = broker.control().charge(body.len());
    broker.events().push(Event::Request(ControlRequest {
        token,
        api_key: api.key,
        api_version: api.version,
        correlation_id: requester.framing.correlation_id,
        client: Arc::clone(&requester.client),
        body,
        charge,
    }));
}

#[cfg(test)]
mod tests;
