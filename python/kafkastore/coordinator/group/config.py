"""The broker's configuration of groups, read once. Kafka's names and defaults, and kafkastore's own limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000  # Kafka's constant: how long a new member's JoinGroup may wait

# attribute -> (Kafka's name, default)
KEYS: Final[dict[str, tuple[str, int]]] = {
    "min_session_timeout_ms": ("group.min.session.timeout.ms", 6000),
    "max_session_timeout_ms": ("group.max.session.timeout.ms", 1800000),
    "initial_rebalance_delay_ms": ("group.initial.rebalance.delay.ms", 3000),
    "max_size": ("group.max.size", 2147483647),
    "offset_metadata_max_bytes": ("offset.metadata.max.bytes", 4096),
    "offsets_retention_minutes": ("offsets.retention.minutes", 10080),
    "offsets_retention_check_interval_ms": ("offsets.retention.check.interval.ms", 600000),
    "offsets_commit_timeout_ms": ("offsets.commit.timeout.ms", 5000),
    "offsets_topic_compression_codec": ("offsets.topic.compression.codec", 0),
    "group_max_bytes": ("kafkastore.group.max.bytes", 8388608),
    "unstored_max_bytes": ("kafkastore.groups.unstored.max.bytes", 33554432),
}


class GroupConfig:
    """Plain attributes named as in ``KEYS``; an attribute that is not given has its default."""

    min_session_timeout_ms: int
    max_session_timeout_ms: int
    initial_rebalance_delay_ms: int
    max_size: int
    offset_metadata_max_bytes: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    offsets_commit_timeout_ms: int
    offsets_topic_compression_codec: int
    group_max_bytes: int
    unstored_max_bytes: int

    def __init__(self, **values: int) -> None:
        for name, (_, default) in KEYS.items():
            setattr(self, name, values.pop(name, default))
        assert not values, f"unknown: {sorted(values)}"

    @classmethod
    def from_broker_config(cls, config: BrokerConfig) -> GroupConfig:
        """``config``: the broker's; ``get(name)`` gives the parsed value."""
        return cls(**{attribute: config.get(name) for attribute, (name, _) in KEYS.items()})

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60 * 1000
