"""The check of one broker key's value, wherever it comes from: a file, a request, the metadata store.

What passes may be stored: no start is refused for it, and no topic that inherits it. A key that is bounded by another
is compared with what that has in ``config``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore.config.connection_limits import OVERRIDES_KEY, check_overrides
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

OFFSETS_CODECS: Final = 5
"""Ids of ``offsets.topic.compression.codec``: none, gzip, snappy, lz4, zstd."""

RETENTION: Final = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")

MIB: Final = 1 << 20
CLEANER_MAP, CLEANER_THREADS = "log.cleaner.dedupe.buffer.size", "log.cleaner.threads"

AT_MOST: Final = {
    f"group.{kind}.assignment.interval.ms": f"group.{kind}.max.assignment.interval.ms"
    for kind in ("consumer", "share", "streams")
}
"""Keys whose value is at most that of another."""


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
        check_overrides(text)
    elif name == "offsets.topic.compression.codec" and value not in range(OFFSETS_CODECS):
        raise key.invalid(
            value, "Unknown compression type id; give 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)"
        )
    elif name == "replica.selector.class" and value not in REPLICA_SELECTORS:
        raise key.invalid(value, f"give {' or '.join(REPLICA_SELECTORS)}, or leave it out")
    elif name in AT_MOST and value > config.get(AT_MOST[name]):
        raise ConfigError(f"{name} must be less than or equal to {AT_MOST[name]}")
    elif name in (CLEANER_MAP, CLEANER_THREADS):
        size, threads = (value if one == name else config.get(one) for one in (CLEANER_MAP, CLEANER_THREADS))
        if threads > 0 and size // threads <= MIB:
            raise ConfigError(f"requirement failed: {CLEANER_MAP} must be at least 1MB per cleaner thread.")
    check_inherited(config, name, text)
