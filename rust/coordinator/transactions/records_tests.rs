//! Records of `__transaction_state`, in both versions.

use std::sync::Arc;

use super::*;

fn value() -> Transaction {
    Transaction {
        producer_epoch: 3,
        state: TransactionState::Ongoing,
        partitions: BTreeSet::from([(Arc::from("a"), 1), (Arc::from("a"), 0), (Arc::from("b"), 2)]),
        start_ms: 900,
        last_update_ms: 1000,
        ..Transaction::new(7, 60_000, 0)
    }
}

fn read(bytes: &[u8]) -> Result<Transaction, WireError> {
    read_value(bytes, |name| name.into())
}

fn bytes(transaction: &Transaction) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_value(&mut bytes, transaction, 2);
    bytes
}

#[test]
fn value_is_read_as_it_was_written() {
    let mut one = value();
    assert_eq!(read(&bytes(&one)), Ok(one.clone()));
    one.previous_producer_id = 5;
    one.next_producer_id = 9;
    one.client_version = 2;
    assert_eq!(read(&bytes(&one)), Ok(one.clone()));
    one.state = TransactionState::Empty;
    one.partitions.clear();
    assert_eq!(read(&bytes(&one)), Ok(one));
}

#[test]
fn value_has_kafkas_bytes() {
    let mut one = value();
    one.client_version = 2;
    let expected: Vec<u8> = [
        &[0, 1][..],                              // version 1
        &7i64.to_be_bytes(),                      // producer id
        &3i16.to_be_bytes(),                      // epoch
        &60_000i32.to_be_bytes(),                 // timeout
        &[1],                                     // Ongoing
        &[3],                                     // two topics
        &[2, b'a', 3, 0, 0, 0, 0, 0, 0, 0, 1, 0], // a: 0, 1
        &[2, b'b', 2, 0, 0, 0, 2, 0],             // b: 2
        &1000i64.to_be_bytes(),
        &900i64.to_be_bytes(),
        &[1, 2, 2, 0, 2], // one tag: 2, of two bytes
    ]
    .concat();
    assert_eq!(bytes(&one), expected);
}

#[test]
fn value_of_version_0_is_read_and_written_at_level_0() {
    let old: Vec<u8> = [
        &[0, 0][..],
        &7i64.to_be_bytes(),
        &3i16.to_be_bytes(),
        &60_000i32.to_be_bytes(),
        &[4],
        &1i32.to_be_bytes(),
        &[0, 1, b'a'],
        &1i32.to_be_bytes(),
        &5i32.to_be_bytes(),
        &1000i64.to_be_bytes(),
        &900i64.to_be_bytes(),
    ]
    .concat();
    let read = read(&old).unwrap();
    assert_eq!(read.state, TransactionState::CompleteCommit);
    assert_eq!(read.partitions, BTreeSet::from([(Arc::from("a"), 5)]));
    assert_eq!((read.previous_producer_id, read.client_version), (NO_PRODUCER_ID, 0));
    let mut bytes = Vec::new();
    write_value(&mut bytes, &read, 0);
    assert_eq!(bytes, old);
}

#[test]
fn malformed_value_is_an_error() {
    let good = bytes(&value());
    for end in 0..good.len() {
        assert!(read(good.get(..end).unwrap()).is_err(), "{end} bytes");
    }
    let mut unknown_state = good.clone();
    unknown_state[16] = 9;
    assert_eq!(read(&unknown_state), Err(WireError::UnsupportedVersion));
    let mut later_version = good;
    later_version[1] = 2;
    assert_eq!(read(&later_version), Err(WireError::UnsupportedVersion));
}

#[test]
fn key_is_read_as_it_was_written() {
    let mut key = Vec::new();
    write_key(&mut key, "copier-1");
    assert_eq!(key, [&[0, 0, 0, 8][..], b"copier-1"].concat());
    assert_eq!(read_key(&key), Ok(Some("copier-1")));
    assert_eq!(read_key(&[0, 1, 0, 0]), Ok(None), "a key of another kind");
    assert!(read_key(&[0]).is_err());
}
