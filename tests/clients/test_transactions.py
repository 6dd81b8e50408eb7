"""Transactions of five clients (``transactional.py``): what a reader sees of them, and which producers are fenced.

KIP-98 (transactions), KIP-447 (offsets with the group's metadata), KIP-890 (an epoch for each transaction); H14
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition

from clients.java_versions import JavaVersions
from clients.other_clients import Kafkajs, Sarama
from clients.transactional import Aiokafka, Client, Go, Java, KafkaPython, Librdkafka, Script, Values, copy, send, step
from peer.topics import create_topic, end_offsets, last_stable_offsets, wait_until_stable
from proof.scope import played

if TYPE_CHECKING:
    from collections.abc import Callable

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

PROGRAMS = ["librdkafka", "franz-go", "aiokafka", "kafka-python", "sarama", "kafkajs"]
CLIENTS = ["java", "java-3.9", "java-2.8", "java-0.11", *PROGRAMS]
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
FENCED = re.compile("fenced|epoch|newer instance|timed out transaction", re.IGNORECASE)
QUICK_ABORT = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
SHORT_TIMEOUT_MS = 1000
LIMIT_S = 20.0
PARTITIONS = 10


PLAYED = {
    "reader_of_committed_records": CLIENTS,
    "next_instance": ["java", "java-0.11", "librdkafka", "kafka-python", "kafkajs"],
    "new_instance": ["java", "java-2.8", "librdkafka", "franz-go", "aiokafka", "sarama"],
    "transaction_that_is_over_time": ["java", "java-3.9", "librdkafka"],
    "offsets_of_an_aborted_copy": ["java", "java-0.11", "librdkafka", "franz-go", "kafka-python"],
}
"""By the beginning of a test's name: its clients in `make test`. Java's newest client and librdkafka, which most others
are made after, play all; every other one plays what is committed and aborted, and one thing more. `make proof` plays
all with all."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "client" in metafunc.fixturenames:
        (part,) = (clients for name, clients in PLAYED.items() if metafunc.function.__name__.startswith(f"test_{name}"))
        metafunc.parametrize("client", played(part, CLIENTS), indirect=True)


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Client:
    match request.param:
        case "java":
            return Java(request.getfixturevalue("java"))
        case "java-3.9" | "java-2.8" | "java-0.11":
            versions: JavaVersions = request.getfixturevalue("java_versions")
            return versions(request.param.removeprefix("java-"))
        case "franz-go":
            return Go()
        case "sarama":
            return Sarama()
        case "kafkajs":
            return Kafkajs()
        case "aiokafka":
            return Aiokafka()
        case "kafka-python":
            return KafkaPython()
    return Librdkafka()


def to_each_partition(word: str) -> Values:
    return [(partition, f"{word}-{partition}") for partition in range(PARTITIONS)]


def committed_offsets(broker: BrokerProcess, group: str, topic: str, partitions: int) -> dict[int, int]:
    with closing(Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})) as member:
        found = member.committed([TopicPartition(topic, number) for number in range(partitions)], 10)
    return {one.partition: one.offset for one in found if one.offset >= 0}


def settled(client: Client, broker: BrokerProcess, topic: str) -> Values:
    """The committed records once all transactions have ended: a commit is answered before its markers are written."""
    wait_until_stable(broker.bootstrap, topic, LIMIT_S)
    return client.read(broker.bootstrap, topic, COMMITTED)


def test_reader_of_committed_records_sees_no_aborted_transaction(
    client: Client, broker: BrokerProcess, new_topic: Callable[..., str], name: str
) -> None:
    topic = new_topic(partitions=PARTITIONS)
    steps = [step("init")]
    for word, end in (("first", "commit"), ("second", "abort"), ("third", "commit")):
        steps += [step("begin"), send(topic, *to_each_partition(word)), step(end)]
    assert client.run(Script(broker.bootstrap, name, steps)) == [""] * len(steps)
    seen = sorted(to_each_partition("first") + to_each_partition("third"))
    assert settled(client, broker, topic) == seen
    assert client.read(broker.bootstrap, topic, UNCOMMITTED) == sorted([*seen, *to_each_partition("second")])


def test_next_instance_aborts_the_open_transaction_of_a_producer_that_died(
    client: Client, broker: BrokerProcess, topic: str, name: str
) -> None:
    dead = [step("init"), step("begin"), send(topic, (0, "dead"))]
    assert client.run(Script(broker.bootstrap, name, dead)) == ["", "", ""]
    assert client.read(broker.bootstrap, topic, COMMITTED) == []
    assert client.read(broker.bootstrap, topic, UNCOMMITTED) == [(0, "dead")]
    assert last_stable_offsets(broker.bootstrap, topic) == {0: 0}
    alive = [step("init"), step("begin"), send(topic, (0, "alive")), step("commit")]
    assert client.run(Script(broker.bootstrap, name, alive)) == [""] * 4
    assert settled(client, broker, topic) == [(0, "alive")]
    assert client.read(broker.bootstrap, topic, UNCOMMITTED) == [(0, "dead"), (0, "alive")]
    assert last_stable_offsets(broker.bootstrap, topic) == {0: 4}, "behind two records and their markers"


def test_new_instance_fences_the_older_one_in_the_middle_of_its_transaction(
    client: Client, broker: BrokerProcess, topic: str, name: str
) -> None:
    zombie, heir = {"producer": "zombie"}, {"producer": "heir"}
    steps = [
        *(step("init", **zombie), step("begin", **zombie), send(topic, (0, "zombie"), **zombie)),
        *(step("init", **heir), step("begin", **heir), send(topic, (0, "heir"), **heir)),
        step("commit", **heir),
        send(topic, (0, "late"), **zombie),
        step("commit", **zombie),
    ]
    *done, late, commit = client.run(Script(broker.bootstrap, name, steps))
    assert done == [""] * 7
    assert FENCED.search(late)
    assert commit
    assert settled(client, broker, topic) == [(0, "heir")]
    assert client.read(broker.bootstrap, topic, UNCOMMITTED) == [(0, "zombie"), (0, "heir")]


def test_transaction_that_is_over_time_is_aborted_and_its_producer_refused(
    client: Client, broker_factory: BrokerFactory
) -> None:
    broker = broker_factory(QUICK_ABORT)
    topic = create_topic(broker.bootstrap, "orders")
    steps = [
        *(step("init"), step("begin"), send(topic, (0, "slow"), verb="send_until_refused"), step("commit")),
        *(step("init", "heir"), step("begin", "heir"), send(topic, (0, "heir"), producer="heir")),
        step("commit", "heir"),
    ]
    first, second, refused, commit, *heir = client.run(
        Script(broker.bootstrap, "over-time", steps, timeout_ms=SHORT_TIMEOUT_MS)
    )
    assert [first, second, *heir] == [""] * 6
    assert FENCED.search(refused)
    assert commit
    assert settled(client, broker, topic) == [(0, "heir")]
    assert last_stable_offsets(broker.bootstrap, topic) == {0: end_offsets(broker.bootstrap, topic)[0][1]}


def test_offsets_of_an_aborted_copy_are_dropped_and_of_a_committed_copy_kept(
    client: Client, broker: BrokerProcess, new_topic: Callable[..., str], name: str
) -> None:
    source, target = new_topic(partitions=3), new_topic(partitions=3)
    values = [(number % 3, f"value-{number}") for number in range(60)]
    filled = [step("init"), step("begin"), send(source, *values), step("commit")]
    assert client.run(Script(broker.bootstrap, f"{name}-source", filled)) == [""] * 4
    group = f"{name}-group"
    aborted = [step("init"), copy(source, target, group, len(values), commits=False)]
    assert client.run(Script(broker.bootstrap, name, aborted)) == ["", ""]
    assert committed_offsets(broker, group, source, 3) == {}
    committed = [step("init"), copy(source, target, group, len(values), commits=True)]
    assert client.run(Script(broker.bootstrap, name, committed)) == ["", ""]
    assert committed_offsets(broker, group, source, 3) == {0: 20, 1: 20, 2: 20}
    assert settled(client, broker, target) == sorted(values, key=lambda record: record[0])
