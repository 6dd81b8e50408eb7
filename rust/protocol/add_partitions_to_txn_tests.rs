use super::*;

fn batch(transactions: usize, partitions: usize) -> Vec<u8> {
    let one = AskedTransaction {
        transactional_id: "tx",
        producer_id: 5,
        producer_epoch: 2,
        verify_only: true,
        topics: vec![("t", vec![0; partitions])],
    };
    let mut out = Vec::new();
    encode_add_partitions_to_txn_request(&mut out, &vec![one; transactions]);
    out
}

#[test]
fn request_of_another_version_is_refused() {
    let body = batch(1, 1);
    for version in [-1, MAX_VERSION + 1] {
        let decoded = AddPartitionsToTxnRequest::decode(version, &body);
        assert_eq!(decoded, Err(WireError::UnsupportedVersion));
    }
}

#[test]
fn request_before_version_4_is_one_transaction_that_is_not_only_verified() {
    let body = b"\0\x02tx\0\0\0\0\0\0\0\x05\0\x02\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07";
    for version in 0..3 {
        let request = AddPartitionsToTxnRequest::decode(version, body).unwrap();
        let expected = TransactionToAdd {
            transactional_id: "tx",
            producer_id: 5,
            producer_epoch: 2,
            verify_only: false,
            topics: vec![NamedPartitions {
                topic: "t",
                partitions: vec![7],
            }],
        };
        assert_eq!(request.transactions, [expected], "version {version}");
    }
}

#[test]
fn request_with_more_partitions_than_the_limit_in_all_transactions_is_refused() {
    let body = batch(2, MAX_ROWS / 2);
    let request = AddPartitionsToTxnRequest::decode(5, &body).unwrap();
    assert_eq!(request.transactions.len(), 2);
    let body = batch(2, MAX_ROWS / 2 + 1);
    let decoded = AddPartitionsToTxnRequest::decode(5, &body);
    assert_eq!(decoded, Err(WireError::TooManyElements));
    let body = batch(MAX_ROWS + 1, 0);
    let decoded = AddPartitionsToTxnRequest::decode(5, &body);
    assert_eq!(decoded, Err(WireError::TooManyElements));
}
