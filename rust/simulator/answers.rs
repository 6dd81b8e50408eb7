//! The parts of a response that a network loop sends from files and shared memory, as bytes.

use pyo3::prelude::*;

use broker::{BodyTail, Splice};

/// Adds the parts of a response body that are not in the buffer.
pub(super) fn fill_in(out: &mut Vec<u8>, rest: BodyTail) -> PyResult<()> {
    match rest {
        BodyTail::Nothing => {}
        BodyTail::Files(splices) => splice(out, &splices)?,
        BodyTail::Bytes(bytes) => out.extend_from_slice(&bytes),
        BodyTail::Shared(bytes) => out.extend_from_slice(&bytes),
    }
    Ok(())
}

/// Puts the bytes of files where they belong, the last first.
fn splice(out: &mut Vec<u8>, splices: &[Splice]) -> PyResult<()> {
    for one in splices.iter().rev() {
        let mut bytes = vec![0; one.slice.len];
        one.slice.file.read_exact_at(&mut bytes, one.slice.position.get())?;
        out.splice(one.at..one.at, bytes);
    }
    Ok(())
}
