use super::*;

fn lease(epoch: i32, isr: &[i32]) -> Lease {
    Lease {
        leader: 1,
        leader_epoch: LeaderEpoch(epoch),
        partition_epoch: 0,
        replicas: Box::new([1, 2]),
        in_sync_replicas: isr.into(),
    }
}

// KIP-320
#[test]
fn a_client_with_another_epoch_gets_fenced_or_unknown_leader_epoch() {
    let code = |told: i32| lease(5, &[1]).check_epoch(LeaderEpoch(told)).err().map(|e| e.code());
    assert_eq!(code(-1), None);
    assert_eq!(code(5), None);
    assert_eq!(code(4), Some(ErrorCode::FENCED_LEADER_EPOCH));
    assert_eq!(code(6), Some(ErrorCode::UNKNOWN_LEADER_EPOCH));
}

#[test]
fn an_assigned_broker_follows_the_leader() {
    assert_eq!(lease(4, &[1]).source_for(2), Some((1, LeaderEpoch(4))));
    assert_eq!(lease(4, &[1]).source_for(1), None, "it leads");
    assert_eq!(lease(4, &[1]).source_for(3), None, "it is not assigned");
    let offline = Lease {
        leader: -1,
        ..lease(4, &[1])
    };
    assert_eq!(offline.source_for(2), None, "nobody leads");
}
