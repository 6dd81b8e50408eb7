"""Placement of replicas."""

from __future__ import annotations

from collections import Counter

import pytest

from kafkastore.errors import InvalidReplicationFactorError
from kafkastore.topic.placement import next_place, place_replicas


def test_partition_i_prefers_broker_i_mod_n() -> None:
    placed = place_replicas(dict.fromkeys([3, 1, 2]), 6, 1)
    assert placed == [(1,), (2,), (3,), (1,), (2,), (3,)]


def test_followers_of_one_leader_are_spread_over_all_others() -> None:
    placed = place_replicas(dict.fromkeys(range(4)), 12, 2)
    followers = Counter(replicas[1] for replicas in placed if replicas[0] == 0)
    assert followers == {1: 1, 2: 1, 3: 1}


def test_replicas_are_on_different_racks_while_there_are_enough() -> None:
    racks = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
    for replicas in place_replicas(racks, 30, 3):
        assert {racks[replica] for replica in replicas} == {"a", "b", "c"}


def test_new_partitions_go_on_where_the_old_ones_ended() -> None:
    brokers = dict.fromkeys(range(3))
    assert place_replicas(brokers, 9, 2)[4:] == place_replicas(brokers, 5, 2, first_partition=4)


@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize("racks", [dict.fromkeys([7, 8, 9]), {7: "a", 8: "a", 9: "b"}])
def test_partitions_that_are_added_go_on_after_the_topics_last_one(first: int, racks: dict[int, str | None]) -> None:
    """Whichever broker partition 0 prefers."""
    whole = place_replicas(racks, 9, 2, first)
    assert place_replicas(racks, 5, 2, next_place(racks, whole[0][0], 4)) == whole[4:]


def test_partitions_are_added_when_the_preferred_broker_of_partition_0_is_gone() -> None:
    assert next_place({1: None, 2: None}, 3, 5) == 5
    assert next_place({1: None}, 3, 5) == 5


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(InvalidReplicationFactorError, match="only 2 broker"):
        place_replicas({1: None, 2: None}, 1, 3)


@pytest.mark.parametrize("count", range(1, 8))
@pytest.mark.parametrize("partitions", [1, 2, 7, 40])
def test_placement_is_balanced_and_without_duplicates(count: int, partitions: int) -> None:
    brokers = set(range(10, 10 + 3 * count, 3))
    for factor in range(1, count + 1):
        check_placement(brokers, partitions, factor)


def check_placement(brokers: set[int], partitions: int, factor: int) -> None:
    placed = place_replicas(dict.fromkeys(brokers), partitions, factor)
    assert len(placed) == partitions
    assert all(len(set(replicas)) == factor and set(replicas) <= brokers for replicas in placed)
    leaders = Counter(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders[broker] for broker in brokers) <= 1
