"""Values in a file: ours starts with what Apache Kafka 4.4 starts with, and refuses what it refuses.

`make test` plays every fifth spelling, from another one each time.

``DIFFERENT`` has the keys of which that is not so, with the reason; docs/differences.md has them for users.
"""

from __future__ import annotations

from kafkastore.config import BrokerConfig
from kafkastore.errors import ConfigError
from parity import static_values
from proof.scope import played
from proof.seeds import first_seed

REFUSED, TAKEN = "ours refuses it", "ours takes it"
NO_CLASS = (TAKEN, "no Java class is loaded, so any name will do")
EMPTY = (TAKEN, "an empty list, or a comma alone, is as if the key were not there")
NAN = (REFUSED, "NaN, and hexadecimal digits")
NO_EFFECT = (TAKEN, "has no effect")
DIFFERENT = {
    **dict.fromkeys(
        (
            "alter.config.policy.class.name",
            "client.quota.callback.class",
            "create.topic.policy.class.name",
            "group.streams.topology.description.plugin.class",
            "principal.builder.class",
            "sasl.client.callback.handler.class",
            "sasl.login.callback.handler.class",
            "sasl.login.class",
            "sasl.oauthbearer.jwt.retriever.class",
            "sasl.oauthbearer.jwt.validator.class",
            "sasl.server.callback.handler.class",
            "ssl.engine.factory.class",
        ),
        NO_CLASS,
    ),
    **dict.fromkeys(
        (
            "config.providers",
            "group.streams.rack.aware.assignment.tags",
            "inter.broker.listener.name",
            "kafka.metrics.reporters",
            "log.dir",
            "metric.reporters",
            "sasl.enabled.mechanisms",
            "sasl.oauthbearer.expected.audience",
            "ssl.cipher.suites",
            "ssl.enabled.protocols",
        ),
        EMPTY,
    ),
    **dict.fromkeys(
        (
            "log.cleaner.io.buffer.load.factor",
            "log.cleaner.io.max.bytes.per.second",
            "log.cleaner.min.cleanable.ratio",
            "remote.log.manager.task.retry.jitter",
            "sasl.kerberos.ticket.renew.jitter",
            "sasl.kerberos.ticket.renew.window.factor",
            "sasl.login.refresh.window.factor",
            "sasl.login.refresh.window.jitter",
        ),
        NAN,
    ),
    **dict.fromkeys(
        (
            "early.start.listeners",
            "group.consumer.assignors",
            "group.coordinator.rebalance.protocols",
            "group.share.assignors",
            "group.streams.assignors",
            "sasl.kerberos.principal.to.local.rules",
        ),
        NO_EFFECT,
    ),
    "authorizer.class.name": (REFUSED, "Kafka loads the class later, and fails then"),
    "log.cleaner.threads": (TAKEN, "0 pauses cleaning; Kafka divides by it"),
    "log.flush.interval.ms": (REFUSED, "no topic can have a negative flush.ms"),
    "log.flush.scheduler.interval.ms": (REFUSED, "a negative interval"),
    "log.retention.hours": (REFUSED, "no topic can have a retention.ms below -1"),
    "log.retention.minutes": (REFUSED, "no topic can have a retention.ms below -1"),
    "log.retention.ms": (REFUSED, "no topic can have a retention.ms below -1"),
    "max.decompressed.message.bytes": (REFUSED, "no limit for one decompressed record"),
    "remote.log.storage.system.enable": (REFUSED, "nothing would be copied to other storage"),
    "replica.selector.class": (REFUSED, "Kafka loads the class later, and fails then"),
}


def refusal(name: str, value: str) -> str:
    """Empty for a value that ours takes."""
    file = {"node.id": "1", "listeners": "PLAINTEXT://127.0.0.1:9092", "log.dirs": "/tmp/none", name: value}
    try:
        BrokerConfig(file).engine_options()
    except ConfigError as error:
        return str(error)
    return ""


def test_ours_starts_with_what_kafka_starts_with() -> None:
    unexplained: dict[str, list[str]] = {}
    explained: dict[str, set[str]] = {}
    step = played(5, 1)
    for name, values in static_values.recorded().items():
        for value, is_kafkas in list(values.items())[first_seed() % step :: step]:
            said = refusal(name, value)
            assert not said or name in said
            if (not said) == is_kafkas:
                continue
            what = REFUSED if said else TAKEN
            if DIFFERENT.get(name, ("",))[0] == what:
                explained.setdefault(name, set()).add(value)
            else:
                unexplained.setdefault(name, []).append(f"{value!r}: {what}")
    assert not unexplained
    assert explained.keys() <= DIFFERENT.keys()
    assert step > 1 or explained.keys() == DIFFERENT.keys(), "a difference that is none"
