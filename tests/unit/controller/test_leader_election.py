"""The rules of elections, of the in-sync set and of the eligible one (docs/internals/cluster.md, KIP-966)."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkastore.controller import leader_election as rules
from kafkastore.controller.states import (
    PARTITION_MOVES,
    REPLICA_MOVES,
    PartitionStatus,
    ReplicaState,
    check_partition_move,
    check_replica_move,
)
from kafkastore.metadata.leadership import Leadership, decode_leadership, encode_leadership

ABC = (1, 2, 3)


def lost(
    state: Leadership, gone: Collection[int], usable: Collection[int], min_isr: int = 2, *, unclean: bool = False
) -> Leadership | None:
    return rules.after_loss(state, ABC, usable, gone, min_isr, is_unclean_allowed=unclean)


def test_new_partition_is_led_by_the_first_replica_that_is_there() -> None:
    assert rules.elect_first(ABC, {2, 3}) == Leadership(2, 0, (2, 3))
    assert rules.elect_first(ABC, {4}) is None


def test_dead_leader_is_followed_by_the_first_in_sync_replica_under_the_next_epoch() -> None:
    assert lost(Leadership(1, 5, (1, 3, 2)), {1}, {2, 3}) == Leadership(2, 6, (3, 2))


def test_dead_follower_leaves_the_isr_and_the_leader_epoch_stays() -> None:
    assert lost(Leadership(1, 5, ABC), {3}, {1, 2}) == Leadership(1, 5, (1, 2))


def test_replica_that_is_not_in_sync_does_not_lead() -> None:  # H6
    state = Leadership(1, 5, (1,))
    assert lost(state, {1}, {2, 3}, min_isr=1) == Leadership(-1, 6, (1,))


def test_last_member_stays_in_the_isr_and_leads_when_it_is_back() -> None:
    offline = Leadership(-1, 6, (1,))
    assert lost(offline, {1}, {2, 3}, min_isr=1) is None
    assert lost(offline, (), ABC, min_isr=1) == Leadership(1, 7, (1,))


def test_isr_that_is_gone_at_once_stays_whole_and_any_of_it_leads() -> None:
    offline = lost(Leadership(1, 5, (1, 2)), {1, 2}, {3}, min_isr=1)
    assert offline == Leadership(-1, 6, (1, 2))
    assert lost(offline, {1}, {2, 3}, min_isr=1) == Leadership(2, 7, (2,))


def test_unclean_election_takes_any_replica_only_where_allowed_and_says_so() -> None:  # H6, KIP-704
    state = Leadership(1, 5, (1,), elr=(), is_recovering=False)
    assert lost(state, {1}, {3}, min_isr=1, unclean=True) == Leadership(3, 6, (3,), is_recovering=True)


def test_member_that_leaves_an_isr_below_the_minimum_stays_eligible_and_may_lead() -> None:  # KIP-966, H7
    state = Leadership(2, 4, (2, 1))  # 3 left earlier, when two in-sync replicas were enough
    alone = rules.with_isr(state, (2,), ABC, 2, is_recovering=False)
    assert alone == Leadership(2, 4, (2,), elr=(1,))
    assert lost(alone, {2}, {1, 3}) == Leadership(1, 5, (1,), elr=(2,))


def test_isr_at_the_minimum_has_no_elr() -> None:  # KIP-966
    state = Leadership(1, 4, (1,), elr=(2, 3))
    assert rules.with_isr(state, (1, 3), ABC, 2, is_recovering=False) == Leadership(1, 4, (1, 3))


def test_eligible_replicas_are_trusted_no_more_after_the_minimum_was_lowered() -> None:  # KIP-966, H6
    """With a minimum of 1 the isr of one commits records that neither eligible replica has."""
    state = Leadership(1, 4, (1,), elr=(2, 3))
    assert lost(state, {1}, {2, 3}, min_isr=2) == Leadership(2, 5, (2,), elr=(1, 3))
    assert lost(state, {1}, {2, 3}, min_isr=1) == Leadership(-1, 5, (1,))
    assert lost(state, (), ABC, min_isr=1) == Leadership(1, 4, (1,))


def test_minimum_is_at_most_the_number_of_replicas() -> None:  # KIP-966
    assert rules.with_isr(Leadership(1, 0, (1, 2), (3,)), ABC, ABC, 5, is_recovering=False).elr == ()


def test_unclean_restart_leaves_both_sets_while_another_member_is_left() -> None:  # H7, H8, KIP-966
    assert rules.after_unclean_restart(Leadership(1, 4, ABC), 3, ABC) == Leadership(1, 4, (1, 2))
    assert rules.after_unclean_restart(Leadership(1, 4, (1,), (2,)), 2, ABC) == Leadership(1, 4, (1,))
    assert rules.after_unclean_restart(Leadership(-1, 4, (2,), (1,)), 2, ABC) == Leadership(-1, 4, (), (1,))
    assert rules.after_unclean_restart(Leadership(1, 4, (1, 2)), 3, ABC) is None


def test_isr_that_is_empty_waits_for_the_eligible() -> None:  # H7: the lossy replica is not elected from its own word
    state = Leadership(-1, 5, (), (1,))
    assert lost(state, {1}, {2, 3}) is None
    assert lost(state, (), ABC) == Leadership(1, 6, (1,))


def test_last_member_that_restarts_uncleanly_stays_and_leads_under_a_new_epoch() -> None:
    state = rules.after_unclean_restart(Leadership(2, 4, (2,)), 2, ABC)
    assert state == Leadership(-1, 5, (2,))
    assert lost(state, (), ABC, min_isr=1) == Leadership(2, 6, (2,))


def restarted(state: Leadership, broker: int, log_end: int) -> Leadership:
    """The state after an unclean restart of the broker while the partition has no leader."""
    return rules.after_unclean_restart(state, broker, ABC, log_end, is_led=False) or state


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_longest_log_leads_when_all_restarted_uncleanly(order: tuple[int, int]) -> None:  # H7, KIP-966
    """Leader 1 stood alone and lost its log's tail; eligible replica 2 was killed and has all records. The order in
    which they come back does not matter."""
    state = Leadership(-1, 5, (1,), (2,))
    for broker in order:
        state = restarted(state, broker, {1: 70, 2: 100}[broker])
        if broker == order[0]:
            assert lost(state, {3, order[1]}, {broker}) is None
    assert (state.isr, state.elr) == ((2,), ())
    elected = lost(state, {3}, {1, 2})
    assert elected == Leadership(2, 6, (2,))
    assert elected.restarted == ()


def test_log_that_became_shorter_again_counts_as_it_is_now() -> None:
    state = restarted(Leadership(-1, 5, (1,), (2,)), 2, 100)
    state = restarted(state, 2, 60)
    assert restarted(state, 1, 70).isr == (1,)


def test_what_is_left_of_a_log_does_not_count_while_another_broker_leads() -> None:
    state = rules.after_unclean_restart(Leadership(1, 4, (1, 2)), 2, ABC, 100)
    assert state == Leadership(1, 4, (1,))
    assert restarted(state, 1, 70).isr == (1,)


def test_preferred_election_needs_the_preferred_replica_in_sync() -> None:
    assert rules.elect_preferred(Leadership(2, 4, (1, 2)), ABC, set(ABC)) == Leadership(1, 5, (1, 2))
    assert rules.elect_preferred(Leadership(2, 4, (2, 3)), ABC, set(ABC)) is None
    assert rules.elect_preferred(Leadership(2, 4, (1, 2)), ABC, {2, 3}) is None
    assert rules.elect_preferred(Leadership(1, 4, (1, 2)), ABC, set(ABC)) is None


def test_broker_that_shuts_down_hands_over_and_leaves_the_isr() -> None:  # KIP-841
    assert rules.leave_for_shutdown(Leadership(1, 4, ABC), ABC, 1, {2, 3}, 2) == Leadership(2, 5, (2, 3))
    assert rules.leave_for_shutdown(Leadership(2, 4, ABC), ABC, 1, {2, 3}, 2) == Leadership(2, 4, (2, 3))
    assert rules.leave_for_shutdown(Leadership(2, 4, (1, 2)), ABC, 1, {2}, 2) == Leadership(2, 4, (2,), (1,))


def test_broker_that_shuts_down_leads_on_while_no_other_replica_can() -> None:
    assert rules.leave_for_shutdown(Leadership(1, 4, (1,)), ABC, 1, {2, 3}, 1) is None
    assert rules.leave_for_shutdown(Leadership(1, 4, (1, 2)), ABC, 1, {3}, 1) is None
    assert rules.leave_for_shutdown(Leadership(2, 4, (2,)), ABC, 1, {2, 3}, 1) is None


def test_reassignment_elects_a_target_and_raises_the_epoch_in_any_case() -> None:
    state = Leadership(1, 4, (1, 2, 3))
    assert rules.elect_reassigned(state, (2, 3), {2, 3}) == Leadership(2, 5, (1, 2, 3))
    assert rules.elect_reassigned(state, (1, 3), {1, 3}) == Leadership(1, 5, (1, 2, 3))
    assert rules.elect_reassigned(state, (4,), {4}) is None


def test_replicas_with_the_only_committed_records_are_not_dropped() -> None:  # KIP-966
    nobody_in_sync = Leadership(-1, 5, (), (1, 2))
    assert rules.drop_replicas(nobody_in_sync, (3,), {3}, 1) is None
    assert rules.drop_replicas(nobody_in_sync, (2, 3), {3}, 2) == Leadership(-1, 6, (), (2,))
    assert rules.drop_replicas(Leadership(1, 5, (1, 2)), (2, 3), {2, 3}, 2) is None
    assert rules.drop_replicas(Leadership(1, 5, (1,)), (2, 3), {2, 3}, 1) is None
    assert rules.drop_replicas(Leadership(1, 5, ABC), (2, 3), {2, 3}, 2) == Leadership(2, 6, (2, 3))


STATES = st.builds(
    lambda isr, elr, leader: Leadership(
        leader if leader in isr else -1, 5, tuple(isr), tuple(sorted(set(elr) - set(isr)))
    ),
    st.lists(st.sampled_from(ABC), min_size=1, unique=True),
    st.lists(st.sampled_from(ABC), unique=True),
    st.sampled_from((-1, *ABC)),
)


@given(STATES, st.sets(st.sampled_from(ABC)), st.integers(1, 4))
def test_loss_never_elects_from_outside_and_never_empties_both_sets(
    state: Leadership, gone: set[int], min_isr: int
) -> None:
    usable = set(ABC) - gone
    after = lost(state, gone, usable, min_isr) or state
    assert after.leader == -1 or after.leader in usable & ({*state.isr, *state.elr})
    assert after.leader == -1 or (after.leader in after.isr and set(after.isr) <= usable)
    assert after.isr or after.elr
    assert {*after.isr, *after.elr} <= {*state.isr, *state.elr}
    assert not set(after.isr) & set(after.elr)
    assert after.leader_epoch == state.leader_epoch + (after.leader != state.leader)


@given(STATES, st.sampled_from(ABC))
def test_unclean_broker_never_leads_while_a_replica_with_more_records_may_return(
    state: Leadership, broker: int
) -> None:  # H7, H8
    after = rules.after_unclean_restart(state, broker, ABC) or state
    others = {*state.isr, *state.elr} - {broker}
    assert (broker in {*after.isr, *after.elr}) == (not others)
    assert after.leader != broker


@pytest.mark.parametrize(
    "state",
    [
        Leadership(1, 4, (1, 2)),
        Leadership(-1, 4, (1,), (2, 3), True),
        Leadership(-1, 4, (), (1,), restarted=((2, 100), (3, 0))),
    ],
    ids=str,
)
def test_state_is_kafkas_json_with_the_elr_when_there_is_one(state: Leadership) -> None:
    data = encode_leadership(state, 9)
    assert decode_leadership(data, 7) == state._replace(partition_epoch=7, controller_epoch=9)
    assert (b"elr" in data, b"leader_recovery_state" in data) == (bool(state.elr), state.is_recovering)


def test_only_the_moves_of_the_tables_are_legal() -> None:
    replicas = {(a, b) for a in ReplicaState for b in ReplicaState if b in REPLICA_MOVES[a]}
    assert len(replicas) == 14
    check_replica_move(ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED)
    with pytest.raises(AssertionError, match="from Online to DeletionStarted"):
        check_replica_move(ReplicaState.ONLINE, ReplicaState.DELETION_STARTED)
    assert all(PARTITION_MOVES[status] for status in PartitionStatus)
    with pytest.raises(AssertionError, match="from Online to NonExistent"):
        check_partition_move(PartitionStatus.ONLINE, PartitionStatus.NON_EXISTENT)
