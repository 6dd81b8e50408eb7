//! What serializers put before a value: a 0 byte and the id of its schema.
//!
//! ```text
//! confluent := 0 id:i32 value                  value of Protocol Buffers := indexes message
//! apicurio  := 0 globalId:i64 value            indexes := count:zigzag index:zigzag*
//! ```
//!
//! Source: Confluent's "Wire format" and Apicurio's `DefaultIdHandler`.

use super::spec::{ValueFormat, ValueFraming, ValueSpec};

/// Indexes before a message at most: messages are not nested deeper.
const MAX_INDEXES: u64 = 64;

/// Takes frames off values.
#[derive(Debug)]
pub(super) struct Frames {
    framing: ValueFraming,
    has_indexes: bool,
}

impl Frames {
    pub(super) fn of(spec: &ValueSpec) -> Self {
        Self {
            framing: spec.framing,
            has_indexes: spec.framing == ValueFraming::Confluent && spec.format == ValueFormat::Protobuf,
        }
    }

    /// The schema's id, if there is a frame, and what follows the frame.
    #[inline]
    pub(super) fn split<'a>(&self, value: &'a [u8]) -> Result<(Option<u64>, &'a [u8]), &'static str> {
        let (id, payload) = match self.framing {
            ValueFraming::None => return Ok((None, value)),
            ValueFraming::Confluent => {
                let (head, payload) = value
                    .split_first_chunk::<5>()
                    .ok_or("it is too short for a schema's id")?;
                let [magic, id @ ..] = head;
                check(*magic)?;
                (u64::from(u32::from_be_bytes(*id)), payload)
            }
            ValueFraming::Apicurio => {
                let (head, payload) = value
                    .split_first_chunk::<9>()
                    .ok_or("it is too short for a schema's id")?;
                let [magic, id @ ..] = head;
                check(*magic)?;
                (u64::from_be_bytes(*id), payload)
            }
        };
        let payload = if self.has_indexes {
            after_indexes(payload)?
        } else {
            payload
        };
        Ok((Some(id), payload))
    }
}

fn check(magic: u8) -> Result<(), &'static str> {
    if magic == 0 {
        return Ok(());
    }
    Err("it does not begin with the 0 byte that stands before a schema's id")
}

/// Goes past the indexes of a message within its file; a single 0 stands for the first message.
fn after_indexes(mut payload: &[u8]) -> Result<&[u8], &'static str> {
    const WRONG: &str = "the indexes of its message are wrong";
    let mut number = || {
        let mut number = 0u64;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = payload.split_first()?;
            payload = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    };
    let count = number().ok_or(WRONG)?;
    // zigzag: an odd number is negative
    if count % 2 == 1 || count / 2 > MAX_INDEXES {
        return Err(WRONG);
    }
    for _ in 0..count / 2 {
        number().ok_or(WRONG)?;
    }
    Ok(payload)
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
