"""The check of one broker key's value, wherever it comes from: a file, a request, the metadata store.

What passes may be stored: no start is refused for it, and no topic that inherits it. A key that is bounded by another
is compared with what that has in ``config``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore.config.connection_limits import LISTENER_LIMITS, OVERRIDES_KEY, parse_overrides
from kafkastore.config.relations import check_relations
from kafkastore.config.removed import REMOVED_KEY, parse_removed
from kafkastore.config.topic import check_inherited
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from kafkastore.config.broker import BrokerConfig

REPLICA_SELECTORS: Final = (
    "org.apache.kafka.common.replica.LeaderSelector",
    "org.apache.kafka.common.replica.RackAwareReplicaSelector",
)
"""Kafka's own replica selectors, by their Java names (KIP-392); the first has the same effect as no selector."""

CODECS: Final = ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec")
CODEC_IDS: Final = range(5)
"""none, gzip, snappy, lz4, zstd."""

RETENTION: Final = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")


def check_run_time_value(config: BrokerConfig, name: str, text: str) -> None:
    """:func:`check_broker_value` of a change at run time, which may not shut out who would undo it."""
    check_broker_value(config, name, text)
    if name in LISTENER_LIMITS and config.keys[name].parse(text) < 1:
        raise ConfigError(f"Invalid {name} {text.strip()}: no client could connect to change it; give 1 or more")


def check_broker_value(config: BrokerConfig, name: str, text: str) -> None:
    """Raises ConfigError with Kafka's message. What the file hides by a key of higher precedence need only be of its
    type and range."""
    key = config.keys[name]
    value: Any = key.parse(text)
    is_hidden = name in RETENTION and any(one in config.static for one in RETENTION[: RETENTION.index(name)])
    if is_hidden:
        return
    if name in RETENTION and (value < -1 or value == 0):
        raise key.invalid(value, "it must be unlimited (-1) or, greater than or equal to 1")
    if name == REMOVED_KEY:
        parse_removed(text)
    elif name == OVERRIDES_KEY:
        parse_overrides(text)
    elif name in CODECS and value not in CODEC_IDS:
        raise key.invalid(
            value, "Unknown compression type id; give 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)"
        )
    elif name == "replica.selector.class" and value not in REPLICA_SELECTORS:
        raise key.invalid(value, f"give {' or '.join(REPLICA_SELECTORS)}, or leave it out")
    check_relations(config, name, value)
    check_inherited(config, name, text)
