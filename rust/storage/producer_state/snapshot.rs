//! The bytes of a `.snapshot` file: the producers of a partition at one offset, the offset being the file's name.
//!
//! ```text
//! file  := version i16 = 1, crc u32, count i32, entry*      crc: CRC-32C of everything after it
//! entry := producer_id i64, producer_epoch i16, last_sequence i32, last_offset i64, offset_delta i32, timestamp i64,
//!          coordinator_epoch i32, current_txn_first_offset i64
//! ```
//! All integers are big-endian; −1 stands for none. A producer has one entry for each of its last five batches, the
//! oldest first: a client repeats any of five batches whose response it missed, and a restarted broker must know them
//! all. Kafka writes the last batch only; it reads entries in order, and a producer's last entry replaces the earlier
//! ones. So each broker can read the other's file. This module encodes and decodes bytes and touches no file.

use super::entry::{BatchMetadata, ProducerEntry};
use base::place::Offset;
use record::crc32c;

const VERSION: i16 = 1;
/// Bytes before the part that the CRC covers: version and CRC.
const CRC_END: usize = 6;
/// Version, CRC and count.
const HEADER: usize = 10;
/// Bytes of one producer.
const ENTRY: usize = 46;

/// Why a snapshot cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The file ends early or goes on after its entries.
    #[error("the length is not that of its entries")]
    Length,
    /// Not version 1.
    #[error("unknown version {0}")]
    Version(i16),
    /// The checksum does not hold.
    #[error("stored crc {stored} is not that of the bytes, {computed}")]
    Crc {
        /// From the file.
        stored: u32,
        /// Of the bytes.
        computed: u32,
    },
}

/// The file's bytes, producers in the order given.
pub fn encode<'a>(producers: impl ExactSizeIterator<Item = (i64, &'a ProducerEntry)>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + producers.len() * ENTRY);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&[0; 8]);
    for (producer_id, entry) in producers {
        match entry.batches.as_slice().split_last() {
            None => encode_entry(
                &mut bytes,
                producer_id,
                entry,
                &BatchMetadata::NONE,
                entry.last_timestamp,
            ),
            Some((last, earlier)) => {
                for batch in earlier {
                    encode_entry(&mut bytes, producer_id, entry, batch, batch.timestamp);
                }
                // A marker may have come after the last batch.
                encode_entry(&mut bytes, producer_id, entry, last, entry.last_timestamp);
            }
        }
    }
    let count = (bytes.len() - HEADER) / ENTRY;
    bytes[CRC_END..HEADER].copy_from_slice(&(count as i32).to_be_bytes());
    let crc = crc32c(&bytes[CRC_END..]);
    bytes[2..CRC_END].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn encode_entry(bytes: &mut Vec<u8>, producer_id: i64, entry: &ProducerEntry, batch: &BatchMetadata, timestamp: i64) {
    bytes.extend_from_slice(&producer_id.to_be_bytes());
    bytes.extend_from_slice(&entry.producer_epoch.to_be_bytes());
    bytes.extend_from_slice(&batch.last_sequence.to_be_bytes());
    bytes.extend_from_slice(&batch.last_offset.get().to_be_bytes());
    bytes.extend_from_slice(&batch.offset_delta.to_be_bytes());
    bytes.extend_from_slice(&timestamp.to_be_bytes());
    bytes.extend_from_slice(&entry.coordinator_epoch.to_be_bytes());
    bytes.extend_from_slice(
        &entry
            .current_txn_first_offset
            .unwrap_or(Offset::NONE)
            .get()
            .to_be_bytes(),
    );
}

/// Reads a file's bytes and returns each producer once. Allocates no more than the bytes hold, whatever count they
/// declare.
pub fn decode(bytes: &[u8]) -> Result<Vec<(i64, ProducerEntry)>, SnapshotError> {
    let (head, mut rest) = bytes.split_first_chunk::<HEADER>().ok_or(SnapshotError::Length)?;
    let [v0, v1, c0, c1, c2, c3, n0, n1, n2, n3] = *head;
    let version = i16::from_be_bytes([v0, v1]);
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let stored = u32::from_be_bytes([c0, c1, c2, c3]);
    let computed = crc32c(&bytes[CRC_END..]);
    if stored != computed {
        return Err(SnapshotError::Crc { stored, computed });
    }
    let count = usize::try_from(i32::from_be_bytes([n0, n1, n2, n3])).map_err(|_| SnapshotError::Length)?;
    if count.checked_mul(ENTRY) != Some(rest.len()) {
        return Err(SnapshotError::Length);
    }
    let mut producers: Vec<(i64, ProducerEntry)> = Vec::with_capacity(count);
    while let Some((entry, after)) = rest.split_first_chunk::<ENTRY>() {
        let (producer_id, entry) = decode_entry(entry);
        match producers.last_mut() {
            Some((last_id, last)) if *last_id == producer_id => *last = entry.after(last),
            _ => producers.push((producer_id, entry)),
        }
        rest = after;
    }
    Ok(producers)
}

fn decode_entry(bytes: &[u8; ENTRY]) -> (i64, ProducerEntry) {
    let producer_id = i64::from_be_bytes(field(bytes, 0));
    let last_offset = Offset(i64::from_be_bytes(field(bytes, 14)));
    let last_timestamp = i64::from_be_bytes(field(bytes, 26));
    let txn_first_offset = Offset(i64::from_be_bytes(field(bytes, 38)));
    let mut entry = ProducerEntry {
        producer_epoch: i16::from_be_bytes(field(bytes, 8)),
        coordinator_epoch: i32::from_be_bytes(field(bytes, 34)),
        last_timestamp,
        current_txn_first_offset: txn_first_offset.is_some().then_some(txn_first_offset),
        ..ProducerEntry::EMPTY
    };
    if last_offset.is_some() {
        entry.batches.push(BatchMetadata {
            last_sequence: i32::from_be_bytes(field(bytes, 10)),
            last_offset,
            offset_delta: i32::from_be_bytes(field(bytes, 22)),
            timestamp: last_timestamp,
        });
    }
    (producer_id, entry)
}

fn field<const N: usize>(entry: &[u8; ENTRY], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&entry[at..at + N]);
    out
}
