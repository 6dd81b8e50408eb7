"""Requests for a new topic, or for more partitions of a topic. Plain values; :mod:`planner` and the controller check
them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.dynamic_config.mutation_quotas import MutationQuota


class NewTopic(NamedTuple):
    """A topic to create. -1 means the broker's default; the controller does not know the defaults and takes 1.
    ``assignments``, the replicas by partition, override ``partitions`` and ``replication_factor``."""

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


class RequestingClient(NamedTuple):
    """The client whose Metadata request creates a topic: the new partitions count against its quota (KIP-599)."""

    principal: str
    client_id: str | None
    client_host: str
    quota: MutationQuota
    """What the controller in this process holds the client to; another controller finds its own."""


class NewPartitions(NamedTuple):
    """A topic that is to grow to ``partitions`` partitions; ``assignments``, unless None, are the replicas of the new
    partitions."""

    name: str
    partitions: int
    assignments: Sequence[Sequence[int]] | None = None
