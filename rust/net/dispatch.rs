//! From a frame to whoever serves it: the data plane's own APIs at once, or on a request thread when they are too much for a
//! network loop (`elsewhere`); all others through the control plane's queue.
//!
//! What Kafka does with what it does not know: an `ApiVersions` of another version gets a version 0 body with error 35;
//! any other unknown API or version, and any malformed frame, costs the connection and one log line.

mod completion;
mod framing;

use std::sync::Arc;
use std::time::Instant;

use super::connection::Connection;
use super::elsewhere::{Away, Body, Errand, Task};
use super::mailbox::Mailbox;
use super::operations::{Framing, Operation, Operations, Parked};
use super::outbox::Outbox;
use super::proof::Proof;
use crate::broker::{
    Broker, Caller, ClientInfo, ControlRequest, Event, FetchOutcome, FetchScratch, ListOffsetsOutcome, MetadataOutcome,
    ParkedFetch, Place, ProduceOutcome, ProduceScratch, Waiter,
};
use crate::coordinator;
use crate::error::ErrorCode;
use crate::record::Room;
use crate::wire::{
    ApiTable, ApiVersionsRequest, FEATURES, RequestHeader, WireError, encode_api_versions_response,
    encode_api_versions_unsupported,
};

use framing::SIZE_BYTES;

pub use completion::{Completion, complete_fetch};
pub use framing::{answer, begin, finish, finish_shared, finish_with_files};

/// The client id under which Kafka's admin client may write internal topics.
const ADMIN_CLIENT_ID: &str = "__admin_client";

/// Why a connection must be closed.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The bytes are not a request.
    #[error("malformed request with api key {0} version {1}: {2}")]
    Malformed(i16, i16, WireError),
    /// An API or version that is not served.
    #[error("unsupported request: api key {0} version {1}")]
    Unsupported(i16, i16),
    /// An acks=0 produce failed; there is no other way to tell.
    #[error("a produce with acks=0 failed")]
    SilentFailure,
}

/// Bytes that a loop inflates in a turn, over all connections: a millisecond or two.
const INFLATED_BYTES_OF_TURN: usize = 1 << 20;

/// Buffers of one loop.
#[derive(Default)]
pub struct Scratch {
    produce: ProduceScratch,
    fetch: FetchScratch,
}

impl Scratch {
    /// Another turn begins.
    pub fn begin_turn(&mut self) {
        self.produce.room = Room::here(INFLATED_BYTES_OF_TURN);
    }
}

/// A frame: in a buffer of the loop, or in one of its own behind its size prefix.
pub enum Frame<'a> {
    /// To be copied where it must be kept.
    Shared(&'a mut [u8]),
    /// A large one, which may be kept as it is.
    Own(Vec<u8>),
}

impl Frame<'_> {
    fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Own(bytes) => bytes.get_mut(SIZE_BYTES..).unwrap_or_default(),
        }
    }

    fn into_body(self, body_at: usize) -> Body {
        match self {
            Self::Shared(bytes) => Body::new(bytes.get(body_at..).unwrap_or_default().to_vec(), 0),
            Self::Own(bytes) => Body::new(bytes, SIZE_BYTES + body_at),
        }
    }
}

/// What the server of a frame needs besides the connection.
pub struct Context<'a> {
    /// The data plane's state.
    pub broker: &'a Arc<Broker>,
    /// Who may act as a broker.
    pub proof: &'a Proof,
    /// The loop's parked operations.
    pub operations: &'a mut Operations,
    /// Its buffers.
    pub scratch: &'a mut Scratch,
    /// Where what is served elsewhere comes back.
    pub mailbox: &'a Arc<Mailbox>,
    /// How its operations are called.
    pub waiter: &'a dyn Fn(u64) -> Waiter,
    /// Wall clock, ms.
    pub now_ms: i64,
    /// Monotonic clock.
    pub now: Instant,
}

/// Serves one frame; a refusal closes the connection.
pub fn serve(mut frame: Frame<'_>, connection: &mut Connection, context: &mut Context<'_>) -> Result<(), Refused> {
    let table = context.broker.apis();
    let bytes = frame.bytes();
    let header = RequestHeader::parse(bytes, |key, version| table.is_flexible(key, version))
        .map_err(|e| Refused::Malformed(-1, -1, e))?;
    let (key, version, body_at) = (header.api_key, header.api_version, header.body_at);
    let framing = Framing {
        correlation_id: header.correlation_id,
        is_flexible: table.is_response_flexible(key, version),
    };
    if !table.get(key).is_some_and(|range| range.serves(version)) {
        if key != ApiTable::API_VERSIONS {
            return Err(Refused::Unsupported(key, version));
        }
        answer(connection, framing, |out| encode_api_versions_unsupported(out, &table));
        return Ok(());
    }
    context.broker.metrics.count_request(key);
    let malformed = |e| Refused::Malformed(key, version, e);
    let errand = match key {
        ApiTable::PRODUCE => {
            let may_write_internal = header.client_id == Some(ADMIN_CLIENT_ID);
            let body = &mut bytes[body_at..];
            produce(version, may_write_internal, body, framing, connection, context).map_err(malformed)??
        }
        ApiTable::FETCH => fetch(version, &bytes[body_at..], framing, connection, context).map_err(malformed)?,
        ApiTable::API_VERSIONS => {
            api_versions(version, &bytes[body_at..], framing, connection, &table).map_err(malformed)?;
            None
        }
        ApiTable::LIST_OFFSETS => {
            list_offsets(version, &bytes[body_at..], framing, connection, context).map_err(malformed)?
        }
        ApiTable::SASL_HANDSHAKE => {
            let handshake = context.proof.handshake(&bytes[body_at..], framing, connection);
            handshake.map_err(malformed)?;
            None
        }
        ApiTable::SASL_AUTHENTICATE => {
            let (proof, body) = (context.proof, &bytes[body_at..]);
            let authenticated = proof.authenticate(version, body, framing, connection, context.broker);
            authenticated.map_err(malformed)?;
            None
        }
        ApiTable::METADATA => match metadata(version, &bytes[body_at..], framing, connection, context) {
            Ok(Served::Here) => None,
            Ok(Served::Elsewhere) => Some(Errand::Metadata(true)),
            Ok(Served::Control(request)) => {
                let client_id = header.client_id.map(ToOwned::to_owned);
                let number = context.operations.number();
                let mut kept = frame.into_body(body_at);
                kept.charge(&context.broker.control.waiting);
                let kept = Some(kept);
                control(
                    number,
                    (key, version, client_id),
                    request,
                    kept,
                    framing,
                    connection,
                    context,
                );
                return Ok(());
            }
            Err(error) => return Err(malformed(error)),
        },
        _ => {
            if from_published_state((key, version), &bytes[body_at..], framing, connection, context)
                .map_err(malformed)?
            {
                return Ok(());
            }
            let client_id = header.client_id.map(ToOwned::to_owned);
            let number = context.operations.number();
            let mut body = frame.into_body(body_at).into_vec();
            body.shrink_to_fit();
            control(
                number,
                (key, version, client_id),
                body,
                None,
                framing,
                connection,
                context,
            );
            return Ok(());
        }
    };
    if let Some(errand) = errand {
        leave(errand, version, frame.into_body(body_at), framing, connection, context);
    }
    Ok(())
}

/// Answers what needs nothing but what the control plane has published; false when the control plane is to serve it.
fn from_published_state(
    api: (i16, i16),
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &Context<'_>,
) -> Result<bool, WireError> {
    let listener = Arc::clone(&connection.client.listener);
    let out = connection.answer_box().tail();
    let start = begin(out, framing);
    let outcome = coordinator::answer(context.broker, api, &listener, body, out);
    if matches!(outcome, Ok(coordinator::Outcome::Answered)) {
        finish(out, start, 0);
        return Ok(true);
    }
    out.truncate(start);
    outcome.map(|_| false)
}

/// Has a request served elsewhere; the connection waits for it.
fn leave(
    errand: Errand,
    version: i16,
    body: Body,
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) {
    let number = context.operations.number();
    connection.wait_for(number, true);
    let mut away = Away::default();
    away.expect_answer(body.get().len(), &errand, &context.broker.unsent);
    let mut body = body;
    body.charge(match errand {
        Errand::Metadata(_) => &context.broker.control.waiting, // it may wait there, too
        _ => &context.broker.queued,
    });
    let task = Task {
        broker: Arc::clone(context.broker),
        mailbox: Arc::clone(context.mailbox),
        number,
        framing,
        version,
        client: Arc::clone(&connection.client),
        is_gone: Arc::clone(&away.gone),
        body,
        errand,
    };
    let operation = Operation {
        connection: connection.reference,
        framing,
        parked: Parked::Away(away),
    };
    context.operations.park(number, operation, None);
    task.submit();
}

fn produce(
    version: i16,
    may_write_internal: bool,
    body: &mut [u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<Result<Option<Errand>, Refused>, WireError> {
    let listener = connection.client.listener.clone();
    let caller = Caller {
        listener: &listener,
        may_write_internal,
        is_broker: connection.client.is_broker,
    };
    let out = connection.answer_box().tail();
    let start = begin(out, framing);
    let now = (context.now_ms, context.now);
    let outcome = crate::broker::produce(
        context.broker,
        version,
        caller,
        body,
        &mut context.scratch.produce,
        now,
        out,
    );
    match outcome {
        Ok(ProduceOutcome::Answered) => finish(out, start, 0),
        other => {
            out.truncate(start);
            match other? {
                ProduceOutcome::Disconnect => return Ok(Err(Refused::SilentFailure)),
                ProduceOutcome::Left(left) => return Ok(Ok(Some(Errand::Produce(left)))),
                ProduceOutcome::Parked(mut parked) => {
                    let number = context.operations.number();
                    let waiter = (context.waiter)(number);
                    parked.watch(&waiter);
                    if parked.poll() {
                        parked.forget(&waiter);
                        let out = connection.answer_box().tail();
                        let start = begin(out, framing);
                        parked.encode(context.broker, &listener, out);
                        finish(out, start, 0);
                    } else {
                        let deadline = Some(parked.deadline);
                        connection.wait_for(number, false);
                        let parked = Parked::Produce(parked);
                        let operation = Operation {
                            connection: connection.reference,
                            framing,
                            parked,
                        };
                        context.operations.park(number, operation, deadline);
                    }
                }
                ProduceOutcome::Silent | ProduceOutcome::Answered => {}
            }
        }
    }
    Ok(Ok(None))
}

fn fetch(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<Option<Errand>, WireError> {
    let listener = connection.client.listener.clone();
    let caller = Caller {
        listener: &listener,
        may_write_internal: false,
        is_broker: connection.client.is_broker,
    };
    let outbox = connection.answer_box();
    let out = outbox.tail();
    let start = begin(out, framing);
    match crate::broker::fetch(
        context.broker,
        version,
        caller,
        body,
        &mut context.scratch.fetch,
        (Place::Loop, context.now),
        out,
    ) {
        Ok(FetchOutcome::Answered(splices)) => finish_with_files(outbox, start, splices),
        Ok(FetchOutcome::Left) => {
            out.truncate(start);
            return Ok(Some(Errand::Fetch));
        }
        Ok(FetchOutcome::Parked(parked)) => {
            out.truncate(start);
            return Ok(park_fetch(parked, framing, connection, context));
        }
        Ok(FetchOutcome::Cold(parked, is_due)) => {
            out.truncate(start);
            return Ok(Some(Errand::TryFetch(parked, is_due)));
        }
        Err(e) => {
            out.truncate(start);
            return Err(e);
        }
    }
    Ok(None)
}

/// It may have to be tried elsewhere.
fn park_fetch(
    parked: Box<ParkedFetch>,
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Option<Errand> {
    let number = context.operations.number();
    let waiter = (context.waiter)(number);
    parked.watch(&waiter);
    let mut answer = Outbox::default();
    let tried = complete_fetch(
        &parked,
        framing,
        &connection.client.listener.clone(),
        false,
        context.broker,
        (Place::Loop, context.now),
        &mut answer,
    );
    if tried != Completion::Waits {
        parked.forget(&waiter);
        if tried == Completion::Cold {
            return Some(Errand::TryFetch(parked, false));
        }
        connection.answer_box().append(&mut answer);
        return None;
    }
    let deadline = Some(parked.deadline);
    connection.wait_for(number, true);
    let operation = Operation {
        connection: connection.reference,
        framing,
        parked: Parked::Fetch(parked),
    };
    context.operations.park(number, operation, deadline);
    None
}

fn api_versions(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    table: &ApiTable,
) -> Result<(), WireError> {
    let request = ApiVersionsRequest::decode(version, body)?;
    let code = if request.is_valid(body) {
        ErrorCode::NONE
    } else {
        ErrorCode::INVALID_REQUEST
    };
    if let (Some(name), Some(software_version), ErrorCode::NONE) =
        (request.client_software_name, request.client_software_version, code)
    {
        let text = |range| String::from_utf8_lossy(body.get(range).unwrap_or_default()).into_owned();
        let known = ClientInfo::clone(&connection.client);
        let info = ClientInfo {
            software_name: text(name),
            software_version: text(software_version),
            ..known
        };
        connection.client = Arc::new(info);
    }
    answer(connection, framing, |out| {
        encode_api_versions_response(out, version, (table, &FEATURES), code, 0);
    });
    Ok(())
}

fn list_offsets(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<Option<Errand>, WireError> {
    let out = connection.answer_box().tail();
    let start = begin(out, framing);
    match crate::broker::list_offsets(context.broker, version, body, Place::Loop, out) {
        Ok(ListOffsetsOutcome::Answered) => finish(out, start, 0),
        Ok(ListOffsetsOutcome::Left) => {
            out.truncate(start);
            return Ok(Some(Errand::ListOffsets));
        }
        Ok(ListOffsetsOutcome::Lookup(lookup)) => {
            out.truncate(start);
            let number = context.operations.number();
            connection.wait_for(number, true);
            let parked = Parked::Lookup(Arc::clone(&lookup));
            let operation = Operation {
                connection: connection.reference,
                framing,
                parked,
            };
            context.operations.park(number, operation, None);
            let (broker, waiter) = (Arc::clone(context.broker), (context.waiter)(number));
            context.broker.workers.submit(move || {
                lookup.run(&broker);
                waiter.owner.wake(waiter.operation);
            });
        }
        Err(e) => {
            out.truncate(start);
            return Err(e);
        }
    }
    Ok(None)
}

/// Who serves a Metadata request.
enum Served {
    Here,
    Elsewhere,
    /// The control plane first, by this body.
    Control(Vec<u8>),
}

/// Answers Metadata from the published image.
fn metadata(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<Served, WireError> {
    let listener = connection.client.listener.clone();
    let outbox = connection.answer_box();
    let out = outbox.tail();
    let start = begin(out, framing);
    let outcome = crate::broker::metadata(context.broker, version, &listener, body, (Place::Loop, true), out);
    match outcome {
        Ok(MetadataOutcome::Answered) => finish(out, start, 0),
        Ok(MetadataOutcome::Shared(body)) => finish_shared(outbox, start, body),
        other => {
            out.truncate(start);
            return match other? {
                MetadataOutcome::HandedOver(request) => Ok(Served::Control(request)),
                _ => Ok(Served::Elsewhere),
            };
        }
    }
    Ok(Served::Here)
}

/// Queues a request for the control plane; the connection waits for its answer.
fn control(
    token: u64,
    (api_key, api_version, client_id): (i16, i16, Option<String>),
    body: Vec<u8>,
    kept: Option<Body>,
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) {
    connection.wait_for(token, true);
    let parked = Parked::Control {
        api_key,
        api_version,
        body: kept,
    };
    context.operations.park(
        token,
        Operation {
            connection: connection.reference,
            framing,
            parked,
        },
        None,
    );
    let client = Arc::clone(&connection.client);
    push_control(
        context.broker,
        (token, framing),
        (api_key, api_version, client_id),
        client,
        body,
    );
}

/// Tells the control plane of a request that is parked.
pub fn push_control(
    broker: &Broker,
    (token, framing): (u64, Framing),
    (api_key, api_version, client_id): (i16, i16, Option<String>),
    client: Arc<ClientInfo>,
    body: Vec<u8>,
) {
    let charge = broker.control.charge(body.len());
    broker.events.push(Event::Request(ControlRequest {
        token,
        api_key,
        api_version,
        correlation_id: framing.correlation_id,
        client_id,
        client,
        body,
        charge,
    }));
}

#[cfg(test)]
mod tests;
