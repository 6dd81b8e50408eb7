//! A response's frame around its body: size, header, and what of the body is not in the buffer.

use std::sync::Arc;

use crate::broker::Splice;
use crate::net::connection::Connection;
use crate::net::operations::Framing;
use crate::net::outbox::{FileRange, Outbox};
use crate::wire::write_response_header;

/// Bytes of a response's size prefix.
pub const SIZE_BYTES: usize = 4;

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

/// Ends a response whose body is shared with others.
pub fn finish_shared(outbox: &mut Outbox, start: usize, body: Arc<Vec<u8>>) {
    finish(outbox.tail(), start, body.len());
    outbox.push_shared(body);
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
