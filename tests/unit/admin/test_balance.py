"""Plans for added and removed brokers: balanced, fewest bytes, replicas spread over racks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkastore.admin.balance import Plan, plan_added, plan_removed
from kafkastore.errors import InvalidReplicationFactorError
from kafkastore.topic.placement import place_replicas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Key = tuple[str, int]
INFINITE = 1 << 60


def racks_of(*nodes: int) -> dict[int, str | None]:
    return dict.fromkeys(nodes)


def placed(brokers: Mapping[int, str | None], partitions: int, factor: int) -> dict[Key, tuple[int, ...]]:
    return {("t", number): one for number, one in enumerate(place_replicas(brokers, partitions, factor))}


def after(assignment: Mapping[Key, Sequence[int]], plan: Plan) -> dict[Key, tuple[int, ...]]:
    return {key: plan.targets.get(key, tuple(replicas)) for key, replicas in assignment.items()}


def counts(assignment: Mapping[Key, Sequence[int]]) -> Counter[int]:
    return Counter(node for replicas in assignment.values() for node in replicas)


def copied_bytes(
    before: Mapping[Key, Sequence[int]], now: Mapping[Key, Sequence[int]], sizes: Mapping[Key, int]
) -> int:
    return sum(sizes[key] * len(set(now[key]) - set(before[key])) for key in before)


def naive_least(assignment: Mapping[Key, Sequence[int]], sizes: Mapping[Key, int], nodes: Sequence[int]) -> int:
    """The fewest bytes that balance ``nodes``, by a textbook min-cost flow from partitions to brokers to a sink, which
    pays for each replica that a broker must have."""
    low, rest = divmod(sum(map(len, assignment.values())), len(nodes))
    keys = list(assignment)
    source, sink = 0, 1 + len(keys) + len(nodes)
    edges: list[list[int]] = []  # to, capacity, cost; each edge is followed by its reverse edge
    leaving: list[list[int]] = [[] for _ in range(sink + 1)]

    def add(start: int, end: int, capacity: int, cost: int) -> None:
        leaving[start].append(len(edges))
        edges.append([end, capacity, cost])
        leaving[end].append(len(edges))
        edges.append([start, 0, -cost])

    for i, key in enumerate(keys):
        add(source, 1 + i, len(assignment[key]), 0)
        for j, node in enumerate(nodes):
            add(1 + i, 1 + len(keys) + j, 1, 0 if node in assignment[key] else sizes[key])
    for j in range(len(nodes)):
        add(1 + len(keys) + j, sink, low, -(1 << 40))
        add(1 + len(keys) + j, sink, int(rest > 0), 0)
    total = 0
    while True:
        distance, via = [INFINITE] * (sink + 1), [-1] * (sink + 1)
        distance[source] = 0
        for _ in range(sink + 1):
            for start in range(sink + 1):
                for edge in leaving[start] if distance[start] < INFINITE else ():
                    end, capacity, cost = edges[edge]
                    if capacity and distance[start] + cost < distance[end]:
                        distance[end], via[end] = distance[start] + cost, edge
        if distance[sink] >= INFINITE:
            return total + low * len(nodes) * (1 << 40)
        node = sink
        while node != source:
            edges[via[node]][1] -= 1
            edges[via[node] ^ 1][1] += 1
            node = edges[via[node] ^ 1][0]
        total += distance[sink]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[Key, tuple[int, ...]], dict[Key, int], int]:
    old = draw(st.integers(1, 4))
    new = draw(st.integers(0, 3))
    partitions = draw(st.integers(1, 7))
    replicas = st.lists(st.integers(1, old), min_size=1, max_size=min(3, old), unique=True)
    assignment = {("t", number): tuple(draw(replicas)) for number in range(partitions)}
    sizes = {key: draw(st.integers(0, 9)) for key in assignment}
    return assignment, sizes, old + new


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_plan_for_added_brokers_moves_as_little_as_naive_flow(
    cluster: tuple[dict[Key, tuple[int, ...]], dict[Key, int], int],
) -> None:
    assignment, sizes, count = cluster
    nodes = range(1, count + 1)
    plan = plan_added(assignment, sizes, racks_of(*nodes))
    now = after(assignment, plan)
    assert all(len(set(now[key])) == len(now[key]) == len(assignment[key]) for key in now)
    held = counts(now)
    spread = [held[node] for node in nodes]
    if (
        max(map(len, now.values())) == 1 or max(spread) - min(spread) <= 1
    ):  # otherwise other replicas of a partition may prevent balance
        assert max(spread) - min(spread) <= 1
        assert plan.moved_bytes == copied_bytes(assignment, now, sizes) == naive_least(assignment, sizes, nodes)
    assert plan.min_bytes <= plan.moved_bytes


@settings(max_examples=100, deadline=None)
@given(clusters(), st.data())
def test_plan_for_removed_brokers_moves_what_they_hold_and_nothing_else(
    cluster: tuple[dict[Key, tuple[int, ...]], dict[Key, int], int], data: st.DataObject
) -> None:
    assignment, sizes, count = cluster
    leaving = data.draw(st.sets(st.integers(1, count), max_size=count - 1))
    staying = racks_of(*(node for node in range(1, count + 1) if node not in leaving))
    try:
        plan = plan_removed(assignment, sizes, staying, leaving)
    except InvalidReplicationFactorError:
        assert any(len(one) > len(staying) for one in assignment.values())
        return
    now = after(assignment, plan)
    assert leaving.isdisjoint(counts(now))
    for key, before in assignment.items():
        assert len(set(now[key])) == len(before)
        assert set(before) - leaving <= set(now[key])
    assert plan.moved_bytes == plan.min_bytes == copied_bytes(assignment, now, sizes)


def test_two_added_to_three_get_their_share_and_no_more_moves() -> None:
    before = placed(racks_of(1, 2, 3), 10, 3)
    sizes = dict.fromkeys(before, 100)
    plan = plan_added(before, sizes, racks_of(1, 2, 3, 4, 5))
    now = after(before, plan)
    assert counts(now) == dict.fromkeys(range(1, 6), 6)
    assert plan.moved_bytes == plan.min_bytes == 12 * 100
    leaders = Counter(one[0] for one in now.values())
    assert max(leaders.values()) - min(leaders.values()) <= 1


def test_small_partitions_move_rather_than_large_ones() -> None:
    before = {("t", number): (1,) for number in range(4)}
    sizes = {("t", number): 1000 >> number for number in range(4)}
    plan = plan_added(before, sizes, racks_of(1, 2))
    assert plan.targets == {("t", 2): (2,), ("t", 3): (2,)}
    assert plan.moved_bytes == plan.min_bytes == 250 + 125


def test_racks_go_on_alternating_when_brokers_come_and_go() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "b", 3: "a", 4: "b"}
    before = placed(racks, 12, 2)
    sizes = dict.fromkeys(before, 1)
    grown: dict[int, str | None] = {**racks, 5: "a", 6: "b"}
    now = after(before, plan_added(before, sizes, grown))
    assert set(counts(now).values()) == {4}
    assert all({grown[node] for node in replicas} == {"a", "b"} for replicas in now.values())
    left: dict[int, str | None] = {node: rack for node, rack in grown.items() if node != 1}
    now = after(now, plan_removed(now, sizes, left, [1]))
    assert all({grown[node] for node in replicas} == {"a", "b"} for replicas in now.values())
    assert max(counts(now).values()) - min(counts(now).values()) <= 2


def test_last_broker_of_a_rack_may_leave() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "b", 3: "b"}
    before = {("t", 0): (1, 2), ("t", 1): (1, 3)}
    plan = plan_removed(before, dict.fromkeys(before, 1), {2: racks[2], 3: racks[3]}, [1])
    assert {key: set(target) for key, target in plan.targets.items()} == {key: {2, 3} for key in before}


def test_replicas_of_a_removed_broker_are_spread_evenly() -> None:  # A broker's load spreads over all the others
    before = placed(racks_of(1, 2, 3, 4, 5), 20, 1)
    now = after(before, plan_removed(before, dict.fromkeys(before, 7), racks_of(2, 3, 4, 5), [1]))
    assert set(counts(now).values()) == {5}


def test_too_few_brokers_for_the_replicas_are_named() -> None:
    with pytest.raises(InvalidReplicationFactorError, match="t-0 has 2 replicas and only 1 broker"):
        plan_removed({("t", 0): (1, 2)}, {}, racks_of(2), [1])


def test_thousands_of_partitions_are_planned() -> None:
    before = placed(racks_of(*range(1, 21)), 3000, 3)
    plan = plan_added(before, dict.fromkeys(before, 10), racks_of(*range(1, 26)))
    assert set(counts(after(before, plan)).values()) == {360}
    assert plan.moved_bytes == plan.min_bytes == 1800 * 10
