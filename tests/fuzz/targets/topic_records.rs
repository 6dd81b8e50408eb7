//! The records of `__consumer_offsets` and `__transaction_state`, which a coordinator loads.

use std::sync::Arc;

use coordinator::records::{Key, read_key, read_offset_value, write_offset_key, write_offset_value};
use coordinator::transactions::records as transactions;

/// A kind, and the bytes of a key or a value.
pub fn topic_records(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else {
        return;
    };
    let mut written = Vec::new();
    match kind % 4 {
        0 => {
            if let Ok(key @ Key::Offset { group_id, topic, index }) = read_key(bytes) {
                write_offset_key(&mut written, group_id, topic, index);
                assert_eq!(read_key(&written), Ok(key));
            }
        }
        1 => {
            if let Ok(value) = read_offset_value(bytes) {
                write_offset_value(&mut written, &value);
                let mut expected = value;
                if value.expire_ms != coordinator::records::NO_TIMESTAMP {
                    // the only version with an expiry time has neither of these
                    (expected.leader_epoch, expected.topic_id) = (-1, None);
                }
                assert_eq!(read_offset_value(&written), Ok(expected));
            }
        }
        2 => {
            if let Ok(Some(id)) = transactions::read_key(bytes) {
                transactions::write_key(&mut written, id);
                assert_eq!(transactions::read_key(&written), Ok(Some(id)));
            }
        }
        _ => {
            let read = |bytes: &[u8]| transactions::read_value(bytes, |name| Arc::from(name));
            if let Ok(mut value) = read(bytes) {
                assert!(value.partitions.len() * 4 <= bytes.len());
                transactions::write_value(&mut written, &value, 2);
                if value.state == coordinator::transactions::TransactionState::Empty {
                    value.partitions.clear();
                }
                assert_eq!(read(&written), Ok(value));
            }
        }
    }
}
