"""Where the replicas of some topics are to be: on some brokers alone, more or fewer."""

from __future__ import annotations

import pytest

from kafkastore.admin.admin_client import AdminError
from kafkastore.admin.topic_moves import plan_topics

A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)
FLAT = dict.fromkeys((1, 2, 3))


def test_nothing_moves_where_all_is_as_it_is_to_be() -> None:
    plan = plan_topics({A0: (1, 2), B0: (3,)}, ["a"], {A0: 10}, FLAT)
    assert (plan.targets, plan.moved_bytes) == ({}, 0)


def test_replicas_leave_brokers_that_may_have_none_and_no_others_move() -> None:
    plan = plan_topics({A0: (1, 2), A1: (2, 3), B0: (1,)}, ["a"], {A0: 10, A1: 5}, dict.fromkeys((2, 3)))
    assert {key: set(target) for key, target in plan.targets.items()} == {A0: {2, 3}}
    assert plan.moved_bytes == 10


def test_further_replicas_go_to_racks_without_one_and_then_to_the_least_bytes() -> None:
    racks = {1: "x", 2: "x", 3: "y", 4: "y"}
    plan = plan_topics({A0: (1,), B0: (3,)}, ["a"], {A0: 1, B0: 100}, racks, 2)
    assert set(plan.targets[A0]) == {1, 4}


def test_replicas_that_are_too_many_go_from_racks_with_several_and_then_from_the_most_bytes() -> None:
    racks = {1: "x", 2: "x", 3: "y"}
    plan = plan_topics({A0: (3, 1, 2), B0: (3,)}, ["a"], {B0: 100}, racks, 2)
    assert 3 in plan.targets[A0]
    plan = plan_topics({A0: (1, 2, 3), B0: (2,)}, ["a"], {B0: 100}, FLAT, 2)
    assert set(plan.targets[A0]) == {1, 3}


def test_leaders_of_what_changes_are_evened_out() -> None:
    plan = plan_topics({A0: (1, 2, 3), A1: (1, 2, 3)}, ["a"], {}, FLAT, 2)
    assert len({target[0] for target in plan.targets.values()}) == 2


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(AdminError, match=r"a is to have 4 replicas .* and 3 broker\(s\) may have them"):
        plan_topics({A0: (1,)}, ["a"], {}, FLAT, 4)
