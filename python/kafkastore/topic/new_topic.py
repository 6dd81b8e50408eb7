"""What is asked for of topics: a new one, or one that is to grow. Values; :mod:`planner` and the controller judge
them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class NewTopic(NamedTuple):
    """A topic to create; -1 means the broker's default, of which the controller knows none and takes 1.
    ``assignments``, the replicas by partition, override the two numbers."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Sequence[int]] | None = None
    configs: Mapping[str, str | None] | None = None

    @classmethod
    def placed(
        cls, name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str | None] | None = None
    ) -> NewTopic:
        """A topic with these replicas of partition 0, 1, …"""
        return cls(name, assignments=dict(enumerate(replicas)), configs=configs)


class Growth(NamedTuple):
    """A topic that is to have so many partitions; ``assignments`` are the replicas of the new ones, where they are
    given."""

    name: str
    partitions: int
    assignments: Sequence[Sequence[int]] | None = None
