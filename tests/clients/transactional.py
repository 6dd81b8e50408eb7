"""Scripts of transactions, which five clients run: librdkafka, kafka-python, aiokafka, Kafka's Java client, franz-go.

A script is a list of steps, each with a verb and the name of the producer that does the step; all producers of a
script have one transactional id. A client answers a text for each step: empty, or the error. A test judges the texts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from kafka.structs import OffsetAndMetadata

from peer import go_program
from peer.java_tools import JavaTools
from peer.topics import read_topic

Step = dict[str, Any]
Values = list[tuple[int, str]]
"""The partition and the value of records, in the order of the partitions and, within one, of the offsets."""

LIMIT_S = 30
PAUSE_S = 0.1
TIMEOUT_MS = 60_000


def step(verb: str, producer: str = "a", **given: Any) -> Step:
    """``begin``, ``commit`` and ``abort`` need nothing more; ``init`` makes the producer."""
    return {"verb": verb, "producer": producer, **given}


def send(topic: str, *records: tuple[int, str], producer: str = "a", verb: str = "send") -> Step:
    """Records (partition, value) that the broker has acknowledged at the end of the step."""
    return step(verb, producer, topic=topic, records=list(records))


def copy(topic: str, target: str, group: str, count: int, *, commits: bool) -> Step:
    """Reads records as a member of the group; produces them and commits their offsets in one transaction."""
    return step("copy", topic=topic, target=target, group=group, count=count, commits=commits)


@dataclass(frozen=True)
class Script:
    bootstrap: str
    transactional_id: str
    steps: Sequence[Step]
    timeout_ms: int = TIMEOUT_MS


class Client(Protocol):
    def run(self, script: Script) -> list[str]: ...

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values: ...


def until_refused(send_once: Callable[[], object]) -> None:
    """Sends again and again until the client raises an error."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        send_once()
        time.sleep(PAUSE_S)


def outcome(do: Callable[[], object]) -> str:
    try:
        do()
    except Exception as error:  # noqa: BLE001 - the test judges the error
        return repr(error)
    return ""


# ---- librdkafka
class Librdkafka:
    def run(self, script: Script) -> list[str]:
        producers: dict[str, Producer] = {}
        return [outcome(partial(self._run, script, producers, one)) for one in script.steps]

    def _run(self, script: Script, producers: dict[str, Producer], one: Step) -> None:
        name = one["producer"]
        match one["verb"]:
            case "init":
                producers[name] = Producer(
                    {
                        "bootstrap.servers": script.bootstrap,
                        "transactional.id": script.transactional_id,
                        "transaction.timeout.ms": script.timeout_ms,
                        "message.timeout.ms": min(script.timeout_ms, LIMIT_S * 1000),
                        "linger.ms": 0,
                        "log_level": 0,
                    }
                )
                producers[name].init_transactions(LIMIT_S)
            case "begin":
                producers[name].begin_transaction()
            case "send":
                self._send(producers[name], one)
            case "send_until_refused":
                until_refused(lambda: self._send(producers[name], one))
            case "commit":
                producers[name].commit_transaction(LIMIT_S)
            case "abort":
                producers[name].abort_transaction(LIMIT_S)
            case "copy":
                self._copy(script, producers[name], one)

    def _send(self, producer: Producer, one: Step) -> None:
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(error)

        for partition, value in one["records"]:
            producer.produce(one["topic"], value, partition=partition, on_delivery=delivered)
        producer.flush(LIMIT_S)
        if failed:
            raise KafkaException(failed[0])

    def _copy(self, script: Script, producer: Producer, one: Step) -> None:
        reader = Consumer(
            {
                "bootstrap.servers": script.bootstrap,
                "group.id": one["group"],
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        with closing(reader):
            reader.subscribe([one["topic"]])
            messages = self._take(reader, one["count"])
            producer.begin_transaction()
            for message in messages:
                producer.produce(one["target"], message.value(), partition=message.partition() or 0)
            ends = [
                TopicPartition(one["topic"], partition, offset)
                for partition, offset in next_offsets((m.partition(), m.offset()) for m in messages).items()
            ]
            producer.send_offsets_to_transaction(ends, reader.consumer_group_metadata(), LIMIT_S)
            (producer.commit_transaction if one["commits"] else producer.abort_transaction)(LIMIT_S)

    @staticmethod
    def _take(reader: Consumer, count: int) -> list[Message]:
        messages: list[Message] = []
        deadline = time.monotonic() + LIMIT_S
        while len(messages) < count:
            assert time.monotonic() < deadline, f"{len(messages)} of {count} records"
            messages += [m for m in reader.consume(count - len(messages), PAUSE_S) if m.error() is None]
        return messages

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        messages = read_topic(bootstrap, topic, isolation_level=isolation, check_crcs=True)
        return in_order((m.partition(), m.offset(), m.value()) for m in messages)


def next_offsets(places: Iterable[tuple[Any, Any]]) -> dict[int, int]:
    """For each partition the offset behind the last of its records."""
    ends: dict[int, int] = {}
    for partition, offset in places:
        ends[partition] = max(ends.get(partition, 0), offset + 1)
    return ends


def in_order(records: Iterable[tuple[Any, Any, bytes | None]]) -> Values:
    return [(partition, (value or b"").decode()) for partition, _, value in sorted(records)]


# ---- kafka-python
class KafkaPython:
    def run(self, script: Script) -> list[str]:
        producers: dict[str, Any] = {}
        try:
            return [outcome(partial(self._run, script, producers, one)) for one in script.steps]
        finally:
            for producer in producers.values():
                producer.close(timeout=0)

    def _run(self, script: Script, producers: dict[str, Any], one: Step) -> None:
        producer: Any = producers.get(one["producer"])
        match one["verb"]:
            case "init":
                producer = producers[one["producer"]] = kafka.KafkaProducer(
                    bootstrap_servers=script.bootstrap,
                    transactional_id=script.transactional_id,
                    transaction_timeout_ms=script.timeout_ms,
                    max_block_ms=LIMIT_S * 1000,
                )
                producer.init_transactions()
            case "begin":
                producer.begin_transaction()
            case "send":
                self._send(producer, one)
            case "send_until_refused":
                until_refused(lambda: self._send(producer, one))
            case "commit":
                producer.commit_transaction()
            case "abort":
                producer.abort_transaction()
            case "copy":
                self._copy(script, producer, one)

    @staticmethod
    def _send(producer: Any, one: Step) -> None:
        sent = [producer.send(one["topic"], value.encode(), partition=partition) for partition, value in one["records"]]
        producer.flush(LIMIT_S)
        for future in sent:
            future.get(LIMIT_S)

    @staticmethod
    def _copy(script: Script, producer: Any, one: Step) -> None:
        reader = kafka.KafkaConsumer(
            bootstrap_servers=script.bootstrap,
            group_id=one["group"],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        with closing(reader):
            assert reader.partitions_for_topic(one["topic"])  # before the first join, see test_kafka_python.subscribe
            reader.subscribe([one["topic"]])
            records = _poll(reader, one["count"])
            producer.begin_transaction()
            for record in records:
                producer.send(one["target"], record.value, partition=record.partition)
            ends = next_offsets((record.partition, record.offset) for record in records)
            offsets = {
                kafka.TopicPartition(one["topic"], partition): OffsetAndMetadata(offset, "", -1)
                for partition, offset in ends.items()
            }
            producer.send_offsets_to_transaction(offsets, reader.group_metadata())
            (producer.commit_transaction if one["commits"] else producer.abort_transaction)()

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        reader = kafka.KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation, fetch_max_wait_ms=20)
        with closing(reader):
            partitions = [kafka.TopicPartition(topic, number) for number in reader.partitions_for_topic(topic)]
            reader.assign(partitions)
            ends = reader.end_offsets(partitions)
            reader.seek_to_beginning()
            found: list[Any] = []
            deadline = time.monotonic() + LIMIT_S
            while any(reader.position(partition) < end for partition, end in ends.items()):
                assert time.monotonic() < deadline, f"{len(found)} records of {topic}; ends {ends}"
                for records in reader.poll(timeout_ms=int(PAUSE_S * 1000)).values():
                    found += records
            return in_order((record.partition, record.offset, record.value) for record in found)


def _poll(reader: Any, count: int) -> list[Any]:
    records: list[Any] = []
    deadline = time.monotonic() + LIMIT_S
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records"
        for polled in reader.poll(timeout_ms=int(PAUSE_S * 1000), max_records=count - len(records)).values():
            records += polled
    return records


# ---- aiokafka
class Aiokafka:
    def run(self, script: Script) -> list[str]:
        return asyncio.run(self._run_all(script))

    async def _run_all(self, script: Script) -> list[str]:
        producers: dict[str, AIOKafkaProducer] = {}
        outcomes = []
        try:
            for one in script.steps:
                try:
                    async with asyncio.timeout(LIMIT_S):
                        await self._run(script, producers, one)
                    outcomes.append("")
                except Exception as error:  # noqa: BLE001 - the test judges the error
                    outcomes.append(repr(error))
        finally:
            for producer in producers.values():
                await producer.stop()
        return outcomes

    async def _run(self, script: Script, producers: dict[str, AIOKafkaProducer], one: Step) -> None:
        producer = producers.get(one["producer"])
        if one["verb"] == "init":
            producer = AIOKafkaProducer(
                bootstrap_servers=script.bootstrap,
                transactional_id=script.transactional_id,
                transaction_timeout_ms=script.timeout_ms,
            )
            await producer.start()
            producers[one["producer"]] = producer
            return
        assert producer is not None
        match one["verb"]:
            case "begin":
                await producer.begin_transaction()
            case "send":
                await self._send(producer, one)
            case "send_until_refused":
                while True:
                    await self._send(producer, one)
                    await asyncio.sleep(PAUSE_S)
            case "commit":
                await producer.commit_transaction()
            case "abort":
                await producer.abort_transaction()
            case "copy":
                await self._copy(script, producer, one)

    @staticmethod
    async def _send(producer: AIOKafkaProducer, one: Step) -> None:
        sent = [
            await producer.send(one["topic"], value.encode(), partition=partition)
            for partition, value in one["records"]
        ]
        await asyncio.gather(*sent)

    @staticmethod
    async def _copy(script: Script, producer: AIOKafkaProducer, one: Step) -> None:
        reader = AIOKafkaConsumer(
            one["topic"],
            bootstrap_servers=script.bootstrap,
            group_id=one["group"],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        await reader.start()
        try:
            records: list[Any] = []
            while len(records) < one["count"]:
                for polled in (await reader.getmany(timeout_ms=100, max_records=one["count"] - len(records))).values():
                    records += polled
            await producer.begin_transaction()
            for record in records:
                await producer.send_and_wait(one["target"], record.value, partition=record.partition)
            ends = next_offsets((record.partition, record.offset) for record in records)
            offsets = {AioTopicPartition(one["topic"], partition): offset for partition, offset in ends.items()}
            await producer.send_offsets_to_transaction(offsets, one["group"])
            await (producer.commit_transaction() if one["commits"] else producer.abort_transaction())
        finally:
            await reader.stop()

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        return asyncio.run(self._read(bootstrap, topic, isolation))

    async def _read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        reader = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            isolation_level=isolation,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=20,
        )
        await reader.start()
        try:
            ends = await reader.end_offsets(reader.assignment())
            found: list[Any] = []
            async with asyncio.timeout(LIMIT_S):
                while any([await reader.position(partition) < end for partition, end in ends.items()]):
                    for records in (await reader.getmany(timeout_ms=100)).values():
                        found += records
            return in_order((record.partition, record.offset, record.value) for record in found)
        finally:
            await reader.stop()


# ---- Java and Go
@dataclass(frozen=True)
class Java:
    java: JavaTools

    def run(self, script: Script) -> list[str]:
        outcomes: list[str] = self.java.call("transactions", script.bootstrap, **_arguments(script))
        return outcomes

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        records = self.java.consume(bootstrap, topic, isolation)
        return in_order((record.partition, record.offset, record.value) for record in records)


@dataclass(frozen=True)
class Go:
    committed: Librdkafka = field(default_factory=Librdkafka)

    def run(self, script: Script) -> list[str]:
        outcomes: list[str] = go_program.call("transactions", script.bootstrap, **_arguments(script))
        return outcomes

    def read(self, bootstrap: str, topic: str, isolation: str) -> Values:
        """librdkafka reads: the Go program reads one partition."""
        return self.committed.read(bootstrap, topic, isolation)


def _arguments(script: Script) -> dict[str, Any]:
    return {"transactional_id": script.transactional_id, "timeout_ms": script.timeout_ms, "steps": list(script.steps)}
