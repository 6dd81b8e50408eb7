//! From a frame to whoever serves it: the data plane's own APIs at once, all others through the control plane's queue.
//!
//! What Kafka does with what it does not know: an `ApiVersions` of another version gets a version 0 body with error 35;
//! any other unknown API or version, and any malformed frame, costs the connection and one log line.

use std::sync::Arc;
use std::time::Instant;

use super::connection::Connection;
use super::operations::{Framing, Operation, Operations, Parked};
use super::outbox::{FileRange, Outbox};
use super::proof::Proof;
use crate::broker::{
    Broker, Caller, ClientInfo, ControlRequest, Event, FetchOutcome, FetchScratch, ListOffsetsOutcome, MetadataOutcome,
    ParkedFetch, ProduceOutcome, ProduceScratch, Splice, Waiter,
};
use crate::error::ErrorCode;
use crate::wire::{
    ApiTable, ApiVersionsRequest, RequestHeader, WireError, encode_api_versions_response,
    encode_api_versions_unsupported, write_response_header,
};

/// The client id under which Kafka's admin client may write internal topics.
const ADMIN_CLIENT_ID: &str = "__admin_client";
/// Bytes of a response's size prefix.
const SIZE_BYTES: usize = 4;

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

/// Buffers of one loop.
#[derive(Default)]
pub struct Scratch {
    produce: ProduceScratch,
    fetch: FetchScratch,
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
    /// How its operations are called.
    pub waiter: &'a dyn Fn(u64) -> Waiter,
    /// Wall clock, ms.
    pub now_ms: i64,
    /// Monotonic clock.
    pub now: Instant,
}

/// Serves one frame; a refusal closes the connection.
pub fn serve(frame: &mut [u8], connection: &mut Connection, context: &mut Context<'_>) -> Result<(), Refused> {
    let table = context.broker.apis();
    let header = RequestHeader::parse(frame, |key, version| table.is_flexible(key, version))
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
    let malformed = |e| Refused::Malformed(key, version, e);
    match key {
        ApiTable::PRODUCE => {
            let may_write_internal = header.client_id == Some(ADMIN_CLIENT_ID);
            produce(
                version,
                may_write_internal,
                &mut frame[body_at..],
                framing,
                connection,
                context,
            )
            .map_err(malformed)?
        }
        ApiTable::FETCH => fetch(version, &frame[body_at..], framing, connection, context).map_err(malformed),
        ApiTable::API_VERSIONS => {
            api_versions(version, &frame[body_at..], framing, connection, &table).map_err(malformed)
        }
        ApiTable::LIST_OFFSETS => {
            list_offsets(version, &frame[body_at..], framing, connection, context).map_err(malformed)
        }
        ApiTable::SASL_HANDSHAKE => {
            let handshake = context.proof.handshake(&frame[body_at..], framing, connection);
            handshake.map_err(malformed)
        }
        ApiTable::SASL_AUTHENTICATE => {
            let (proof, body) = (context.proof, &frame[body_at..]);
            let authenticated = proof.authenticate(version, body, framing, connection, context.broker);
            authenticated.map_err(malformed)
        }
        ApiTable::METADATA => {
            let body = &frame[body_at..];
            if metadata(version, body, true, framing, connection, context).map_err(malformed)? {
                control(&header, body, Some(body.to_vec()), framing, connection, context);
            }
            Ok(())
        }
        _ => {
            control(&header, &frame[body_at..], None, framing, connection, context);
            Ok(())
        }
    }
}

/// Writes a whole response: size, header, and the body by `write`.
pub fn answer(connection: &mut Connection, framing: Framing, write: impl FnOnce(&mut Vec<u8>)) {
    let out = connection.answer_box().tail();
    let start = begin(out, framing);
    write(out);
    finish(out, start, 0);
}

/// Starts a response; returns where it starts.
pub fn begin(out: &mut Vec<u8>, framing: Framing) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; SIZE_BYTES]);
    write_response_header(out, framing.correlation_id, framing.is_flexible);
    start
}

/// Sets the size of the response that starts at `start`; `elsewhere` bytes of it are in files.
pub fn finish(out: &mut [u8], start: usize, elsewhere: usize) {
    let size = out.len() - start - SIZE_BYTES + elsewhere;
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    out[start..start + SIZE_BYTES].copy_from_slice(&size.to_be_bytes());
}

/// Ends a fetch response: sets the size, and cuts the buffer where file ranges go in between.
pub fn finish_with_files(outbox: &mut Outbox, start: usize, splices: Vec<Splice>) {
    let elsewhere = splices.iter().map(|s| s.slice.len).sum();
    let out = outbox.tail();
    finish(out, start, elsewhere);
    let Some(first) = splices.first() else { return };
    let cut = first.at;
    let rest = out.split_off(cut);
    let mut done = cut;
    for splice in splices {
        outbox.tail().extend_from_slice(&rest[done - cut..splice.at - cut]);
        done = splice.at;
        outbox.push_file(FileRange {
            file: splice.slice.file,
            position: splice.slice.position,
            len: splice.slice.len,
        });
    }
    outbox.tail().extend_from_slice(&rest[done - cut..]);
}

fn produce(
    version: i16,
    may_write_internal: bool,
    body: &mut [u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<Result<(), Refused>, WireError> {
    let listener = connection.client.listener.clone();
    let caller = Caller {
        listener: &listener,
        may_write_internal,
        is_broker: connection.client.is_broker,
    };
    let out = connection.answer_box().tail();
    let start = begin(out, framing);
    let now = (context.now_ms, context.now);
    context
        .broker
        .metrics
        .bytes_in
        .fetch_add(body.len() as u64, std::sync::atomic::Ordering::Relaxed);
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
    Ok(Ok(()))
}

fn fetch(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<(), WireError> {
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
        context.now,
        out,
    ) {
        Ok(FetchOutcome::Answered(splices)) => finish_with_files(outbox, start, splices),
        Ok(FetchOutcome::Parked(parked)) => {
            out.truncate(start);
            park_fetch(parked, framing, connection, context);
        }
        Err(e) => {
            out.truncate(start);
            return Err(e);
        }
    }
    Ok(())
}

fn park_fetch(parked: Box<ParkedFetch>, framing: Framing, connection: &mut Connection, context: &mut Context<'_>) {
    let number = context.operations.number();
    let waiter = (context.waiter)(number);
    parked.watch(&waiter);
    let mut answer = Outbox::default();
    if complete_fetch(
        &parked,
        framing,
        &connection.client.listener.clone(),
        false,
        context.broker,
        context.now,
        &mut answer,
    ) {
        parked.forget(&waiter);
        connection.answer_box().append(&mut answer);
        return;
    }
    let deadline = Some(parked.deadline);
    connection.wait_for(number, true);
    let operation = Operation {
        connection: connection.reference,
        framing,
        parked: Parked::Fetch(parked),
    };
    context.operations.park(number, operation, deadline);
}

/// Tries a parked fetch; the response is in `answer` if it is complete.
pub fn complete_fetch(
    parked: &ParkedFetch,
    framing: Framing,
    listener: &str,
    is_due: bool,
    broker: &Broker,
    now: Instant,
    answer: &mut Outbox,
) -> bool {
    let out = answer.tail();
    let start = begin(out, framing);
    if let Some(splices) = parked.try_complete(broker, listener, is_due, now, out) {
        finish_with_files(answer, start, splices);
        true
    } else {
        out.truncate(start);
        false
    }
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
        encode_api_versions_response(out, version, table, code, 0);
    });
    Ok(())
}

fn list_offsets(
    version: i16,
    body: &[u8],
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<(), WireError> {
    let out = connection.answer_box().tail();
    let start = begin(out, framing);
    match crate::broker::list_offsets(context.broker, version, body, out) {
        Ok(ListOffsetsOutcome::Answered) => finish(out, start, 0),
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
    Ok(())
}

/// Answers Metadata from the published image; true when it is the control plane's first.
pub fn metadata(
    version: i16,
    body: &[u8],
    may_hand_over: bool,
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) -> Result<bool, WireError> {
    let listener = connection.client.listener.clone();
    let out = connection.answer_box().tail();
    let start = begin(out, framing);
    let outcome = crate::broker::metadata(context.broker, version, &listener, body, may_hand_over, out);
    match outcome {
        Ok(MetadataOutcome::Answered) => finish(out, start, 0),
        other => {
            out.truncate(start);
            other?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Queues a request for the control plane; the connection waits for its answer.
fn control(
    header: &RequestHeader<'_>,
    body: &[u8],
    kept: Option<Vec<u8>>,
    framing: Framing,
    connection: &mut Connection,
    context: &mut Context<'_>,
) {
    let token = context.operations.number();
    connection.wait_for(token, true);
    let parked = Parked::Control {
        api_key: header.api_key,
        api_version: header.api_version,
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
    context
        .broker
        .metrics
        .control_requests
        .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    context.broker.events.push(Event::Request(ControlRequest {
        token,
        api_key: header.api_key,
        api_version: header.api_version,
        correlation_id: header.correlation_id,
        client_id: header.client_id.map(ToOwned::to_owned),
        client: connection.client.clone(),
        body: body.to_vec(),
    }));
}

#[cfg(test)]
mod tests;
