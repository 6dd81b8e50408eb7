//! Any message of the table in any version, as the control plane reads and writes it.

use protocol::WireError;
use protocol::codec::table::MESSAGES;
use protocol::codec::{Limits, ValueBuilder, decode, encode};

/// A message by its number, a version, and bytes. What was read is written and read again as the same, and no longer
/// than the bytes allow.
pub fn messages(data: &[u8]) {
    let [high, low, version, body @ ..] = data else { return };
    let message = &MESSAGES[usize::from(u16::from_be_bytes([*high, *low])) % MESSAGES.len()];
    let versions = message.versions.last - message.versions.first + 1;
    let Some(schema) = message.schema(message.versions.first + i16::from(*version) % versions) else {
        unreachable!("the table has all versions between the first and the last")
    };
    let read = |bytes: &[u8], limits| decode(schema, bytes, limits, &mut ValueBuilder { message });
    let Ok(value) = read(body, Limits::NONE) else { return };
    let rows = read(body, Limits::of_body(Some(body.len())));
    assert!(rows.is_ok() || rows == Err(WireError::TooManyElements));
    let Ok(written) = encode(schema, &value) else {
        unreachable!("{} was read and cannot be written", message.name)
    };
    // a string that is not UTF-8 becomes longer, and tags that are not known are dropped
    assert!(written.len() <= 3 * body.len());
    let Ok(again) = read(&written, Limits::NONE) else {
        unreachable!("{} was written and cannot be read", message.name)
    };
    assert!(format!("{value:?}") == format!("{again:?}"));
}
