//! The state files beside a log and in a log directory: checkpoints, leader epochs, ids, markers, producer snapshots.

use base::place::Offset;
use record::crc32c;
use storage::checkpoint::{decode_offsets, encode_offsets};
use storage::leader_epochs::{EpochEntry, decode_epochs, encode_epochs};
use storage::meta_properties::MetaProperties;
use storage::partition_metadata::PartitionMetadata;
use storage::producer_state::snapshot;
use storage::{EpochCache, TopicPartition, clean_shutdown};

/// Bytes of a snapshot before the part that its CRC covers.
const CRC_END: usize = 6;

/// Which file, and its bytes.
pub fn checkpoints(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    if kind % 7 == 0 {
        return producer_snapshot(bytes);
    }
    if let Some(epoch) = clean_shutdown::decode(bytes) {
        assert_eq!(
            clean_shutdown::decode(clean_shutdown::encode(epoch, None).as_bytes()),
            Some(epoch)
        );
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match kind % 7 {
        1 => {
            if let Ok(offsets) = decode_offsets(text) {
                assert_eq!(decode_offsets(&encode_offsets(&offsets)).as_ref(), Ok(&offsets));
            }
        }
        2 => epochs(text),
        3 => {
            if let Ok(metadata) = PartitionMetadata::decode(text) {
                assert_eq!(PartitionMetadata::decode(&metadata.encode()), Ok(metadata));
            }
        }
        4 => {
            if let Ok(properties) = MetaProperties::decode(text)
                && let (Some(_), Some(_)) = (&properties.cluster_id, properties.node_id)
            {
                assert_eq!(MetaProperties::decode(&properties.encode(0)), Ok(properties));
            }
        }
        5 => folder_name(text),
        _ => {}
    }
}

fn epochs(text: &str) {
    let Ok(entries) = decode_epochs(text) else { return };
    assert_eq!(decode_epochs(&encode_epochs(&entries)).as_ref(), Ok(&entries));
    let mut cache = EpochCache::default();
    for entry in &entries {
        cache.assign(entry.epoch, entry.start_offset);
    }
    let kept = cache.entries().to_vec();
    let ascends = |pair: &[EpochEntry]| pair[0].epoch < pair[1].epoch && pair[0].start_offset < pair[1].start_offset;
    assert!(kept.windows(2).all(ascends), "{kept:?}");
    let end = Offset::MAX;
    for entry in &kept {
        assert_eq!(cache.epoch_for_offset(entry.start_offset), Some(entry.epoch));
        let found = cache.end_offset_for(entry.epoch, end);
        let next = kept.iter().find(|next| next.epoch > entry.epoch);
        assert_eq!(found, Some((entry.epoch, next.map_or(end, |next| next.start_offset))));
    }
    let Some(middle) = kept.get(kept.len() / 2) else { return };
    cache.truncate_from_end(middle.start_offset);
    assert!(
        cache
            .entries()
            .iter()
            .all(|entry| entry.start_offset < middle.start_offset)
    );
}

/// A folder's name that is a partition's gives the name again.
fn folder_name(text: &str) {
    let Some((partition, kind)) = TopicPartition::parse_dir_name(text) else {
        return;
    };
    assert!(!partition.topic.contains(['/', '\0']) && &*partition.topic != ".." && partition.partition >= 0);
    if let Some(unique) = TopicPartition::unique_of(text) {
        let name = partition.dir_name(kind, unique);
        assert_eq!(TopicPartition::parse_dir_name(&name).map(|(_, kind)| kind), Some(kind));
    }
}

/// The first byte says whether the snapshot gets its checksum here.
fn producer_snapshot(bytes: &[u8]) {
    let Some((is_sealed, bytes)) = bytes.split_first() else {
        return;
    };
    let mut bytes = bytes.to_vec();
    if is_sealed % 4 > 0 && bytes.len() >= CRC_END {
        let crc = crc32c(&bytes[CRC_END..]);
        bytes[..2].copy_from_slice(&1_i16.to_be_bytes());
        bytes[2..CRC_END].copy_from_slice(&crc.to_be_bytes());
    }
    let Ok(producers) = snapshot::decode(&bytes) else {
        return;
    };
    assert!(producers.len() * 46 <= bytes.len());
    let written = snapshot::encode(producers.iter().map(|(id, entry)| (*id, entry)));
    assert_eq!(snapshot::decode(&written).as_ref(), Ok(&producers));
}
