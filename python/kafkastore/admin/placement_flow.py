"""Least-cost moves of replicas between brokers: a flow on a graph of brokers. Pure arithmetic.

An edge b → c stands for the cheapest replica on b that may go to c: broker c has no other replica of its partition, and
the rack of c does not get more of the partition's replicas than it must. Where the replicas were found decides the
cost: a replica that leaves a broker where it was found for one where it was not costs the partition's weight, one that
returns gives the weight back, and any other move costs nothing. Each step moves replicas along a cheapest path from a
broker with too many to a broker with too few; so the placement stays a cheapest one for its replica counts (successive
shortest paths).

The candidates of an edge are a heap that is cleaned lazily: an entry whose replica has moved meanwhile is stale, and is
dropped when it comes to the top.
"""

from __future__ import annotations

from collections import Counter, deque
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    Key = tuple[str, int]
    Edge = tuple[int, int]
    Entry = tuple[int, Key]


class ReplicaFlow:
    """``holders[partition]`` are the brokers that have a replica of it, changed by :meth:`shift`. ``brokers`` are the
    brokers that may get replicas, with their racks; all other brokers only give."""

    def __init__(
        self,
        assignment: Mapping[Key, Sequence[int]],
        weights: Mapping[Key, int],
        brokers: Mapping[int, str | None],
        *,
        is_rack_aware: bool,
    ) -> None:
        self.found = {key: frozenset(replicas) for key, replicas in assignment.items()}
        self.holders = {key: set(replicas) for key, replicas in assignment.items()}
        self.weights = weights
        self.brokers = brokers
        self.nodes = sorted(brokers.keys() | {node for replicas in self.found.values() for node in replicas})
        self.count = dict.fromkeys(self.nodes, 0)
        self.count.update(Counter(node for replicas in self.found.values() for node in replicas))
        racks = Counter(rack for rack in brokers.values() if rack is not None)
        self._racks = racks if is_rack_aware and len(racks) > 1 and racks.total() == len(brokers) else None
        self._edges: dict[Edge, list[Entry]] = {(b, c): [] for b in self.nodes for c in brokers if b != c}
        for key, holders in self.holders.items():
            for edge in ((b, c) for b in holders for c in brokers if c not in holders):
                self._edges[edge].append((self._cost(key, *edge), key))
        for heap in self._edges.values():
            heapify(heap)

    def shift(self, sources: Collection[int], rank: Callable[[int], tuple[int, ...] | None]) -> bool:
        """Moves a replica from one of ``sources`` to a broker that takes it, by way of replicas of other brokers if
        that is cheaper. ``rank`` gives the order of the brokers that may take it: its first element counts before the
        cost, the rest after; None for a broker that does not take it. False if no broker can be reached."""
        costs = {edge: top for edge, heap in self._edges.items() if (top := self._top(edge, heap)) is not None}
        distance, before = self._distances(sources, costs)
        ends = [(*rank_of[:1], distance[node], *rank_of[1:], node) for node in distance if (rank_of := rank(node))]
        for *_, node in sorted(ends):
            path = [node]
            while path[-1] in before:
                path.append(before[path[-1]])
            if len(path) > 1 and self._move_along(path):
                return True
        return False

    # ---- inside
    def _distances(
        self, sources: Collection[int], costs: Mapping[Edge, Entry]
    ) -> tuple[dict[int, int], dict[int, int]]:
        """The cost of the cheapest path to each broker that can be reached, and the broker before it on that path
        (Bellman-Ford, because a replica that returns has a negative cost)."""
        distance = dict.fromkeys(sources, 0)
        hops = dict.fromkeys(sources, 0)
        before: dict[int, int] = {}
        todo = deque(sorted(sources))
        outgoing: dict[int, list[Edge]] = {}
        for edge in costs:
            outgoing.setdefault(edge[0], []).append(edge)
        while todo:
            b = todo.popleft()
            for edge in outgoing.get(b, ()):
                c, new = edge[1], (distance[b] + costs[edge][0], hops[b] + 1)
                if (
                    c not in sources
                    and (c not in distance or new < (distance[c], hops[c]))
                    and new[1] <= len(self.nodes)
                ):
                    distance[c], hops[c] = new
                    before[c] = b
                    todo.append(c)
        return distance, before

    def _move_along(self, path: Sequence[int]) -> bool:
        """Moves a replica along each edge of ``path``, which begins with the broker that takes and ends with the
        source. Undoes all moves and returns False if one move leaves no candidate for another."""
        done: list[tuple[Key, int, int]] = []
        for c, b in pairwise(path):
            top = self._top((b, c), self._edges[b, c])
            if top is None:
                for key, start, end in reversed(done):
                    self._move(key, end, start)
                return False
            self._move(top[1], b, c)
            done.append((top[1], b, c))
        return True

    def _move(self, key: Key, b: int, c: int) -> None:
        holders = self.holders[key]
        holders.remove(b)
        holders.add(c)
        self.count[b] -= 1
        self.count[c] += 1
        for edge in self._edges_of(key):
            heappush(self._edges[edge], (self._cost(key, *edge), key))

    def _edges_of(self, key: Key) -> Iterable[Edge]:
        holders = self.holders[key]
        return ((b, c) for b in holders for c in self.brokers if c not in holders)

    def _cost(self, key: Key, b: int, c: int) -> int:
        found = self.found[key]
        return self.weights[key] * ((c not in found) - (b not in found))

    def _top(self, edge: Edge, heap: list[Entry]) -> Entry | None:
        """The cheapest replica that may move along the edge."""
        kept: list[Entry] = []
        while heap:
            cost, key = heap[0]
            holders = self.holders[key]
            is_stale = edge[0] not in holders or edge[1] in holders
            if not is_stale and self._fits_rack(key, *edge):
                break
            heappop(heap)
            if not is_stale:
                kept.append((cost, key))  # other moves may make room in the rack
        top = heap[0] if heap else None
        for entry in kept:
            heappush(heap, entry)
        return top

    def _fits_rack(self, key: Key, b: int, c: int) -> bool:
        if self._racks is None or self.brokers[c] == self.brokers.get(b):
            return True
        holders = self.holders[key]
        there = sum(self.brokers.get(node) == self.brokers[c] for node in holders)
        return there < self._limit(len(holders))

    def _limit(self, replicas: int) -> int:
        """The most replicas of a partition that a rack must take when they are spread over the racks."""
        assert self._racks is not None
        limit = 1
        while sum(min(size, limit) for size in self._racks.values()) < min(replicas, len(self.brokers)):
            limit += 1
        return limit
