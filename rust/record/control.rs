//! Control records: the transaction markers that coordinators write and consumers never see.
//!
//! ```text
//! key   := version i16 = 0, type i16          0 abort, 1 commit; others belong to the metadata quorum
//! value := version i16 = 0, coordinator_epoch i32
//! ```
//! A marker stands alone in a batch that is transactional and control, without sequence.

use super::{Batch, BatchBuilder, BatchError, Codec};
use base::place::{LeaderEpoch, Offset};

/// Most bytes of an inflated control batch: a marker takes some 20 bytes, a control record of the metadata quorum more,
/// and neither is compressed in practice.
const MAX_CONTROL_BYTES: usize = 64 * 1024;

/// The type of a control record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlType {
    /// The producer's open transaction is aborted.
    Abort,
    /// The producer's open transaction is committed.
    Commit,
    /// A type that this broker does not know; to be ignored.
    Other(i16),
}

impl ControlType {
    /// Reads a control record's key. Later versions of the key only add to it.
    pub fn parse_key(key: &[u8]) -> Result<Self, BatchError> {
        let &[version_high, _, high, low, ..] = key else {
            return Err(BatchError::InvalidControlRecord("the key has fewer than 4 bytes"));
        };
        if version_high & 0x80 != 0 {
            return Err(BatchError::InvalidControlRecord("the key's version is negative"));
        }
        Ok(match i16::from_be_bytes([high, low]) {
            0 => Self::Abort,
            1 => Self::Commit,
            other => Self::Other(other),
        })
    }

    /// The key of a control record of this type.
    pub const fn to_key(self) -> [u8; 4] {
        let id = match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::Other(id) => id,
        };
        let [high, low] = id.to_be_bytes();
        [0, 0, high, low]
    }
}

/// A control record, as far as producer state needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlRecord {
    /// Commit, abort or an unknown type.
    pub control_type: ControlType,
    /// Epoch of the transaction coordinator that wrote the marker; −1 for other types.
    pub coordinator_epoch: i32,
}

impl ControlRecord {
    /// Reads key and value of a control record.
    pub fn parse(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<Self, BatchError> {
        let control_type = ControlType::parse_key(key.unwrap_or_default())?;
        if matches!(control_type, ControlType::Other(_)) {
            return Ok(Self {
                control_type,
                coordinator_epoch: -1,
            });
        }
        let &[version_high, _, a, b, c, d, ..] = value.unwrap_or_default() else {
            return Err(BatchError::InvalidControlRecord(
                "the marker's value has fewer than 6 bytes",
            ));
        };
        if version_high & 0x80 != 0 {
            return Err(BatchError::InvalidControlRecord("the marker's version is negative"));
        }
        Ok(Self {
            control_type,
            coordinator_epoch: i32::from_be_bytes([a, b, c, d]),
        })
    }

    /// The control record of a batch: its first record. `None` for a batch that is not a control batch or is empty.
    pub fn of_batch(batch: &Batch<'_>) -> Result<Option<Self>, BatchError> {
        if !batch.header().is_control() {
            return Ok(None);
        }
        let mut scratch = Vec::new();
        batch
            .records(&mut scratch, MAX_CONTROL_BYTES)?
            .next()
            .map(|record| record.and_then(|it| Self::parse(it.key, it.value)))
            .transpose()
    }
}

/// A batch with one transaction marker; its offset and leader epoch are set by the append.
pub fn end_transaction_marker(
    commit: bool,
    producer_id: i64,
    producer_epoch: i16,
    coordinator_epoch: i32,
    timestamp: i64,
) -> Vec<u8> {
    let control_type = if commit {
        ControlType::Commit
    } else {
        ControlType::Abort
    };
    let [a, b, c, d] = coordinator_epoch.to_be_bytes();
    let mut builder = BatchBuilder::new(Codec::None)
        .producer(producer_id, producer_epoch, -1)
        .transactional(true)
        .control(true);
    builder.append(timestamp, Some(&control_type.to_key()), Some(&[0, 0, a, b, c, d]), &[]);
    builder.build(Offset(0), LeaderEpoch::NONE)
}
