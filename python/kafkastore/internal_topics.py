"""Topics in which brokers keep their own state: one table, from which every part of the broker takes what it must know
of them.

Place: under everything. What Kafka creates such a topic with comes from the broker's configuration
(``topic/internal.py``); who keeps state in it runs on ``coordinator/runtime/``. Never: imports anything of the broker.
"""

from __future__ import annotations

from typing import Final, NamedTuple

OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2


class InternalTopic(NamedTuple):
    """A row of the table."""

    name: str

    key_prefix: str
    """How the broker's keys for the topic begin: ``offsets.topic`` of ``offsets.topic.num.partitions``."""

    coordinator: int
    """Who owns the topic: the kind of coordinator, as FindCoordinator's ``key_type`` names it."""

    constant_configs: dict[str, str]
    """Topic configuration that Kafka always creates the topic with."""

    configs_from_keys: dict[str, str]
    """Topic configuration that comes from the broker's: {key of the topic: key of the broker after ``key_prefix``}."""


INTERNAL_TOPICS: Final = {
    topic.name: topic
    for topic in (
        InternalTopic(
            OFFSETS_TOPIC,
            "offsets.topic",
            GROUP,
            {"cleanup.policy": "compact", "compression.type": "producer"},
            {"segment.bytes": "segment.bytes"},
        ),
        InternalTopic(
            TRANSACTION_STATE_TOPIC,
            "transaction.state.log",
            TRANSACTION,
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "unclean.leader.election.enable": "false",
            },
            {"segment.bytes": "segment.bytes", "min.insync.replicas": "min.isr"},
        ),
        InternalTopic(
            SHARE_STATE_TOPIC,
            "share.coordinator.state.topic",
            SHARE,
            {"cleanup.policy": "compact", "compression.type": "producer"},
            {"segment.bytes": "segment.bytes", "min.insync.replicas": "min.isr"},
        ),
    )
}
"""Clients may read them but not write them."""


def is_internal(name: str) -> bool:
    """Whether brokers keep their own state in the topic."""
    return name in INTERNAL_TOPICS
