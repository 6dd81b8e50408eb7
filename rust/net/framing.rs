//! A response's frame around its body: size, header, and the parts of the body that are not in the buffer.

use super::outbox::{FileRange, Outbox};
use broker::{BodyTail, Served, Splice};
use protocol::{WireError, write_response_header};

/// Bytes of a response's size prefix.
pub const SIZE_BYTES: usize = 4;

/// How a response is framed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Framing {
    /// The client's correlation id.
    pub correlation_id: i32,
    /// Whether the response header has tagged fields.
    pub is_flexible: bool,
    /// Where the body has `throttle_time_ms`, when that can be set afterwards.
    pub throttle_at: Option<u8>,
}

/// Writes a whole response: size, header, and the body by `write`.
pub fn answer(outbox: &mut Outbox, framing: Framing, write: impl FnOnce(&mut Vec<u8>)) {
    let start = begin(outbox.tail(), framing);
    write(outbox.tail());
    finish(outbox.tail(), start, 0);
}

/// Has `write` append a response's body, and frames it. When `write` returns an error, the partial response is removed.
#[inline]
pub fn framed<T>(
    outbox: &mut Outbox,
    framing: Framing,
    write: impl FnOnce(&mut Vec<u8>) -> Result<BodyTail, T>,
) -> Result<(), T> {
    let out = outbox.tail();
    let start = begin(out, framing);
    match write(out) {
        Ok(BodyTail::Nothing) => finish(out, start, 0),
        Ok(BodyTail::Files(splices)) => finish_with_files(outbox, start, splices),
        Ok(BodyTail::Bytes(body)) => {
            finish(out, start, body.len());
            outbox.push_bytes(body);
        }
        Ok(BodyTail::Shared(body)) => {
            finish(out, start, body.len());
            outbox.push_shared(body);
        }
        Err(other) => {
            out.truncate(start);
            return Err(other);
        }
    }
    Ok(())
}

/// Has an API append the body of a response, and frames it. The error is what `serve` returned when there is no
/// response yet.
#[inline]
pub fn framed_answer(
    outbox: &mut Outbox,
    framing: Framing,
    serve: impl FnOnce(&mut Vec<u8>) -> Result<Served, WireError>,
) -> Result<(), Result<Served, WireError>> {
    framed(outbox, framing, |out| match serve(out) {
        Ok(Served::Answered(rest)) => Ok(rest),
        other => Err(other),
    })
}

/// Starts a response; returns where it starts.
fn begin(out: &mut Vec<u8>, framing: Framing) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; SIZE_BYTES]);
    write_response_header(out, framing.correlation_id, framing.is_flexible);
    start
}

/// Sets the size of the response that starts at `start`; `elsewhere` bytes of it are in files.
fn finish(out: &mut [u8], start: usize, elsewhere: usize) {
    let size = out.len() - start - SIZE_BYTES + elsewhere;
    let size = i32::try_from(size).unwrap_or(i32::MAX);
    out[start..start + SIZE_BYTES].copy_from_slice(&size.to_be_bytes());
}

/// Ends a fetch response: sets the size, and cuts the buffer where the file ranges belong.
fn finish_with_files(outbox: &mut Outbox, start: usize, splices: Vec<Splice>) {
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
            position: splice.slice.position.get(),
            len: splice.slice.len,
        });
    }
    outbox.tail().extend_from_slice(&rest[done - cut..]);
}
