"""Keys of brokers whose values bound each other: what Kafka compares when a broker starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkastore.config.broker import BrokerConfig


class Rule(NamedTuple):
    """What the values of two keys must be; ``text`` is what an error says after the keys and their values."""

    one: str
    other: str
    holds: Callable[[Any, Any], bool]
    text: str


def _rules() -> Iterator[Rule]:
    def at_most(lower: str, upper: str) -> Rule:
        return Rule(
            lower, upper, lambda least, most: least <= most, "the first must be less than or equal to the second"
        )

    def between(prefix: str, what: str) -> Iterator[Rule]:
        least, own, most = (f"{prefix}.{part}{what}" for part in ("min.", "", "max."))
        yield from (at_most(least, own), at_most(own, most), at_most(least, most))

    for kind in ("consumer", "share", "streams"):
        for what in ("assignment.interval.ms", "heartbeat.interval.ms", "session.timeout.ms"):
            yield from between(f"group.{kind}", what)
    yield from between("group.share", "record.lock.duration.ms")
    yield at_most("group.share.partition.max.record.locks", "group.share.max.partition.max.record.locks")
    yield at_most("group.share.max.size", "group.share.max.share.sessions")
    yield at_most("group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms")
    yield at_most("group.streams.num.standby.replicas", "group.streams.max.standby.replicas")
    yield at_most("group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas")
    yield at_most("replica.fetch.wait.max.ms", "replica.lag.time.max.ms")
    yield at_most("replica.fetch.wait.max.ms", "replica.socket.timeout.ms")
    yield Rule(
        "connection.failed.authentication.delay.ms",
        "connections.max.idle.ms",
        lambda delay, idle: idle < 0 or delay < idle,
        "the first must be less than the second",
    )
    yield Rule(
        "queued.max.request.bytes",
        "socket.request.max.bytes",
        lambda queued, largest: queued <= 0 or queued >= largest,
        "the first must be larger than or equal to the second, or -1",
    )
    yield Rule(
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        lambda most, overrides: most > 0 or any(part.strip() for part in overrides.split(",")),
        "the first may be 0 only if the second has addresses",
    )
    yield Rule(
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.threads",
        lambda size, threads: threads <= 0 or size // threads > 1 << 20,
        "each thread needs more than 1048576 bytes",
    )


RULES: Final = tuple(_rules())


def check_relations(config: BrokerConfig, name: str, value: Any) -> None:
    """Raises ConfigError unless ``value`` goes with what the other keys have in ``config``."""
    for rule in RULES:
        if name in rule[:2]:
            one, other = (value if key == name else config.get(key) for key in rule[:2])
            if not rule.holds(one, other):
                raise ConfigError(f"{rule.one}={one}, {rule.other}={other}: {rule.text}")
