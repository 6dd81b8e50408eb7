"""kafka-transactions and the transactional calls of Kafka's admin client (KIP-664, KIP-939): looking, and ending the
transactions of producers that do not."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from clients.transactional import Librdkafka, Script, send, step
from parity.batch import record_batch
from parity.raw_client import RawClient
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaTools, ToolResult
from peer.topics import create_topic, last_stable_offsets, read_topic, wait_until_stable
from tools.comparison import ours, same

LIMIT_S = 30
TIMEOUT_MS = 600_000


def run(java: JavaTools, broker: BrokerProcess, *args: str) -> ToolResult:
    return java.tool("kafka-transactions", "--bootstrap-server", broker.bootstrap, *args)


def rows(java: JavaTools, broker: BrokerProcess, *args: str) -> list[list[str]]:
    """The table that the tool prints, without its heading."""
    result = run(java, broker, *args)
    assert result.exit == 0, result
    return [line.split() for line in result.out.splitlines()[1:] if line.strip()]


def open_transaction(broker: BrokerProcess, topic: str, name: str) -> Producer:
    """A producer whose open transaction has one record in partition 0."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": TIMEOUT_MS,
            "log_level": 0,
        }
    )
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    assert producer.flush(LIMIT_S) == 0
    return producer


def test_transactions_are_listed_by_state_id_duration_and_pattern_and_described(
    java: JavaTools, broker: BrokerProcess, topic: str, name: str
) -> None:
    done = [step("init"), step("begin"), send(topic, (0, "done")), step("commit")]
    assert Librdkafka().run(Script(broker.bootstrap, f"{name}-done", done)) == [""] * 4
    producer = open_transaction(broker, topic, f"{name}-open")

    def listed(*filters: str) -> dict[str, str]:
        found = {row[0]: row[3] for row in rows(java, broker, "list", *filters)}
        return {row.removeprefix(f"{name}-"): state for row, state in found.items() if row.startswith(name)}

    both = {"done": "CompleteCommit", "open": "Ongoing"}
    wait_until(lambda: listed() == both, LIMIT_S, "the transaction is complete")
    assert listed("--transactional-id-pattern", f"{name}-o.*") == {"open": "Ongoing"}
    assert listed("--transactional-id-pattern", f"{name}-o") == {}, "the pattern is of the whole id"
    assert listed("--duration-filter", "1000000") == {}
    assert listed("--duration-filter", "0") == both, "also what is over"
    [described] = rows(java, broker, "describe", "--transactional-id", f"{name}-open")
    coordinator, found, producer_id, epoch, state, timeout, _, _, partitions = described
    assert [coordinator, found, epoch, state] == ["1", f"{name}-open", "0", "Ongoing"]
    assert [timeout, partitions] == [str(TIMEOUT_MS), f"{topic}-0"]
    of_partition = ("describe-producers", "--topic", topic, "--partition", "0")
    starts = {row[0]: row[-1] for row in rows(java, broker, *of_partition)}
    assert starts.pop(producer_id) == "2", "behind the record of the other transaction and its marker"
    assert list(starts.values()) == ["None"]
    assert run(java, broker, "describe", "--transactional-id", "nobody").exit == 1
    producer.abort_transaction(LIMIT_S)


def test_open_transaction_is_aborted_by_its_start_offset(java: JavaTools, broker: BrokerProcess, topic: str) -> None:
    producer = open_transaction(broker, topic, topic)
    assert last_stable_offsets(broker.bootstrap, topic) == {0: 0}
    of_partition = ("abort", "--topic", topic, "--partition", "0", "--start-offset")
    refused = run(java, broker, *of_partition, "1")
    assert (refused.exit, "Could not find any open transactions" in refused.err) == (1, True)
    assert run(java, broker, *of_partition, "0").exit == 0
    assert last_stable_offsets(broker.bootstrap, topic) == {0: 2}
    assert read_topic(broker.bootstrap, topic, isolation_level="read_committed") == []
    producer.abort_transaction(LIMIT_S)


def hang(broker: BrokerProcess, topic: str) -> None:
    """A batch of a transaction that the coordinator does not know."""
    with closing(RawClient("127.0.0.1", broker.port)) as client:
        asked: dict[str, Any] = {"transactional_id": "hanging", "transaction_timeout_ms": TIMEOUT_MS}
        found: Any = None

        def has_id() -> bool:
            nonlocal found
            client.ask("find_coordinator", 4, {"key_type": 1, "coordinator_keys": ["hanging"]})
            found = client.ask("init_producer_id", 4, asked)
            return int(found.error_code) == 0

        wait_until(has_id, LIMIT_S, "a producer id")
        records = record_batch(1, found.producer_id, found.producer_epoch, 0, is_transactional=True)
        data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
        request = {"transactional_id": "hanging", "acks": -1, "timeout_ms": 5000, "topic_data": data}
        answer = client.ask("produce", 11, request)
        assert int(answer.responses[0].partition_responses[0].error_code) == 0


def test_hanging_transaction_is_found_and_aborted(java: JavaTools, broker_factory: BrokerFactory) -> None:
    broker = broker_factory({"transaction.partition.verification.enable": "false"})
    given = ("--bootstrap-server", broker.bootstrap)
    topic = create_topic(broker.bootstrap, "orders")
    hang(broker, topic)
    found = rows(java, broker, "find-hanging", "--broker-id", "1")
    assert [row[:2] + row[5:6] for row in found] == [[topic, "0", "0"]], "the start offset is 0"
    abort = ("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    assert run(java, broker, *abort).exit == 0
    assert rows(java, broker, "find-hanging", "--broker-id", "1") == []
    assert last_stable_offsets(broker.bootstrap, topic) == {0: 2}
    hang(broker, topic)
    assert topic in same(java, "kafka-transactions", *given, "find-hanging", "--broker-id", "1")
    [hanging] = json.loads(ours("transactions", "hanging", "-b", broker.bootstrap, "--json").out)
    assert (hanging["topic"], hanging["partition"], hanging["start_offset"]) == (topic, 0, 2)
    assert ours("kafka-transactions", *given, *abort[:-1], "2").exit == 0
    assert same(java, "kafka-transactions", *given, "find-hanging", "--broker-id", "1").count("\n") == 1
    assert last_stable_offsets(broker.bootstrap, topic) == {0: 4}


@pytest.mark.parametrize("call", ["fenceProducer", "forceTerminateTransaction"])
def test_admin_client_aborts_the_open_transaction_and_fences_its_producer(
    java: JavaTools, broker: BrokerProcess, topic: str, name: str, call: str
) -> None:
    producer = open_transaction(broker, topic, name)
    java.call(call, broker.bootstrap, transactional_id=name)
    wait_until(lambda: last_stable_offsets(broker.bootstrap, topic) == {0: 2}, LIMIT_S, "the transaction is over")
    with pytest.raises(KafkaException) as refusal:
        producer.commit_transaction(LIMIT_S)
    assert refusal.value.args[0].code() == KafkaError._FENCED
    assert read_topic(broker.bootstrap, topic, isolation_level="read_committed") == []


CLUSTER_AUTHORIZATION_FAILED, INVALID_TXN_STATE = 31, 48


def forged(broker: BrokerProcess, topic: str, producer: tuple[int, int], *, is_commit: bool) -> int:
    """The answer to a marker as no coordinator sends it: with the highest epoch that there is."""
    at = [{"name": topic, "partition_indexes": [0]}]
    marker = {"producer_id": producer[0], "producer_epoch": producer[1], "transaction_result": is_commit}
    with closing(RawClient("127.0.0.1", broker.port)) as client:
        markers = [marker | {"coordinator_epoch": 2**31 - 1, "topics": at}]
        answer = client.ask("write_txn_markers", 1, {"markers": markers})
    return int(answer.markers[0].topics[0].partitions[0].error_code)


def test_marker_that_a_client_forges_fences_no_coordinator(broker_factory: BrokerFactory) -> None:
    broker = broker_factory(kind="kafkastore")
    topic = create_topic(broker.bootstrap, "orders")
    producer = open_transaction(broker, topic, "forged")
    with closing(RawClient("127.0.0.1", broker.port)) as client:
        asked = {"topics": [{"name": topic, "partition_indexes": [0]}]}
        found = client.ask("describe_producers", 0, asked).topics[0].partitions[0].active_producers[0]
    of = int(found.producer_id), int(found.producer_epoch)
    assert forged(broker, topic, of, is_commit=True) == CLUSTER_AUTHORIZATION_FAILED
    assert last_stable_offsets(broker.bootstrap, topic) == {0: 0}
    assert forged(broker, topic, of, is_commit=False) == 0
    producer.abort_transaction(LIMIT_S)
    assert forged(broker, topic, of, is_commit=False) == INVALID_TXN_STATE, "nothing is open"
    for number in range(2):  # the coordinator goes on, and what it commits is committed
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        producer.commit_transaction(LIMIT_S)
    found = read_topic(broker.bootstrap, topic, isolation_level="read_committed")
    assert [message.value() for message in found] == [b"0", b"1"]
    wait_until_stable(broker.bootstrap, topic, LIMIT_S)
