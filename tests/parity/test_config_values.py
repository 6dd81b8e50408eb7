"""Values of configurations: ours takes what Apache Kafka 4.4 takes, and starts again with whatever it took.

`make test` plays every fifth spelling, from another one each time.

``DIFFERENT`` has the keys of which that is not so, with the reason; docs/differences.md has them for users.
"""

from __future__ import annotations

from itertools import zip_longest

import pytest
from confluent_kafka import KafkaError, Producer

from parity import config_values
from parity.config_values import TOPIC, change, questions, recorded
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic
from proof.scope import played
from proof.seeds import first_seed

REFUSED, TAKEN = "ours refuses it", "ours takes it"
DIFFERENT = {
    "config.providers": (REFUSED, "counts in the broker's file alone"),
    "kafkastore.removed.brokers": (REFUSED, "Kafka has no such key, and takes any"),
    "log.flush.interval.ms": (REFUSED, "no topic can have a negative flush.ms"),
    "log.retention.ms": (REFUSED, "no topic can have a retention.ms below -1"),
    "min.cleanable.dirty.ratio": (REFUSED, "NaN, and hexadecimal digits"),
    "log.cleaner.io.buffer.load.factor": (REFUSED, "NaN, and hexadecimal digits"),
    "log.cleaner.io.max.bytes.per.second": (REFUSED, "NaN, and hexadecimal digits"),
    "log.cleaner.min.cleanable.ratio": (REFUSED, "NaN, and hexadecimal digits"),
    "follower.replication.throttled.replicas": (REFUSED, "a comma alone is no list"),
    "leader.replication.throttled.replicas": (REFUSED, "a comma alone is no list"),
    "min.insync.replicas": (TAKEN, "Kafka refuses it on brokers while it elects eligible leader replicas"),
    "max.decompressed.message.bytes": (REFUSED, "no limit for one decompressed record"),
    "cordoned.log.dirs": (REFUSED, "new replicas are put into every log directory"),
    "log.local.retention.ms": (TAKEN, "has no effect"),
    "log.remote.copy.lag.bytes": (TAKEN, "has no effect"),
    "log.remote.copy.lag.ms": (TAKEN, "has no effect"),
    "metric.reporters": (TAKEN, "has no effect"),
    "remote.log.manager.copier.thread.pool.size": (TAKEN, "has no effect"),
    "remote.log.manager.expiration.thread.pool.size": (TAKEN, "has no effect"),
    "remote.log.manager.follower.thread.pool.size": (TAKEN, "has no effect"),
    "remote.log.reader.threads": (TAKEN, "has no effect"),
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> BrokerProcess:
    made = KafkastoreBroker(tmp_path_factory.mktemp("config-values"))
    made.start()
    create_topic(made.bootstrap, TOPIC)
    return made


ASKED_FOR = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_TIMESTAMP)
"""What a topic's own configuration may answer a produce with."""


def assert_writable(broker: BrokerProcess, values: object) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 20_000, "acks": 1})
    told: list[KafkaError | None] = []
    producer.produce(TOPIC, b"value", b"key", on_delivery=lambda error, _: told.append(error))
    producer.flush(20)
    assert [error for error in told if error is not None and error.code() not in ASKED_FOR] == [], values
    assert len(told) == 1


@pytest.mark.timeout(300)
def test_ours_takes_what_kafka_takes_and_starts_again_with_it(broker: BrokerProcess) -> None:
    try:
        ours, kafkas = config_values.answers(broker.host, broker.port, played(5, 1), first_seed()), recorded()
        assert ours.keys() == kafkas.keys()
        unlike = {
            name: {value: (code, kafkas[name][value]) for value, code in row.items() if code != kafkas[name][value]}
            for name, row in ours.items()
        }
        reasons = {name: row for name, row in unlike.items() if row}
        unexplained = {name: row for name, row in reasons.items() if name.split()[1] not in DIFFERENT}
        assert not unexplained
        for name, row in reasons.items():
            what, _ = DIFFERENT[name.split()[1]]
            assert all((code != 0) == (what == REFUSED) for code, _ in row.values()), (name, row)
        _play_all_that_was_taken(broker, ours)
    finally:
        broker.kill()


def _play_all_that_was_taken(broker: BrokerProcess, ours: dict[str, dict[str, int]]) -> None:
    """One value of each key at a time, all keys at once; a start and a record in between."""
    taken = [
        [(kind, resource, key.name, value) for value, code in ours[f"{level} {key.name}"].items() if code == 0]
        for level, kind, resource, key in questions()
        if level != "all"
    ]
    for values in zip_longest(*taken):
        for one in filter(None, values):
            change((broker.host, broker.port), *one)
        broker.restart()
        assert_writable(broker, values)
