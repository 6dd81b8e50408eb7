use super::*;

fn lease(epoch: i32, isr: &[i32]) -> Lease {
    Lease {
        leader: 1,
        leader_epoch: epoch,
        partition_epoch: 0,
        replicas: Box::new([1, 2]),
        in_sync_replicas: isr.into(),
    }
}

// spec: R1.11 (KIP-320)
#[test]
fn a_client_with_another_epoch_is_told_which_side_is_old() {
    let code = |told: i32| lease(5, &[1]).check_epoch(told).err().map(|e| e.code());
    assert_eq!(code(-1), None);
    assert_eq!(code(5), None);
    assert_eq!(code(4), Some(ErrorCode::FENCED_LEADER_EPOCH));
    assert_eq!(code(6), Some(ErrorCode::UNKNOWN_LEADER_EPOCH));
}

#[test]
fn only_a_lone_in_sync_replica_commits_by_itself() {
    assert!(lease(0, &[1]).is_sole_in_sync(1));
    assert!(!lease(0, &[1, 2]).is_sole_in_sync(1));
    assert!(!lease(0, &[2]).is_sole_in_sync(1));
}
