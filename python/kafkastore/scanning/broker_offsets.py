"""How far the files of a topic may be read, asked from the live brokers that write them.

A scan needs two offsets that the files do not tell: the high watermark is in a checkpoint that is seconds old, and the
last stable offset is in no file. The engine's client asks (``rust/planner/brokers.rs``); this module has the arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkastore import _core

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PartitionOffsets(NamedTuple):
    """One partition as its leader sees it; ``_core.plan_scan`` takes it as a watermark."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int


def fetch_broker_offsets(
    bootstrap_servers: str | Sequence[str],
    topic: str,
    partitions: Sequence[int] | None = None,
    *,
    timeout_s: float = 10.0,
    properties: Mapping[str, str] | None = None,
) -> dict[int, PartitionOffsets]:
    """The offsets of the topic's partitions (all of them, or those given) at this moment.

    ``bootstrap_servers``: host:port, several by comma or as a list; the first server that answers is taken.
    ``properties``: ``security.protocol``, ``ssl.*``, ``sasl.*`` of Kafka's clients. Raises ValueError (a wrong
    argument), FileNotFoundError (no such topic or partition), ConnectionError (no answer), PermissionError.
    """
    servers = _joined(bootstrap_servers)
    wanted = None if partitions is None else list(partitions)
    told = _core.broker_offsets(servers, topic, wanted, timeout_s, dict(properties or {}))
    return {partition: PartitionOffsets(*offsets) for partition, offsets in told.items()}


def parse_servers(bootstrap_servers: str | Sequence[str]) -> list[tuple[str, int]]:
    """(host, port) of each server; an IPv6 address stands in brackets. Raises ValueError."""
    return _core.parse_servers(_joined(bootstrap_servers))


def _joined(bootstrap_servers: str | Sequence[str]) -> str:
    text = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
    if not text:
        raise ValueError("bootstrap_servers is empty; give host:port, as localhost:9092, or leave it out")
    return text
